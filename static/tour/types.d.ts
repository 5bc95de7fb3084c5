// A chapter of the tour, and what the page gives to it. Types alone.

/** The recorded races of the tour, by id, and how to ask for a race, which then comes as a snapshot. */
interface Tours {
  race: string;
  filling: string | null; // which fills in a part; null where there is none
  show(race: string): void;
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
  test?: DraftOdds | null; // to be drawn before the lines
}
/** A draft's probabilities and the number drawn against their ratio. */
interface DraftOdds {
  p: number;
  q: number;
  uniform: number;
}
interface Chapter {
  number: number;
  title: string;
  lines: string[];
  reference: string;
  test?: DraftOdds | null;
  fourLanes: boolean; // whether the table of the four lanes stands below the lines
  replay: Replay;
  last: boolean; // it says what to try, and has no reference
  view: Change;
  elsewhere?: boolean; // about another recorded race; it has a number and a title alone
}
