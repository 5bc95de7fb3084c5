// What Python sends (visualize/board.py), what the step table gives, and what the board's modules share. Types alone.

type Clock = "seconds" | "passes";
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
  split: [number, number, number, number]; // seconds of forward, verification, cache, drafter
  places: Record<Clock, number | null>;
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
  pass_ms: number;
  differs: number | null;
  faster: Record<Clock, number | null>;
}

interface Snapshot {
  seq: number;
  state: LaneState;
  note: string;
  recorded: boolean;
  prompt: string;
  seed: number;
  model: string;
  machine: string;
  grid: [number, number];
  cells: number[]; // of every sequence position, -1 where one is forced
  dtypes: { none: number; one: number; shares: string[]; tables: Record<string, Dtype> };
  codes: number; // in the codebook
  swatches: string; // base64 of an image
  lanes: WireLane[];
  results: Result[];
}

/** The layout of a table's rows: of each field its type, its offset and how many numbers it holds. */
interface Dtype {
  size: number;
  fields: Record<string, [type: string, offset: number, count: number]>;
}

/** One step of a lane. Cells and tokens are counted; `first` is the step's first row. */
interface Step {
  nfe: number;
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
  reached: number; // tokens
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

type Lane = import("./step_table.js").StepTable & LaneFacts;

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
  compression: number;
  rowOf(cell: number): number; // -1: no step has reached it
}

interface Layer {
  name: string;
  title: string;
  kind: string; // "picture", "share", "status", "count"
  words: string;
  scale?: string;
  least?: number;
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
  picture: import("./picture.js").Picture;
  plane: import("./draw.js").Plane;
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
  t: number;
  playing: boolean;
  speed: number;
  live: boolean; // the newest there is, be it of a race that is on or at its finish
  layer: string;
  hidden: Set<number>;
  cell: Chosen | null;
  stepping: number | null; // the lane that steps, null for all
  present: boolean; // on the stage
}
/** What `go` takes; {lane, step} is the instant at which that lane has made so many steps. */
type Change = Partial<Omit<State, "race">> & { lane?: number; step?: number };

interface Board {
  state: State;
  go(change: Change): void;
  onChange(callback: (state: State) => void): void;
  needTour?: () => void;
}

/** What a chapter shows and says. */
interface Scene {
  layer?: string;
  step: number;
  cell: number | null;
  lines: string[];
}
interface Chapter {
  number: number;
  title: string;
  lines: string[];
  reference: string;
  view: Change;
}

/** A knob as app/page/lane_list.py sends it; `choices` are none for a number. */
interface ListedKnob {
  name: string;
  info: string;
  choices: string[];
  default: string;
}

interface ListedDecoder {
  name: string;
  title: string;
  idea: string;
  knobs: ListedKnob[];
}

/** A lane of the form; knobs that are not named have their defaults. */
interface ListedLane {
  decoder: ListedDecoder;
  knobs: Record<string, string>;
}

// What gradio gives to page.js and lane_list.js; the value is the first's snapshot or the second's lanes.
declare const element: HTMLElement;
declare const props: { value: any; touring: boolean; decoders: ListedDecoder[]; most: number };
declare function watch(name: string, callback: () => void): void;
declare function trigger(name: string): void;
