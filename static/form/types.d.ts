// What the form's scripts are given. Types alone.

/** A knob as app/page/lane_list.py sends it; `choices` are none for a number. */
interface ListedKnob {
  name: string;
  info: string;
  choices: string[];
  default: string;
  needs: string[]; // another knob and its value without which this one does nothing, or nothing
}

interface ListedDecoder {
  name: string;
  infills: boolean; // draws no whole picture
  title: string;
  idea: string;
  knobs: ListedKnob[];
  presets: Record<string, string>; // lanes, by the title of their settings
}

/** A lane of the form; knobs that are not named have their defaults. */
interface ListedLane {
  decoder: ListedDecoder;
  knobs: Record<string, string>;
}

/** A picture to fill in as its form has it: what is known so far is drawn from `picture`. */
interface Canvas {
  codes: number[];
  grid: [number, number];
  picture: HTMLCanvasElement;
}

// What gradio gives to lane_list.js and fill_in.js; the value is the first's lanes or the second's
// Infilling.
declare const element: HTMLElement;
declare const props: {
  value: any;
  decoders: ListedDecoder[];
  most: number;
  words: Record<string, string[]>;
  fillable: Record<string, [rows: number, columns: number, codes: number]>;
  lanes: string[];
};
declare function watch(name: string, callback: () => void): void;
declare function trigger(name: string, data?: object): void;
