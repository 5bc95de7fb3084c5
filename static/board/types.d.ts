// Types that the board's modules share: the things drawn, and the state that they are drawn from.

/** A mark of look.json: a circle's radius, or lines through points; filled or stroked. */
interface Shape {
  fill: boolean;
  circle?: number;
  lines?: number[][][];
}

type Picture = import("../lanes/picture.js").Picture;
type Plane = import("../lanes/draw.js").Plane;
type Playback = import("./playback.js").Playback;

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
/** A rectangle: left, top, width and height. */
type Box = [x: number, y: number, width: number, height: number];
interface Selected {
  cell: number | null;
  here: boolean; // whether it was selected in this lane
  marked: boolean; // whether what the latest step did is marked on its cells
}
/**
 * The style that all pictures share, and each lane's instant and whether to mark its latest step.
 */
interface PicturesDrawn {
  style: Style;
  cell: Chosen | null;
  views: View[];
  marked: boolean[];
}

/** The facts that all figures share, and each lane's instant and its place. */
interface FiguresDrawn {
  clock: Clock;
  views: View[];
  places: (number | null)[];
  ends: Places[];
  finishes: string[]; // "first", "last" or ""
  against: Lane | null;
}

/** Finds an element of the board, or of a card, by its class. */
type Finder = ReturnType<typeof import("../dom.js").finder>;

interface Card {
  root: HTMLElement;
  part: Finder;
  canvas: HTMLCanvasElement;
  picture: Picture;
  plane: Plane;
  side: number; // pixels of a cell
  drawn: string; // all that its picture shows, as a key
  written: string; // all that its figures show, as a key
}

/** The input of a frame of the board. */
interface Frame {
  cards: Card[];
  swatches: HTMLImageElement | null;
  length: number; // of the scrubber, on the clock
  rate: number; // seconds of the clock in one, 0 while nothing moves
  all: boolean; // more than the instant has changed
}

/** A cell of a lane and its life; `now` is the row of the step that the board shows, -1 before any. */
interface CellView {
  lane: Lane;
  cell: number;
  cells: number; // of the picture
  life: LifeRow[];
  now: number;
  codes: number;
  columns: number;
}
interface Chosen {
  lane: number;
  cell: number;
  pinned: boolean;
}
/** A bet on a lane of a race, placed before the race or early in it. */
interface Bet {
  race: string;
  lane: number;
}
/** A prompt that a phone proposed. */
interface Proposed {
  number: number;
  text: string;
}
interface State {
  race: Race | null;
  clock: Clock;
  costs: Costs & { preset: string | null }; // the modelled clock's
  t: number;
  playing: boolean;
  speed: number;
  live: boolean; // whether a race that is on is followed, or one that is over stands at its finish
  layer: string;
  hidden: Set<number>;
  cell: Chosen | null;
  against: number | null; // the lane to compare with; null for the usual one
  bet: Bet | null; // the visitor's
  pressed: string; // the race that came when the visitor pressed Race last
  stepping: number | null; // the lane that steps, null for all
  present: boolean; // on the stage
  hall: Proposed[]; // prompts from the hall, for the stage to pick from
  front: number; // the lane that was chosen last, which a phone's stage shows; -1 before any
  inside: boolean; // whether all controls are shown, and not the first screen
  spread: boolean; // whether the first screen shows all lanes' pictures
}
/** A race in the list of races, and the race itself once the browser has it. */
interface Listed {
  id: string;
  title: string;
  seed: number;
  words?: string; // how it came out
  parent?: string; // of a fork: the id of the race from which it was taken
  race?: Shown;
}
/** The state while there is a race on the board. */
type Raced = State & { race: Race };
/**
 * A change that `go` takes; {lane, step} is the instant at which that lane has made `step` steps.
 */
type Change = Partial<Omit<State, "race">> & { lane?: number; step?: number };

/** The acts of the keys and buttons. */
interface Acts {
  toggle(): void;
  step(back: boolean): void;
  finish(back: boolean): void;
  layer(by: number): void;
  clock(): void;
  speed(by: number): void;
  stage(): void;
  speaker(): void;
  help(entry?: string): void;
  again(): void;
  ideas(): void;
  blank(): void;
  ask(): void;
  slowly(): void;
  lookInside(inside: boolean): void;
  jump(outcome: "rejected" | "saved", back: boolean): void;
  furthest(): void;
  show(lane: number): void;
  only(lane: number): void;
}

interface Board {
  state: State;
  show(value: Shown): Promise<void>; // resolves once it is drawn
  go(change: Change): void;
  onChange(callback: (state: Raced) => void): void;
  pictureOf(lane: number): HTMLCanvasElement;
  tours?: Tours;
}
