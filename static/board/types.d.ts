// What the board's modules share: what is drawn, and the state that it is drawn from. Types alone.

/** A mark of look.json: a circle's radius, or lines through points; filled or stroked. */
interface Shape {
  fill: boolean;
  circle?: number;
  lines?: number[][][];
}

interface Style {
  layer: Layer;
  range: [number, number];
  against: Lane | null; // in the layer that compares with it
  swatches: HTMLImageElement | null;
  ink: string;
  card: string;
  rule: string;
  signal: string;
}
interface Selected {
  cell: number | null;
  here: boolean; // it was selected in this lane
}

interface Card {
  root: HTMLElement;
  part(name: string): any;
  canvas: HTMLCanvasElement;
  picture: import("../lanes/picture.js").Picture;
  plane: import("../lanes/draw.js").Plane;
  side: number; // pixels of a cell
}

interface Chosen {
  lane: number;
  cell: number;
  pinned: boolean;
}
/** On a lane of one race, placed before it began. */
interface Bet {
  race: string;
  lane: number;
}
interface State {
  race: Race | null;
  clock: Clock;
  costs: Costs & { preset: string | null }; // the modelled clock's
  t: number;
  playing: boolean;
  speed: number;
  live: boolean; // the newest there is, be it of a race that is on or at its finish
  layer: string;
  hidden: Set<number>;
  cell: Chosen | null;
  against: number | null; // the lane to compare with; null for the usual one
  bet: Bet | null; // the visitor's
  stepping: number | null; // the lane that steps, null for all
  present: boolean; // on the stage
  front: number; // the lane that a phone's stage shows
}
/** What `go` takes; {lane, step} is the instant at which that lane has made so many steps. */
type Change = Partial<Omit<State, "race">> & { lane?: number; step?: number };

interface Board {
  state: State;
  go(change: Change): void;
  onChange(callback: (state: State) => void): void;
  pictureOf(lane: number): HTMLCanvasElement;
  tours?: Tours;
}
