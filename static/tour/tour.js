// The guided tour, and the line of the stage.

import { isResting } from "../controls/keys.js";
import { askForPrompt } from "../controls/prompt_dialog.js";
import { addressQuery, make, query, queryAll, say, templateCopy } from "../dom.js";
import { clockName, lastOf } from "../numbers.js";
import { layerOf } from "../trace/layers.js";
import { isOn } from "../trace/replay.js";
import { tourOf } from "./chapters.js";
import { draftPicture } from "./draft_picture.js";
import { overlapPicture } from "./overlap_picture.js";
import { selfTest } from "./self_test.js";

const WHY_ALLOWED = [1, 4, 5, 8, 11]; // the chapters on why guesses may be trusted
const PHASE = 1500; // milliseconds of each part of a replayed pass
const BEYOND = ["gsd", "gsd:G=50"]; // lanes to try: the paper's group, and one five times as large
const TOUR_LANES = 5; // decoders of a visitor's own race for it to be toured, not a recorded one
/** @type {Record<string, string>} */
const KEYS = { PageDown: "on", n: "on", PageUp: "back", p: "back", Escape: "leave", t: "replay" };

/** @param {Race | null} race */
const idOf = (race) => race?.snapshot.id;

// Whether to tour this race of a visitor's, and not the recorded ones.
/** @param {Race} race */
function isTour({ snapshot, lanes }) {
  const raced = new Set(lanes.filter((lane) => lane.count > 0).map((lane) => lane.decoder));
  const enough = snapshot.infilling ? raced.has("assd") : raced.size >= TOUR_LANES;
  return enough && !snapshot.recorded;
}

/**
 * Wires the tour in `root`: its button (class `tour`), its panel (class `stage-panel`) and its
 * keys. Returns what moves through it, and what a speaker reads of it.
 * @param {HTMLElement} root @param {Board} board
 */
export function mountTour(root, board) {
  const frame = query(root, ".board");
  const panel = query(root, ".stage-panel");
  const button = query(root, ".tour", HTMLButtonElement);
  const why = query(root, ".why-allowed", HTMLButtonElement);
  const template = query(root, ".chapter-template", HTMLTemplateElement);
  const moves = { "tour-back": -1, "tour-on": 1 };
  const help = query(root, ".keys-template", HTMLTemplateElement);
  const fourLanes = query(help.content, ".four-lanes");
  /** @type {Tour | null} */
  let tour = null;
  let first = 1; // the chapter that the tour opens at
  /** @type {number[]} chapters that are shown, in their order; none where all are */
  let route = [];
  // A race that has been asked for, the one that was on the board then, and what is to be done once
  // the race is there.
  /** @type {{ race?: string | null, from?: string, then(): void } | null} */
  let awaited = null;

  /** @param {number[]} chapters */
  function start(chapters) {
    if (tour) return leave();
    route = chapters;
    const { race, layer, clock, costs, hidden, cell, t, playing, spread } = board.state;
    if (!race || isOn(race)) return;
    const instant = { layer, clock, costs, hidden: new Set(hidden), cell, t, playing, spread };
    const before = { race: idOf(race), instant };
    if (!board.tours || racesOf(race) || isTour(race)) return open(before);
    fetch(board.tours.races.whole, () => open(before));
  }

  // The tour's recorded races, if this race is one of them; else null.
  /** @param {Race} race */
  function racesOf(race) {
    const { races } = board.tours ?? {};
    const id = idOf(race);
    return races && id && Object.values(races).includes(id) ? races : null;
  }

  // Asks for a race of the tour. Should it not come, the visitor can ask again.
  /** @param {string | null | undefined} race @param {() => void} then */
  function fetch(race, then) {
    awaited = { race, from: idOf(board.state.race), then };
    draw();
    if (race) board.tours?.show(race);
  }

  // Turns to a chapter of another recorded race.
  /** @param {Elsewhere} chapter */
  function follow({ number, elsewhere }) {
    if (!tour) return;
    const { before } = tour;
    tour = null;
    first = number;
    fetch(elsewhere, () => open(before));
  }

  /** @param {Before} before */
  function open(before) {
    const { race } = board.state;
    const found = race && onRoute(tourOf(race, racesOf(race)), route);
    if (!found?.chapters.length) return void draw();
    tour = { ...found, at: 0, phase: -1, race: idOf(race), before };
    const at = found.chapters.findIndex(({ number }) => number === first);
    first = 1; // `show` may set it again, on its way to another race
    show(Math.max(0, at));
    // In two columns the transport stays in sight, so that the arrows can be seen to work.
    const wide = matchMedia("(min-width: 900px)").matches;
    if (wide && !board.state.present) query(frame, ".transport").scrollIntoView();
  }

  /** The chapter that is shown. */
  function shown() {
    const chapter = tour?.chapters[tour.at];
    return chapter && !("elsewhere" in chapter) ? chapter : null;
  }

  /** @param {number} at */
  function show(at) {
    const chapter = tour?.chapters[at];
    if (!tour || !chapter) return;
    if ("elsewhere" in chapter) return follow(chapter);
    Object.assign(tour, { at, phase: -1 });
    draw();
    board.go({ ...chapter.view, spread: true }); // all lanes that it speaks of
    // On a phone the pictures stand above the text, on one screen with it.
    const narrow = matchMedia("(max-width: 640px)").matches;
    if (narrow && !chapter.last) query(frame, ".lanes").scrollIntoView();
    else if (!matchMedia("(min-width: 900px)").matches && !board.state.present)
      panel.scrollIntoView();
  }

  // Plays the chapter's pass in its parts. A visitor who likes things still presses for each part.
  function replay() {
    const frames = shown()?.replay.frames ?? [];
    if (!tour || !frames.length) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    tour.phase = still ? (tour.phase + 1) % frames.length : 0;
    playPhase(frames, still);
  }

  /** @param {Replay["frames"]} frames @param {boolean} still */
  function playPhase(frames, still) {
    if (!tour) return;
    board.go(frames[tour.phase].view);
    draw();
    const { t, layer } = board.state;
    const { at, phase } = tour;
    const playing = tour;
    if (still || phase + 1 >= frames.length) return;
    setTimeout(() => {
      const moved = board.state.t !== t || board.state.layer !== layer;
      if (tour !== playing || tour.at !== at || tour.phase !== phase || moved) return;
      tour.phase += 1;
      playPhase(frames, still);
    }, PHASE);
  }

  /** What the last page offers; without a form there is only the board. @type {Try[]} */
  const tries = [
    {
      title: "Race a prompt of your own",
      words: "Type what you like beside Race, and press it.",
      needs: "#prompt",
      act: () => {
        leave();
        askForPrompt(frame, board.state.present);
      },
    },
    {
      title: "Fill in a part of this picture",
      words: "Paint over some of it, change the prompt if you like, and race.",
      needs: ".lane:not([hidden]) .fill:not([hidden])",
      act: () => {
        end({ present: false });
        query(root, ".lane:not([hidden]) .fill").click();
      },
    },
    {
      title: "Move to a large GPU",
      words: "The same race by another machine's seconds: who wins there?",
      act: () =>
        board.go({
          clock: "modelled",
          costs: { ...board.state.costs, preset: "large" },
          live: true,
        }),
    },
    {
      title: "Race GSD against itself",
      words: "Groups of 50 tokens beside the paper's 10: fewer passes, and a larger shift?",
      needs: "#race",
      act: () => {
        end({});
        document.dispatchEvent(new CustomEvent("photo-finish-lanes", { detail: BEYOND }));
        setTimeout(() => query(document, "#race").click());
      },
    },
  ];

  /** The questions of each race, as their visitor left them. @type {Map<string, HTMLElement>} */
  const asked = new Map();
  /** @param {Question[]} questions */
  function ask(questions) {
    const race = idOf(board.state.race) ?? "";
    const element = asked.get(race) ?? selfTest(questions, board);
    asked.set(race, element);
    return element;
  }

  // Ends the tour at this instant, or with another race, in the layer and on the clock of before.
  /** @param {Change} change */
  function end(change) {
    const { layer, clock, spread } = tour?.before.instant ?? board.state;
    tour = null;
    board.go({ layer, clock, spread, ...change });
  }

  // Puts back the race, the instant and the layer that were there before.
  function leave() {
    if (!tour) return;
    const { race, instant } = tour.before;
    const elsewhere = race !== tour.race;
    tour = null;
    board.go(elsewhere ? { ...instant, hidden: new Set(), cell: null, playing: false } : instant);
    if (elsewhere) fetch(race, () => board.go(instant));
    else draw();
  }

  function draw() {
    const { present, layer, clock } = board.state;
    for (const [name, by] of Object.entries(moves)) {
      const move = query(root, "." + name, HTMLButtonElement);
      move.hidden = !tour || !present;
      move.disabled = !tour?.chapters[tour.at + by];
    }
    const chapter = shown();
    // A chapter has two columns; the last page of the tour has the whole width on the page.
    frame.dataset.tour = chapter && (present || !chapter.last) ? String(chapter.number) : "";
    button.setAttribute("aria-pressed", String(Boolean(tour)));
    why.hidden = Boolean(tour);
    panel.hidden = !(tour || awaited || present);
    if (tour && chapter) {
      const acts = { show, leave, replay, tries, ask };
      return drawChapter(panel, { template, fourLanes }, chapter, tour, acts);
    }
    const keys = "touch or move the pointer for the controls · PageDown begins the tour · ? helps";
    const line = `${layerOf(layer).title} · by ${clockName(clock)} · ${keys}`;
    const words = awaited ? "Fetching the race. Should it not come, ask for it again." : line;
    if (panel.dataset.shown === words) return;
    panel.dataset.shown = words;
    panel.replaceChildren(make("p.stage-line", words));
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    if (isResting(event) || root.querySelector("dialog[open]")) return;
    const key = KEYS[event.key];
    if (!key || !(tour || (key === "on" && board.state.present))) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape leaves the tour first, the stage next
    if (key === "leave") leave();
    else if (key === "replay") replay();
    else turn(key === "on" ? 1 : -1);
  }

  /** @param {number} by */
  function move(by) {
    if (!tour) return false;
    show(tour.at + by); // which ends the tour until another race is there
    return true;
  }

  board.onChange(({ race }) => {
    if (awaited && awaited.race === idOf(race)) {
      const { then } = awaited;
      awaited = null;
      return then();
    }
    if (awaited && idOf(race) !== awaited.from) awaited = null; // something else has come
    if (tour && idOf(race) !== tour.race) end({}); // another race has other chapters
    button.disabled = why.disabled = isOn(race);
    draw();
  });
  button.addEventListener("click", () => start(named));
  why.addEventListener("click", () => start(WHY_ALLOWED));
  for (const [name, by] of Object.entries(moves)) {
    query(root, "." + name).addEventListener("click", () => move(by));
  }
  document.addEventListener("keydown", press, true);
  draw();
  const address = new URLSearchParams(addressQuery());
  let opens = address.get("tour");
  const named = (address.get("chapters") ?? "").split(",").map(Number).filter(Boolean);
  if (opens) first = Number(opens);
  function begin() {
    const race = idOf(board.state.race);
    if (!opens || (board.tours && !race)) return; // what the page opens with is to come
    opens = null;
    start(named);
  }

  // As PageDown and PageUp do: outside of the tour the next chapter is its first.
  /** @param {number} by */
  function turn(by) {
    if (!move(by) && by > 0) start(named);
  }

  /** What a speaker reads of the chapter that is shown; null outside of the tour. */
  function notes() {
    const chapter = shown();
    if (!tour || !chapter) return null;
    const { title, lines, say: words } = chapter;
    const count = countOfChapters(tour);
    return { count, title, lines, say: words, next: tour.chapters[tour.at + 1]?.title ?? "" };
  }
  return { move, turn, notes, begin };
}

/**
 * Draws a chapter. It is built again only when another one is shown.
 * @param {HTMLElement} panel
 * @param {{ template: HTMLTemplateElement, fourLanes: HTMLElement }} parts
 * @param {Chapter} chapter @param {Tour} tour
 * @param {{ show(at: number): void, leave(): void, replay(): void, tries: Try[],
 *   ask(questions: Question[]): HTMLElement }} acts
 */
function drawChapter(panel, { template, fourLanes }, chapter, tour, acts) {
  const { chapters, missing, at, phase, isRoute } = tour;
  const {
    number,
    title,
    lines,
    reference,
    fourLanes: hasTable,
    replay,
    test,
    overlap,
    questions,
    last,
  } = chapter;
  const { show, leave, tries } = acts;
  const shown = `${number}|${lines.join("|")}`;
  const words = replay.frames[phase]?.words ?? "";
  if (panel.dataset.shown === shown) return say(query(panel, ".chapter-phase"), words);
  panel.dataset.shown = shown;
  const active = document.activeElement;
  const focused = active && panel.contains(active) ? active.className : "";
  const page = query(templateCopy(template), "*");
  /** @param {string} name */
  const part = (name) => query(page, `.chapter-${name}`);
  const texts = {
    number: isRoute ? at + 1 : number,
    title,
    reference,
    count: countOfChapters(tour),
  };
  for (const [name, text] of Object.entries(texts)) part(name).textContent = String(text);
  part("text").replaceChildren(...lines.map((line) => make("p", line)));
  if (test) part("text").prepend(draftPicture(test));
  if (overlap) part("text").prepend(overlapPicture(overlap));
  if (questions) part("text").append(acts.ask(questions));
  if (hasTable) part("text").append(fourLanes.cloneNode(true));
  if (last) {
    const here = tries.filter(({ needs }) => !needs || document.querySelector(needs));
    const choices = here.map(({ title: name, words: what, act }) =>
      make("li", make("button", name, { type: "button", onclick: act }), make("span", what)),
    );
    part("text").append(make("ul.chapter-tries", ...choices));
  }
  part("replay").hidden = !replay.frames.length;
  part("again").textContent = replay.title;
  part("again").onclick = acts.replay;
  part("hint").hidden = last;
  if (last && missing.length) part("missing").textContent = missingWords(missing);
  part("leave").onclick = leave;
  const back = query(page, ".chapter-back", HTMLButtonElement);
  back.onclick = () => show(at - 1);
  back.disabled = at === 0;
  const on = query(page, ".chapter-on", HTMLButtonElement);
  on.onclick = () => show(at + 1);
  on.disabled = at === chapters.length - 1;
  panel.replaceChildren(page);
  if (focused) (queryAll(panel, `.${focused}:not(:disabled)`)[0] ?? part("leave")).focus();
}

/**
 * "3 of 12": the chapter's number, as links count it; on a route its place among the route's pages.
 * A visitor's own race may leave chapters out.
 * @param {Tour} tour
 */
const countOfChapters = ({ chapters, at, isRoute }) =>
  isRoute
    ? `${at + 1} of ${chapters.length}`
    : `${chapters[at].number} of ${lastOf(chapters).number}`;

/**
 * The chapters of a route, in its order, and the last page; all chapters where it names none of
 * them.
 * @param {Found} found @param {number[]} route
 */
function onRoute(found, route) {
  const { chapters } = found;
  const named = route.flatMap((number) => chapters.find((each) => each.number === number) ?? []);
  if (!named.length) return { ...found, isRoute: false };
  const pages = [...new Set([...named, lastOf(chapters)])];
  return { chapters: pages, missing: [], isRoute: true };
}

/** @param {Found["missing"]} missing */
function missingWords(missing) {
  const chapters = missing.map(({ title }) => title).join("; ");
  const whose = missing.length > 1 ? "their decoders do" : "its decoder does";
  return `Left out, since ${whose} not race here: ${chapters}.`;
}
