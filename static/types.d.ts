// What Python sends (visualize/board.py), what the step table gives, and what the board's modules share. Types alone.

type MeasuredClock = "seconds" | "passes";
type Clock = MeasuredClock | "modelled";
type LaneState = "waiting" | "racing" | "finished" | "stopped" | "failed";

/** What a snapshot says of a lane besides its step table. */
interface LaneFacts {
  decoder: string;
  title: string;
  idea: string;
  paper: string;
  badge: string;
  promise: string;
  state: LaneState;
  error: string;
  n: number; // committed cells
  passes: number;
  drafter: number; // the drafter's passes
  seconds: number;
  compression: number; // tokens a pass
  shift: number | null;
  split: [number, number, number, number]; // seconds of forward, verification, cache, drafter
  places: Record<MeasuredClock, number | null>;
}

/** A lane as it is sent; only step_table.js knows what its columns hold. */
interface WireLane extends LaneFacts {
  table: Record<string, string>;
  picture_rows: string[];
}

/** A row of the table at the end. */
interface Result {
  lane: number;
  compression: number;
  length: number; // mean acceptance length
  passes: number;
  drafter: number;
  seconds: number;
  pass_ms: number; // all that the lane did, forward passes and all
  differs: number | null;
  faster: Record<MeasuredClock, number | null>;
}

interface Snapshot {
  seq: number;
  state: LaneState;
  note: string;
  recorded: boolean;
  apart: boolean; // each lane on a device of its own, all at once
  sampling: string; // what of it is not the model's own
  prompt: string;
  seed: number;
  model: string;
  machine: string;
  grid: [number, number];
  cells: number[]; // of every sequence position, -1 where one is forced
  infilling: Infilling | null; // of a whole picture none; else the cells are the masked ones
  dtypes: { none: number; one: number; shares: string[]; tables: Record<string, Dtype> };
  codes: number; // in the codebook
  swatches: string; // base64 of an image
  lanes: WireLane[];
  results: Result[];
  link?: string; // the query that brings this race back; none in a standalone file
}

/** A picture to fill in: each cell's token, -1 where it is to be drawn, and in which order. */
interface Infilling {
  known: number[];
  order: string;
}

/** The layout of a table's rows: of each field its type, its offset and how many numbers it holds. */
interface Dtype {
  size: number;
  fields: Record<string, [type: string, offset: number, count: number]>;
}

/** One step of a lane. Cells and tokens are counted; `first` is the step's first row. */
interface Step {
  nfe: number;
  rows: number; // of the window
  before: number;
  after: number;
  first: number;
  touched: number;
  row: number; // in the table, forced positions counted
  positions: number; // likewise
  tokens: number;
  drafter: number;
  split: number[];
  // Up to and with this step:
  passes: number;
  micros: number;
  seconds: number;
  modelled: number; // seconds on another machine (modelled_clock.js)
  reached: number; // tokens
  tests: number; // of drafts, that committed a token
  shifts: number; // of those tests, summed up
  drafted: number; // the drafter's passes
}

type Share = [token: number, probability: number];
interface Group {
  count: number;
  p: number;
  q: number;
  tokens: number[];
}
interface Candidate {
  token: number;
  p: number;
  q: number;
  acceptance: number;
  uniform: number;
}

/** Probabilities and distances of a row; null where there is none. */
interface Shares {
  top1: number | null;
  top1Draft: number | null;
  tv: number | null;
  acceptance: number | null;
  uniform: number | null;
  p: number | null;
  q: number | null;
  shift: number | null;
}

/** What one step did to one cell. */
interface Row extends Shares {
  cell: number;
  step: number;
  draft: number | null;
  token: number;
  status: number;
  readonly top: Share[];
  readonly topDraft: Share[];
  readonly group: Group | null; // GSD's group, LANTERN's neighbourhood
  readonly candidates: Candidate[]; // SJD-PAC's
}

/** A row with its step: its forward pass, its index, the cells that it committed before this one, and whether this one. */
interface LifeRow extends Row {
  pass: number;
  at: number;
  ahead: number;
  committed: boolean;
}

/** What another machine's passes cost, in seconds: each, for each row of its window, and each of the drafter's. */
interface Costs {
  pass: number;
  row: number;
  drafter: number;
}
interface Fit {
  costs: Costs;
  passes: number; // fitted to
  windows: boolean; // whether they differ in their rows
  explained: number | null;
  error: number | null;
}
interface Preset {
  name: string;
  title: string;
  costs: Costs;
  words: string;
}

type Lane = import("./trace/step_table.js").StepTable &
  LaneFacts & { modelled: number; places: Record<Clock, number | null> };

interface Race {
  snapshot: Snapshot;
  grid: [number, number];
  cells: number;
  lanes: Lane[];
  fresh: boolean;
}

/** A lane at an instant: its first n cells are committed, `window` drafts stand after them. */
interface View {
  k: number;
  n: number;
  window: number;
  state: LaneState;
  passes: number;
  drafter: number;
  seconds: number;
  modelled: number;
  compression: number;
  shift: number | null; // mean of the tests so far
  rowOf(cell: number): number; // -1: no step has reached it
}

interface Layer {
  name: string;
  title: string;
  kind: string; // "picture", "share", "differs", "status", "count", "pass"
  words: string;
  filling?: string; // the words of a race that fills in a picture, where they are others
  scale?: string;
  least?: number;
  most?: number; // where a share's scale ends, if not at 1
  unit?: string;
  noValue?: string;
}

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
  picture: import("./lanes/picture.js").Picture;
  plane: import("./lanes/draw.js").Plane;
  side: number; // pixels of a cell
}

interface Chosen {
  lane: number;
  cell: number;
  pinned: boolean;
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
  bet: number | null; // the lane that the visitor bet on
  stepping: number | null; // the lane that steps, null for all
  present: boolean; // on the stage
  front: number; // the lane that a phone's stage shows
}
/** What `go` takes; {lane, step} is the instant at which that lane has made so many steps. */
type Change = Partial<Omit<State, "race">> & { lane?: number; step?: number };

/**
 * Requests, whose answers come as snapshots: a race of the tour, and the one before it. `filling`:
 * whether the tour has a race that fills in a part, or that one is asked for; `within`: the tour
 * goes on.
 */
interface Tours {
  filling: boolean;
  fetch(race: { filling: boolean; within: boolean }): void;
  leave(): void;
}

interface Board {
  state: State;
  go(change: Change): void;
  onChange(callback: (state: State) => void): void;
  pictureOf(lane: number): HTMLCanvasElement;
  tours?: Tours;
}

/** What a chapter plays again, part after part; without parts there is nothing to replay. */
interface Replay {
  title: string;
  frames: { words: string; view: Change }[];
}
interface Try {
  title: string;
  words: string;
  needs?: string; // a selector: what must be on the page
  act(): void;
}

/** What a chapter shows and says. */
interface Scene {
  layer?: string;
  step?: number; // none: the race's end, with `costs` on the modelled clock
  replay?: Replay; // of other things than the pass
  costs?: State["costs"];
  cell: number | null;
  lines: string[];
}
interface Chapter {
  number: number;
  title: string;
  lines: string[];
  reference: string;
  fourLanes: boolean; // whether the table of the four lanes stands below the lines
  replay: Replay;
  last: boolean; // it says what to try, and has no reference
  view: Change;
  elsewhere?: boolean; // about another recorded race; it has a number and a title alone
}

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

// What gradio gives to page.js, lane_list.js and fill_in.js; the value is the first's snapshot, the
// second's lanes or the third's Infilling.
declare const element: HTMLElement;
declare const props: {
  value: any;
  touring: boolean;
  filling: boolean; // the tour has a race that fills in a part
  decoders: ListedDecoder[];
  most: number;
  words: Record<string, string[]>;
  fillable: Record<string, [rows: number, columns: number, codes: number]>;
  lanes: string[];
};
declare function watch(name: string, callback: () => void): void;
declare function trigger(name: string, data?: object): void;
