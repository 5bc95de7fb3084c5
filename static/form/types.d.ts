// Types of the form's scripts.

/** A knob as app/page/lane_list.py sends it; `choices` are none for a number. */
interface ListedKnob {
  name: string;
  info: string;
  choices: string[];
  default: string;
  needs: string[]; // another knob and its value, without which this one does nothing; or empty
}

interface ListedDecoder {
  name: string;
  infills: boolean; // draws no whole picture
  rows: boolean; // draws whole pictures alone
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
  model: string;
  codes: number[];
  grid: [number, number];
  picture: HTMLCanvasElement;
}

// Gradio's arguments to a script of the form; each script has a value and facts of its own. Facts do
// not change, and are JSON: Gradio copies a component's properties at every event, value by value.
declare const element: HTMLElement;
declare const props: LaneListProps | FillInProps | WordListProps;
declare function watch(name: string, callback: () => void): void;
declare function trigger(name: string, data?: object): void;

interface LaneListProps {
  value: string[];
  facts: string; // LaneListFacts as JSON
}
interface LaneListFacts {
  decoders: ListedDecoder[];
  most: number;
}
interface FillInProps {
  // "" of whole pictures; `picture`: a WebP file in base64, of a picture of the visitor's own
  value: (Infilling & { model: string; picture?: string }) | "";
  facts: string; // FillInFacts as JSON
}
interface FillInFacts {
  fillable: Fillable;
  lanes: Record<Fills, string[]>;
}
/** Words of one kind under a heading: each word, its emoji or "", and its names to search. */
interface WordGroup {
  title: string;
  kind: string;
  words: [word: string, emoji: string, called: string][];
}
interface WordListProps {
  facts: string; // WordListFacts as JSON
}
/** The words, or the address of a file that has them. */
interface WordListFacts {
  groups?: WordGroup[];
  file?: string;
}
/** The part of a picture that a model can fill in: everything from one row down, or any part. */
type Fills = "below" | "any";
/**
 * The models that can fill in: their pictures' grids and numbers of codes, and what they fill in.
 */
type Fillable = Record<string, [rows: number, columns: number, codes: number, fills: Fills]>;

/** A race that is asked for: what gradio gives to the board (`board_value` in app/races/races.py). */
interface Asked {
  race: string; // its id
  key: string; // by which it can be stopped; "" of another visitor's
  more: boolean; // another one follows it at once
}

/** The visitor's own race in progress, once the page's opening is answered; else both are "". */
interface Opened {
  race: string;
  key: string;
}
/** The answer to the page's opening (`Links.open` in app/page/links.py). */
type Opening = Opened & { form: Record<string, unknown>; go: boolean; session: string };

/** The handlers and values that the page's head keeps (opening.js). */
interface Window {
  photoFinish: {
    query: string; // that the page was opened with
    opened: Promise<Opened>;
    fill(answer: Opening | null, initial: Record<string, unknown>, values: unknown[]): unknown[];
    open(answer: Opening | null): void;
  };
}

/** Gradio's properties of the board. */
interface PageProps {
  value: Asked | null;
  facts: string; // PageFacts as JSON
}
interface PageFacts {
  waiting: Snapshot; // the board while it has no race
  opening: string | null; // the id of the recorded race that the page opens with
  recorded: Record<string, string>; // addresses of recorded races, by their ids
  recordings: Listed[];
  tours: TourRaces;
  fillable: Fillable;
}

/** The scripts' own events: what a button press, a race and the two forms tell one another. */
interface DocumentEventMap {
  "photo-finish-press": CustomEvent<string>; // the id of a button
  "photo-finish-hall": Event; // the hall's prompts are others
  "photo-finish-picked": CustomEvent<number>; // one of them is raced
  "photo-finish-turn": CustomEvent<number>; // by a phone: chapters onwards
  "photo-finish-fill": CustomEvent<Canvas>;
  "photo-finish-filling": CustomEvent<Fills | "">; // what can be filled in; "" of whole pictures
  "photo-finish-lanes": CustomEvent<string[]>;
  "photo-finish-swatches": CustomEvent<
    (swatches: string, picture: { known: number[]; canvas: HTMLCanvasElement } | null) => void
  >;
}
