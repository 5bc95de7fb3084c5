// A chapter of the tour, and what the page gives to it. Types alone.

/** The chapters that a recorded race of the tour has. */
type Part = "whole" | "rows" | "filling" | "fork";
/** The ids of the tour's recorded races, of which some may not be there. */
type TourRaces = Partial<Record<Part, string>>;
/** The recorded races of the tour, and how to ask for a race, which then comes as a snapshot. */
interface Tours {
  races: TourRaces;
  show(race: string): void;
  give(race: Shown): void; // one that the browser has
}

/** A chapter's replay, part after part; without parts there is nothing to replay. */
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

/** A chapter as the outline has it. */
interface Entry {
  part?: Part; // "whole" if left out
  title: string;
  say: string; // what a speaker may say and point at
  reference: string;
  decoders: string[];
  beside: string[]; // decoders that are shown too
  also?: { decoder: string; words: string }[]; // what is said of further decoders that raced
  fourLanes?: boolean;
}
/** How a step's test ended: drafts tested after a rejection, and how many of them it kept. */
interface StepEnd {
  rejected: boolean;
  tested: number;
  kept: number;
}
/** A chapter's view and text. */
interface Scene {
  layer?: string;
  step?: number; // where there is none, the race's end is shown, with `costs` on the modelled clock
  replay?: Replay; // where something else than the pass is replayed
  costs?: State["costs"];
  cell: number | null;
  lines: string[];
  test?: DraftOdds | null; // to be drawn before the lines
  overlap?: Overlap; // the same
  questions?: Question[]; // to be asked after them
}
/** A question, and what says of the board's state whether it answers it; null where nothing is chosen. */
interface Question {
  ask: string;
  judge(state: Raced): Answer | null;
}
interface Answer {
  right: boolean;
  words: string; // the reason
}
/** A draft's probabilities and the number drawn against their ratio. */
interface DraftOdds {
  p: number;
  q: number;
  uniform: number;
}
/** A chapter about another recorded race. */
interface Elsewhere {
  number: number;
  title: string;
  elsewhere: string; // its id
}
interface Chapter {
  number: number;
  title: string;
  lines: string[];
  say: string;
  reference: string;
  test?: DraftOdds | null;
  overlap?: Overlap;
  questions?: Question[];
  fourLanes: boolean; // whether the table of the four lanes stands below the lines
  replay: Replay;
  last: boolean; // it says what to try, and has no reference
  view: Change;
}

/** The guesses that a lane redrew before their test, and how many came out as they were. */
interface Kept {
  kept: number;
  all: number;
}
/** The tour of a race; `missing` are the chapters whose decoder made no step in it. */
interface Found {
  chapters: (Chapter | Elsewhere)[];
  missing: { number: number; title: string }[];
}
/** The tour while it is open: the chapter that is shown, the part of it that is replayed, and what comes back when it is left. */
interface Tour extends Found {
  at: number;
  phase: number;
  share: number; // of the way to p that the visitor has moved the chapter's q
  race: string | undefined; // the id of the race that it is about
  before: Before;
  isRoute: boolean; // whether it has the chapters of a route alone
}
/** The acts of a chapter's buttons, and the parts that it shows beside its own text. */
interface TourActs {
  show(at: number): void;
  leave(): void;
  replay(): void;
  moveShare(share: number): void;
  ask(questions: Question[]): unknown;
  tries: Try[];
  fourLanes: Node;
}
interface Before {
  race: string | undefined;
  snapshot: Shown;
  instant: Change;
}

/** The stage, as the speaker's view shows it. */
interface Notes {
  count: string; // "3 of 14"; "" outside of the tour
  title: string;
  lines: string[];
  say: string;
  next: string; // the next chapter's title, "" after the last
}
/** The stage's message: its notes, or null when the stage is left. */
type StageMessage = { notes: Notes | null };
/** A message of the speaker's view: it asks for the notes, or turns by a chapter. */
type SpeakerMessage = { ask: true } | { turn: 1 | -1 };
