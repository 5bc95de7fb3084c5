// Written by `python -m visualize.board.snapshot_types` from visualize/board/snapshot.py.

/** A decoder's promise about how its pictures compare with vanilla AR's. */
type Badge =
  | "identical image"
  | "identical but for rounding"
  | "same distribution"
  | "changed distribution"
  | "not judged";

interface Dtype {
  size: number;
  fields: Record<string, ["Uint8" | "Uint16" | "Uint32" | "Float32", number, number]>;
}

interface Dtypes {
  none: number;
  one: number;
  shares: ("top1" | "top1_draft" | "tv" | "acceptance" | "uniform" | "p" | "q" | "shift")[];
  tables: Record<string, Dtype>;
}

interface Infilling {
  known: number[];
  order?: string;
  parent?: Parent | null;
}

/** A lane: its figures so far, its step table and its picture. */
interface LaneSnapshot {
  state: LaneState;
  error: string;
  n: number; // committed cells
  passes: number;
  drafter: number; // the drafter's passes
  seconds: number;
  compression: number; // tokens a pass
  shift: number | null;
  places: Record<"seconds" | "passes", number | null>; // 1 is first; null until known
  decoder: string;
  rule: string; // the rule that tests the drafts: "block", "traversal", "typical", "runs" or the decoder's name; "outside" for a decoder from outside
  own_cells: number[]; // like the snapshot's `cells`, for a lane with its own order; else empty
  title: string;
  idea: string;
  paper: string;
  badge: Badge;
  promise: string;
  published?: PaperMark | null; // a paper's figure for whole pictures with the model's own sampling; else null
  table: Record<string, string>; // base64 of each table's rows, which only grows
  picture: string; // base64 of an image of the whole grid, "" while there is none
}

type LaneState = "waiting" | "racing" | "finished" | "stopped" | "failed";

/** A lane's new rows since the last message, and its figures so far. */
interface LaneUpdate {
  state: LaneState;
  error: string;
  n: number; // committed cells
  passes: number;
  drafter: number; // the drafter's passes
  seconds: number;
  compression: number; // tokens a pass
  shift: number | null;
  places: Record<"seconds" | "passes", number | null>; // 1 is first; null until known
  lane: number;
  table: Record<string, string>; // base64 of the new rows of each table that has any
  cells: number[]; // cells with new pictures in the update's `patches`, in the same order
  picture: string; // as in a snapshot; empty if it has not changed
}

/** A figure that a paper reports for a lane like this one. */
interface PaperMark {
  words: string; // the figure: "701.35 passes", or tokens "4.51 a pass"
  source: string;
  paper: string; // its number on arXiv
}

interface Parent {
  race: string;
  seed: number;
  lane: string;
  cell: number;
  instead?: number | null;
  p?: number | null;
}

/** A lane's row in the table of results. */
interface Result {
  lane: number;
  compression: number;
  length: number; // mean acceptance length
  passes: number;
  drafter: number;
  seconds: number;
  pass_ms: number; // mean of all work of the lane, per forward pass
  equal: number | null; // number of tokens equal to vanilla AR's, if the lane promises its picture
  differs: number | null; // first cell whose token differs from vanilla AR's, for the same lanes
  faster: Record<"seconds" | "passes", number | null>; // speed-up over this race's vanilla AR lane
}

/** A race at an instant. The page's server adds `id` and `link`; a standalone file has neither. */
interface Snapshot {
  seq: number;
  state: LaneState;
  note: string;
  recorded: boolean;
  elsewhere?: boolean; // whether the race was recorded on another machine
  apart: boolean; // whether lanes run at once, each on its own device
  preview: boolean; // whether the pictures of lanes that race are a smaller decoder's
  prompt: string;
  seed: number;
  model: string;
  sampling: string; // the settings that are not the model's own
  machine: string;
  grid: [number, number]; // rows and columns of tokens
  cells: number[]; // the cell of every position, -1 for a forced one
  infilling: Infilling | null; // null for a whole picture
  dtypes: Dtypes;
  codes: number; // number of codes in the codebook
  swatches: string; // base64 of an image
  lanes: LaneSnapshot[];
  results: Result[];
  id?: string; // name of the race for page and server
  link?: string; // query of a link to the page with the race's settings
  bets?: number[]; // number of viewers' bets on each lane; empty if there are none
}

/** The changes in a race since the last message, which was a snapshot or an update. */
interface Update {
  seq: number;
  state: LaneState;
  note: string;
  lanes: LaneUpdate[]; // lanes in which anything happened
  patches: string; // base64 of an image of single cells, the first lane's cells first, with as many cells a row as the image of the swatches; empty if there are none
  results: Result[];
  bets?: number[]; // as in a snapshot
}
