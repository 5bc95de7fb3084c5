// The guided tour, and the line of the stage.

import { isCovered, isResting } from "../controls/keys.js";
import { addressQuery, closest, query, queryAll } from "../dom.js";
import { clockName, lastOf } from "../numbers.js";
import { layerOf } from "../trace/layers.js";
import { isOn } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";
import { chapterPanel, countOfChapters } from "./chapter_panel.js";
import { tourOf } from "./chapters.js";
import { SelfTest } from "./self_test.js";
import { triesOf } from "./tries.js";

const WHY_ALLOWED = [1, 4, 5, 8, 11]; // the chapters on why guesses may be trusted
const WIDE = "(min-width: 900px)"; // windows in which a chapter stands beside its pictures
const PHASE = 1500; // milliseconds of each part of a replayed pass
const TOUR_LANES = 5; // decoders of a visitor's own race for it to be toured, not a recorded one
const STAGE_KEYS = "touch or move the pointer for the controls · PageDown: the tour · ?: help";
/** @type {Record<string, string>} */
const KEYS = { PageDown: "on", n: "on", PageUp: "back", p: "back", Escape: "leave", t: "replay" };
const MOVES_ON_STAGE = { "tour-back": -1, "tour-on": 1 };

/** @param {Race | null} race */
const idOf = (race) => race?.snapshot.id;

// Test whether to tour this race of a visitor's, instead of the recorded ones.
/** @param {Race} race */
function isTour({ snapshot, lanes }) {
  const raced = new Set(lanes.filter((lane) => lane.count > 0).map((lane) => lane.decoder));
  const enough = snapshot.infilling ? raced.has("assd") : raced.size >= TOUR_LANES;
  return enough && !snapshot.recorded;
}

/** The tour in `root`: its buttons, its panel (class `stage-panel`) and its keys. */
export class MountedTour {
  #root;
  #board;
  #frame;
  #panel;
  #button;
  #why;
  #acts;
  /** @type {Tour | null} */
  #tour = null;
  #first = 1; // the chapter that the tour opens at
  /** @type {number[]} the chapters to show, in their order; empty if all are shown */
  #route = [];
  /** @type {number[]} the chapters to show that the address names */
  #named;
  /** @type {string | undefined | null} the race whose chapters are offered */
  #offered = null;
  #opens; // whether the address asks for the tour, which has not begun yet
  // A race that has been asked for, the one that was on the board then, and what is to be done once
  // the race is there.
  /** @type {{ race?: string | null, from?: string, then(): void } | null} */
  #awaited = null;
  /** Each race's questions, as the visitor left them. @type {Map<string, SelfTest>} */
  #asked = new Map();

  /** @param {HTMLElement} root @param {Board} board */
  constructor(root, board) {
    this.#root = root;
    this.#board = board;
    this.#frame = query(root, ".board");
    this.#panel = query(root, ".stage-panel");
    this.#button = query(root, ".tour", HTMLButtonElement);
    this.#why = query(root, ".why-allowed", HTMLButtonElement);
    const help = query(root, ".keys-template", HTMLTemplateElement);
    this.#acts = {
      show: this.#show,
      leave: this.#leave,
      replay: this.#replay,
      moveShare: this.#moveShare,
      ask: this.#ask,
      tries: triesOf(root, board, this.#leave, this.#end),
      fourLanes: query(help.content, ".four-lanes").cloneNode(true),
    };
    const address = new URLSearchParams(addressQuery());
    this.#named = (address.get("chapters") ?? "").split(",").map(Number).filter(Boolean);
    this.#opens = address.has("tour");
    if (this.#opens) this.#first = Number(address.get("tour"));
    board.onChange(({ race }) => this.#follow(race));
    this.#button.addEventListener("click", () => this.#start(this.#named));
    this.#why.addEventListener("click", () => this.#start(WHY_ALLOWED));
    document.addEventListener("click", (event) => {
      const asked = closest(event, "[data-chapter]");
      if (asked instanceof HTMLElement) this.#explain(Number(asked.dataset.chapter));
    });
    for (const [name, by] of Object.entries(MOVES_ON_STAGE))
      query(root, "." + name).addEventListener("click", () => this.move(by));
    document.addEventListener("keydown", (event) => this.#press(event), true);
    this.#draw();
  }

  /** Begin the tour if the page's address asks for it, once the page's first race is there. */
  begin() {
    const race = idOf(this.#board.state.race);
    if (!this.#opens || (this.#board.tours && !race)) return;
    this.#opens = false;
    this.#start(this.#named);
  }

  /** Turn by a number of chapters. Return whether there is a tour. @param {number} by */
  move(by) {
    if (!this.#tour) return false;
    this.#show(this.#tour.at + by); // which ends the tour until another race is there
    return true;
  }

  /** Turn as `move` does. Outside the tour, turning on starts it. @param {number} by */
  turn(by) {
    if (!this.move(by) && by > 0) this.#start(this.#named);
  }

  /** Return the speaker's notes on the chapter that is shown; null outside the tour. */
  notes() {
    const chapter = this.#shown();
    if (!this.#tour || !chapter) return null;
    const { title, lines, say: words } = chapter;
    const next = this.#tour.chapters[this.#tour.at + 1]?.title ?? "";
    return { count: countOfChapters(this.#tour), title, lines, say: words, next };
  }

  // Open the tour at a chapter: about the race on the board if it has that chapter, else about the
  // recorded one.
  /** @param {number} number */
  #explain(number) {
    const { race } = this.#board.state;
    if (!race || isOn(race)) return;
    const { tours } = this.#board;
    const at = this.#tour?.chapters.findIndex((chapter) => chapter.number === number) ?? -1;
    if (at >= 0) this.#show(at);
    else {
      const before = this.#tour?.before ?? this.#before(race);
      const here = numbersOf(race).has(number);
      this.#tour = null;
      this.#route = [];
      this.#first = number;
      if (here || !tours) this.#open(before);
      else this.#fetch(tours.races.whole, () => this.#open(before));
    }
    this.#toTransport();
  }

  /** @param {number[]} chapters */
  #start(chapters) {
    if (this.#tour) return this.#leave();
    this.#route = chapters;
    const { race } = this.#board.state;
    if (!race || isOn(race)) return;
    const before = this.#before(race);
    const { tours } = this.#board;
    if (!tours || this.#racesOf(race) || isTour(race)) return this.#open(before);
    this.#fetch(tours.races.whole, () => this.#open(before));
  }

  // Return the board's present state, to bring it back once the tour is left.
  /** @param {Race} race @returns {Before} */
  #before(race) {
    const { layer, clock, costs, hidden, cell, t, playing, spread } = this.#board.state;
    const instant = { layer, clock, costs, hidden: new Set(hidden), cell, t, playing, spread };
    return { race: idOf(race), snapshot: race.snapshot, instant };
  }

  // Return the tour's recorded races, if this race is one of them; else null.
  /** @param {Race} race */
  #racesOf(race) {
    const { races } = this.#board.tours ?? {};
    const id = idOf(race);
    return races && id && Object.values(races).includes(id) ? races : null;
  }

  // Ask for a race of the tour. If it does not come, the visitor can ask again.
  /** @param {string | null | undefined} race @param {() => void} then */
  #fetch(race, then) {
    this.#awaited = { race, from: idOf(this.#board.state.race), then };
    this.#draw();
    if (race) this.#board.tours?.show(race);
  }

  /** @param {Before} before */
  #open(before) {
    const { race } = this.#board.state;
    const found = race && onRoute(tourOf(race, this.#racesOf(race)), this.#route);
    if (!found?.chapters.length) return void this.#draw();
    this.#tour = { ...found, at: 0, phase: -1, share: 0, race: idOf(race), before };
    const at = found.chapters.findIndex(({ number }) => number === this.#first);
    this.#first = 1; // `show` may set it again, on its way to another race
    this.#show(Math.max(0, at));
    this.#toTransport();
  }

  // Keep the transport in sight where there are two columns, so that the arrows can be seen to
  // work.
  #toTransport() {
    if (matchMedia(WIDE).matches && !this.#board.state.present)
      query(this.#frame, ".transport").scrollIntoView();
  }

  // Return the chapter that is shown.
  #shown() {
    const chapter = this.#tour?.chapters[this.#tour.at];
    return chapter && !("elsewhere" in chapter) ? chapter : null;
  }

  /** @param {number} at */
  #show = (at) => {
    const tour = this.#tour;
    const chapter = tour?.chapters[at];
    if (!tour || !chapter) return;
    if ("elsewhere" in chapter) {
      this.#tour = null;
      this.#first = chapter.number;
      return this.#fetch(chapter.elsewhere, () => this.#open(tour.before));
    }
    Object.assign(tour, { at, phase: -1, share: 0 });
    this.#draw();
    this.#board.go({ ...chapter.view, spread: true }); // all lanes that it speaks of
    this.#panel.scrollTop = 0;
    if (!matchMedia(WIDE).matches) this.#reveal(chapter);
  };

  // Scroll to a chapter in a window that is not wide. On a phone the pictures stand above the text,
  // on one screen with it; in a low window, beside it.
  /** @param {Chapter} chapter */
  #reveal({ last }) {
    const isNarrow = matchMedia("(max-width: 640px)").matches;
    const isBeside = isNarrow || matchMedia("(max-height: 560px)").matches;
    if (this.#board.state.present && !(isNarrow && !last)) return; // a stage that does not scroll
    (isBeside && !last ? query(this.#frame, ".lanes") : this.#panel).scrollIntoView();
  }

  // Play the chapter's pass in its parts. With reduced motion the visitor presses for each part.
  #replay = () => {
    const tour = this.#tour;
    const frames = this.#shown()?.replay.frames ?? [];
    if (!tour || !frames.length) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    tour.phase = still ? (tour.phase + 1) % frames.length : 0;
    this.#playPhase(tour, frames, still);
  };

  /** @param {Tour} tour @param {Replay["frames"]} frames @param {boolean} still */
  #playPhase(tour, frames, still) {
    const { go, state } = this.#board;
    go(frames[tour.phase].view);
    this.#draw();
    const { t, layer } = state;
    const { at, phase } = tour;
    if (still || phase + 1 >= frames.length) return;
    setTimeout(() => {
      const moved = state.t !== t || state.layer !== layer;
      if (this.#tour !== tour || tour.at !== at || tour.phase !== phase || moved) return;
      tour.phase += 1;
      this.#playPhase(tour, frames, still);
    }, PHASE);
  }

  /** @param {number} share of the way to p that the chapter's q is moved */
  #moveShare = (share) => {
    if (this.#tour) this.#tour.share = share;
    this.#draw();
  };

  /** @param {Question[]} questions */
  #ask = (questions) => {
    const race = idOf(this.#board.state.race) ?? "";
    const test = this.#asked.get(race) ?? new SelfTest(questions, this.#board);
    this.#asked.set(race, test);
    return test.picture(() => this.#draw());
  };

  // End the tour at this instant or with another race, in the earlier layer and on the earlier
  // clock.
  /** @param {Change} change */
  #end = (change) => {
    const { layer, clock, spread } = this.#tour?.before.instant ?? this.#board.state;
    this.#tour = null;
    this.#board.go({ layer, clock, spread, ...change });
  };

  // Leave the tour: bring back the race, the instant and the layer from before.
  #leave = () => {
    if (!this.#tour) return;
    const { go } = this.#board;
    const { race, snapshot, instant } = this.#tour.before;
    const elsewhere = race !== this.#tour.race;
    this.#tour = null;
    go(elsewhere ? { ...instant, hidden: new Set(), cell: null, playing: false } : instant);
    if (!elsewhere) return this.#draw();
    this.#awaited = { race, from: idOf(this.#board.state.race), then: () => go(instant) };
    this.#draw();
    this.#board.tours?.give(snapshot);
  };

  // Go on with a race that was asked for, once it is on the board. End the tour where another race
  // has come, which has other chapters.
  /** @param {Race} race */
  #follow(race) {
    if (!this.#board.tours) this.#offer(race);
    const awaited = this.#awaited;
    if (awaited && awaited.race === idOf(race)) {
      this.#awaited = null;
      return awaited.then();
    }
    if (awaited && idOf(race) !== awaited.from) this.#awaited = null;
    if (this.#tour && idOf(race) !== this.#tour.race) this.#end({});
    this.#draw();
  }

  // Offer only the chapters that a race has, where there are no recorded races for the others.
  /** @param {Race} race */
  #offer(race) {
    if (this.#offered === idOf(race)) return;
    this.#offered = idOf(race);
    const numbers = numbersOf(race);
    for (const button of queryAll(this.#frame, "[data-chapter]"))
      button.hidden = !numbers.has(Number(button.dataset.chapter));
  }

  #draw() {
    const tour = this.#tour;
    const { race, present, layer, clock } = this.#board.state;
    for (const [name, by] of Object.entries(MOVES_ON_STAGE)) {
      const move = query(this.#root, "." + name, HTMLButtonElement);
      move.hidden = !tour || !present;
      move.disabled = !tour?.chapters[tour.at + by];
    }
    const chapter = this.#shown();
    // A chapter has two columns; the last page of the tour has the whole width on the page.
    this.#frame.dataset.tour = chapter && (present || !chapter.last) ? String(chapter.number) : "";
    document.body.classList.toggle("touring", this.#frame.dataset.tour !== "");
    this.#button.disabled = this.#why.disabled = race !== null && isOn(race);
    this.#button.setAttribute("aria-pressed", String(Boolean(tour)));
    this.#why.hidden = Boolean(tour);
    this.#panel.hidden = !(tour || this.#awaited || present);
    if (tour && chapter) {
      render(chapterPanel(tour, chapter, this.#acts), this.#panel);
      const stuck = this.#panel.querySelector(":focus:disabled"); // at the tour's end
      if (stuck) query(this.#panel, ".chapter-leave").focus();
      return;
    }
    const line = `${layerOf(layer).title} · by ${clockName(clock)} · ${STAGE_KEYS}`;
    const words = this.#awaited
      ? "Fetching the race. If it does not come, ask for it again."
      : line;
    render(html`<p class="stage-line">${words}</p>`, this.#panel);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (isResting(event) || isCovered()) return;
    const key = KEYS[event.key];
    if (!key || !(this.#tour || (key === "on" && this.#board.state.present))) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape leaves the tour first, the stage next
    if (key === "leave") this.#leave();
    else if (key === "replay") this.#replay();
    else this.turn(key === "on" ? 1 : -1);
  }
}

/** Return the numbers of the chapters that a race has. @param {Race} race */
const numbersOf = (race) => new Set(tourOf(race).chapters.map(({ number }) => number));

/**
 * Return the chapters of a route, in the route's order, and the last page. If the race has none of
 * the route's chapters, return all chapters.
 * @param {Found} found @param {number[]} route
 */
function onRoute(found, route) {
  const { chapters } = found;
  const named = route.flatMap((number) => chapters.find((each) => each.number === number) ?? []);
  if (!named.length) return { ...found, isRoute: false };
  const pages = [...new Set([...named, lastOf(chapters)])];
  return { chapters: pages, missing: [], isRoute: true };
}
