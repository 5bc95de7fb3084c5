// Types of the step table; the types of Python's messages are in snapshot.d.ts.

type MeasuredClock = keyof Result["faster"];
type Clock = MeasuredClock | "modelled";

/** A lane's part of a snapshot without its step table and its picture. */
type LaneFacts = Omit<LaneSnapshot, "table" | "picture">;

/** An image that came of a race: a lane's whole picture, or patches of cells, one part after another. */
interface Painting {
  image: string; // base64
  parts: { lane: number; cells?: number[] }[];
}
/** A race that is watched: all of it so far, and what came to be painted, in order. */
type Live = Snapshot & { paintings: Painting[] };
/**
 * A race given to the board; `untimed` if its lanes' seconds do not compare, as of two machines.
 */
type Shown = (Snapshot | Live) & { untimed?: boolean };

/** A lane given to the board; `infilling`: of its own race, where two races are on one board. */
type ShownLane = LaneSnapshot & { infilling?: Infilling | null };

/**
 * One step of a lane. Cells and tokens are counted: those committed before it and after it, and those
 * that it touched. `first` is the step's first row.
 */
interface Step {
  nfe: number;
  rows: number; // of the window
  before: number;
  after: number;
  first: number;
  touched: number;
  row: number; // in the table, forced positions counted
  positions: number; // of the table, forced ones counted
  tokens: number;
  drafter: number;
  split: number[];
  // Up to and with this step:
  passes: number;
  micros: number;
  seconds: number;
  modelled: number; // seconds on another machine (modelled_clock.js)
  reached: number; // tokens
  tests: number; // of drafts that committed a token; where a lane is priced, its tokens with a price
  shifts: number; // the sum of the shifts of those tests
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

/**
 * A token's, or several tokens', share of p and of q, and the part common to both: for one token
 * the smaller of the two.
 */
interface Shared {
  p: number;
  q: number;
  shared: number;
}
/** p and q of a draft: of some tokens, and of all others. */
interface Overlap {
  tokens: (Shared & { token: number })[];
  others: Shared;
  tv: number;
}

/** Probabilities and distances of a row; null where there is none; there is always a top1. */
type Shares = Record<CamelCase<Dtypes["shares"][number]>, number | null> & { top1: number };
type CamelCase<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<B>}` : S;

/** One step's effect on one cell. */
interface Row extends Shares {
  cell: number;
  step: number;
  ruleShift: number | null; // its test's, whatever the token's price
  draft: number | null;
  token: number;
  status: number;
  readonly top: Share[];
  readonly topDraft: Share[];
  readonly group: Group | null; // GSD's group, LANTERN's neighbourhood, or a typical test's two numbers
  readonly candidates: Candidate[]; // SJD-PAC's
}

/**
 * A row with its step: the step's forward pass and index, how many cells of the step come before
 * this one (of a rolling lane, in its row of the picture), and whether the step committed this one.
 */
interface LifeRow extends Row {
  pass: number;
  at: number;
  ahead: number;
  committed: boolean;
}

/**
 * The costs of passes on another machine, in seconds: a pass, each row of its window, a drafter's
 * pass.
 */
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

type Lane = import("./step_table.js").StepTable & LaneFacts & { modelled: number };

/** A lane's place at the finish of each clock; null until it is certain. */
type Places = Record<Clock, number | null>;

interface Race {
  snapshot: Shown;
  grid: [number, number];
  cells: number;
  lanes: Lane[];
  fresh: boolean;
}

/** A lane at an instant: n cells are committed, drafts stand in others. */
interface View {
  k: number;
  n: number;
  drafts: number[]; // their cells
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
  group: string; // of the layers that share a button; its title where it has one alone
  title: string;
  plain?: string; // its title in plain words
  kind: string; // "picture", "share", "differs", "status", "count", "pass"
  words: string;
  filling?: string; // the words of a race that fills in a picture, where they are others
  scale: string; // of look.json, "" where it has none
  least: number;
  most?: number; // where a share's scale ends, if not at 1
  unit?: string;
  noValue?: string;
}
