// Written by `python -m visualize.board.snapshot_types` from visualize/board/snapshot.py.

/** A decoder's promise about its picture, compared with vanilla AR's. */
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
  rule: string; // what tests its drafts: "block", "typical", or the decoder's own; "outside" of a decoder from outside
  own_cells: number[]; // as the snapshot's `cells`, of a lane with an order of its own; else none
  title: string;
  idea: string;
  paper: string;
  badge: Badge;
  promise: string;
  published?: PaperMark | null; // of whole pictures with their model's own sampling, where a paper has it
  table: Record<string, string>; // base64 of each table's rows, which only grows
  picture: string; // base64 of an image of the whole grid, "" while there is none
}

type LaneState = "waiting" | "racing" | "finished" | "stopped" | "failed";

/** The changes in a lane since the last message. */
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
  table: Record<string, string>; // base64 of each table's new rows, where it has any
  cells: number[]; // those of which the update's `patches` show new pictures, in their order
  picture: string; // as in a snapshot, where it is another one
}

/** A figure that a paper reports for a lane like this one. */
interface PaperMark {
  words: string; // the figure: "701.35 passes", or tokens "4.51 a pass"
  source: string;
  paper: string; // its number on arXiv
}

/** A lane's row in the table of results. */
interface Result {
  lane: number;
  compression: number;
  length: number; // mean acceptance length
  passes: number;
  drafter: number;
  seconds: number;
  pass_ms: number; // all that the lane did, forward passes and all
  equal: number | null; // tokens that are vanilla AR's, of a lane that promises its very picture
  differs: number | null; // first cell at which such a picture is not vanilla AR's
  faster: Record<"seconds" | "passes", number | null>; // than this race's vanilla AR
}

/** A race at an instant. The page's server adds `id` and `link`; a standalone file has neither. */
interface Snapshot {
  seq: number;
  state: LaneState;
  note: string;
  recorded: boolean;
  elsewhere?: boolean; // recorded on another machine than the page's
  apart: boolean; // each lane on a device of its own, all at once
  preview: boolean; // whether the pictures of lanes that race are a smaller decoder's
  prompt: string;
  seed: number;
  model: string;
  sampling: string; // what of it is not the model's own
  machine: string;
  grid: [number, number]; // rows and columns of tokens
  cells: number[]; // of every position, -1 where one is forced
  infilling: Infilling | null; // null for a whole picture
  dtypes: Dtypes;
  codes: number; // in the codebook
  swatches: string; // base64 of an image
  lanes: LaneSnapshot[];
  results: Result[];
  id?: string; // of the race, by which page and server call it
  link?: string; // the query with its settings
  bets?: number[]; // on each lane, of those who watch; none where nobody bets
}

/** The changes in a race since the last message, which was a snapshot or an update. */
interface Update {
  seq: number;
  state: LaneState;
  note: string;
  lanes: LaneUpdate[]; // those in which anything happened
  patches: string; // base64 of an image of single cells, those of the first lane first, in rows as long as the swatches'; empty where there is none
  results: Result[];
  bets?: number[]; // as in a snapshot
}
