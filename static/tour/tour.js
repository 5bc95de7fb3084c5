// The guided tour, and the line of the stage.

import { isResting } from "../controls/keys.js";
import { make, say } from "../dom.js";
import { clockName } from "../numbers.js";
import { layerOf } from "../trace/layers.js";
import { isOn } from "../trace/replay.js";
import { tourOf } from "./chapters.js";
import { draftPicture } from "./draft_picture.js";
import outline from "./outline.json" with { type: "json" };

const PHASE = 1500; // milliseconds of each part of a replayed pass
const BEYOND = ["gsd", "gsd:G=50"]; // lanes to try: the paper's group, and one five times as large
const TOUR_LANES = 5; // a visitor's own race of so many decoders is toured as it is
const KEYS = { PageDown: "on", n: "on", PageUp: "back", p: "back", Escape: "leave", t: "replay" };

const idOf = ({ snapshot }) => snapshot.id;

// Whether to tour this race, and not the recorded one.
function isTour(race) {
  const raced = new Set(race.lanes.filter((lane) => lane.count > 0).map((lane) => lane.decoder));
  if (race.snapshot.infilling) return !race.snapshot.recorded && raced.has("assd");
  const whole = outline.every(({ decoders }) => decoders.some((name) => raced.has(name)));
  return whole || (!race.snapshot.recorded && raced.size >= TOUR_LANES);
}

/**
 * Wires the tour in `root`: its button (class `tour`), its panel (class `stage-panel`) and its
 * keys. Returns what moves through it, and whether it did.
 * @param {HTMLElement} root @param {Board} board
 */
export function mountTour(root, board) {
  const frame = /** @type {HTMLElement} */ (root.querySelector(".board"));
  const panel = /** @type {HTMLElement} */ (root.querySelector(".stage-panel"));
  const button = /** @type {HTMLButtonElement} */ (root.querySelector(".tour"));
  const template = root.querySelector(".chapter-template");
  const moves = { "tour-back": -1, "tour-on": 1 };
  const help = /** @type {HTMLTemplateElement} */ (root.querySelector(".keys-template"));
  const fourLanes = help.content.querySelector(".four-lanes");
  let tour = null; // {chapters, missing, at, phase, race, before}
  let first = 1; // the chapter that the tour opens at
  let awaited = null; // {race, from, then}: what to do when this race is on the board after that

  function start() {
    if (tour) return leave();
    const { race, layer, clock, costs, hidden, cell, t, playing } = board.state;
    if (!race || isOn(race)) return;
    const instant = { layer, clock, costs, hidden: new Set(hidden), cell, t, playing };
    const before = { race: idOf(race), instant };
    if (!board.tours || isTour(race)) return open(before);
    fetch(board.tours.race, () => open(before));
  }

  // Should it fail, whatever asked for it can ask again.
  function fetch(race, then) {
    awaited = { race, from: idOf(board.state.race), then };
    draw();
    board.tours.show(race);
  }

  // Turns to a chapter of another recorded race.
  function follow({ number }) {
    const { before } = tour;
    tour = null;
    first = number;
    const { infilling } = board.state.race.snapshot;
    fetch(infilling ? board.tours.race : board.tours.filling, () => open(before));
  }

  function open(before) {
    const { race } = board.state;
    const elsewhere = Boolean(board.tours?.filling && race?.snapshot.recorded);
    const found = race ? tourOf(race, elsewhere) : { chapters: [] };
    if (!found.chapters.length) return void draw();
    tour = { ...found, at: 0, phase: -1, race: idOf(race), before };
    const at = found.chapters.findIndex(({ number }) => number === first);
    first = 1; // which the next line may set again, on its way to another race
    show(Math.max(0, at));
    // In two columns the transport stays in sight, so that the arrows can be seen to work.
    const wide = matchMedia("(min-width: 900px)").matches;
    if (wide && !board.state.present) frame.querySelector(".transport").scrollIntoView();
  }

  function show(at) {
    if (at < 0 || at >= tour.chapters.length) return;
    if (tour.chapters[at].elsewhere) return follow(tour.chapters[at]);
    Object.assign(tour, { at, phase: -1 });
    draw();
    board.go(tour.chapters[at].view);
    // On a phone the pictures stand above the text, on one screen with it.
    const narrow = matchMedia("(max-width: 640px)").matches;
    if (narrow && !tour.chapters[at].last) frame.querySelector(".lanes").scrollIntoView();
    else if (!matchMedia("(min-width: 900px)").matches && !board.state.present)
      panel.scrollIntoView();
  }

  // Plays the chapter's pass in its parts; a visitor who likes things still presses for each.
  function replay() {
    const { frames } = tour.chapters[tour.at].replay;
    if (!frames.length) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    tour.phase = still ? (tour.phase + 1) % frames.length : 0;
    playPhase(frames, still);
  }

  function playPhase(frames, still) {
    board.go(frames[tour.phase].view);
    draw();
    const [{ t, layer }, { at, phase }, playing] = [board.state, tour, tour];
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
        board.go({ present: false });
        if (document.fullscreenElement) document.exitFullscreen();
        /** @type {HTMLInputElement} */ (
          document.querySelector("#prompt :is(input, textarea)")
        ).select();
      },
    },
    {
      title: "Fill in a part of this picture",
      words: "Paint over some of it, change the prompt if you like, and race.",
      needs: ".lane:not([hidden]) .fill:not([hidden])",
      act: () => {
        const { layer, clock } = tour.before.instant;
        tour = null;
        board.go({ layer, clock, present: false });
        /** @type {HTMLElement} */ (root.querySelector(".lane:not([hidden]) .fill")).click();
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
        const { layer, clock } = tour.before.instant;
        tour = null;
        board.go({ layer, clock });
        document.dispatchEvent(new CustomEvent("photo-finish-lanes", { detail: BEYOND }));
        setTimeout(() => /** @type {HTMLElement} */ (document.querySelector("#race")).click());
      },
    },
  ];

  // Puts back the race, the instant and the layer that were there before.
  function leave() {
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
      const move = /** @type {HTMLButtonElement} */ (root.querySelector("." + name));
      move.hidden = !tour || !present;
      move.disabled = !tour?.chapters[tour.at + by];
    }
    document.body.classList.toggle("present", Boolean(present));
    const chapter = tour?.chapters[tour.at];
    // Which has two columns; the page's end of the tour has the whole width.
    frame.dataset.tour = chapter && (present || !chapter.last) ? chapter.number : "";
    button.setAttribute("aria-pressed", String(Boolean(tour)));
    panel.hidden = !(tour || awaited || present);
    if (tour) {
      const acts = { show, leave, replay, tries };
      return drawChapter(panel, { template, fourLanes }, tour, acts);
    }
    const keys = "touch or move the pointer for the controls · PageDown begins the tour · ? helps";
    const line = `${layerOf(layer).title} · by ${clockName(clock)} · ${keys}`;
    const words = awaited ? "Fetching the race. Should it not come, ask for it again." : line;
    if (panel.dataset.shown === words) return;
    panel.dataset.shown = words;
    panel.replaceChildren(make("p.stage-line", words));
  }

  function press(event) {
    const field = "input:not([type=range]), textarea, select, [contenteditable]";
    const typing = event.target.closest?.(field) || root.querySelector("dialog[open]");
    if (typing || isResting(event)) return;
    const key = KEYS[event.key];
    if (!key || !(tour || (key === "on" && board.state.present))) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape leaves the tour first, the stage next
    if (!tour) start();
    else if (key === "leave") leave();
    else if (key === "replay") replay();
    else move(key === "on" ? 1 : -1);
  }

  function move(by) {
    if (tour) show(tour.at + by);
    return Boolean(tour);
  }

  board.onChange(({ race }) => {
    if (awaited && awaited.race === idOf(race)) {
      const { then } = awaited;
      awaited = null;
      return then();
    }
    if (awaited && idOf(race) !== awaited.from) awaited = null; // something else has come
    if (tour && idOf(race) !== tour.race) tour = null; // another race has other chapters
    button.disabled = isOn(race);
    draw();
  });
  button.addEventListener("click", start);
  for (const [name, by] of Object.entries(moves)) {
    root.querySelector("." + name).addEventListener("click", () => move(by));
  }
  document.addEventListener("keydown", press, true);
  draw();
  let opens = new URLSearchParams(location.search).get("tour");
  if (opens) first = Number(opens);
  function begin() {
    const race = idOf(board.state.race);
    if (!opens || (board.tours && !race)) return; // what the page opens with is to come
    opens = null;
    start();
  }
  return { move, begin };
}

// One chapter; rebuilt only when another is shown.
function drawChapter(panel, { template, fourLanes }, { chapters, missing, at, phase }, acts) {
  const { number, title, lines, reference, fourLanes: hasTable, replay, test, last } = chapters[at];
  const { show, leave, tries } = acts;
  const shown = `${number}|${lines.join("|")}`;
  const words = replay.frames[phase]?.words ?? "";
  if (panel.dataset.shown === shown) return say(panel.querySelector(".chapter-phase"), words);
  panel.dataset.shown = shown;
  const focused = panel.contains(document.activeElement) ? document.activeElement.className : "";
  const chapter = template.content.firstElementChild.cloneNode(true);
  const part = (name) => chapter.querySelector(`.chapter-${name}`);
  const texts = { number, title, reference, count: `${at + 1} of ${chapters.length}` };
  for (const [name, text] of Object.entries(texts)) part(name).textContent = text;
  part("text").replaceChildren(...lines.map((line) => make("p", line)));
  if (test) part("text").prepend(draftPicture(test));
  if (hasTable) part("text").append(fourLanes.cloneNode(true));
  if (last) {
    const here = tries.filter(({ needs }) => !needs || document.querySelector(needs));
    const choices = here.map(({ title: name, words: what, act }) =>
      make("li", make("button", name, { type: "button", onclick: act }), make("span", what)),
    );
    part("text").append(make("ul.chapter-tries", ...choices));
  }
  part("replay").hidden = !replay.frames.length;
  Object.assign(part("again"), { textContent: replay.title, onclick: acts.replay });
  part("hint").hidden = last;
  if (missing.length) part("missing").textContent = missingWords(missing);
  Object.assign(part("leave"), { onclick: leave });
  Object.assign(part("back"), { onclick: () => show(at - 1), disabled: at === 0 });
  Object.assign(part("on"), { onclick: () => show(at + 1), disabled: at === chapters.length - 1 });
  panel.replaceChildren(chapter);
  if (focused) (panel.querySelector(`.${focused}:not(:disabled)`) ?? part("leave")).focus();
}

function missingWords(missing) {
  const chapters = missing.map(({ number, title }) => `${number}, ${title}`).join("; ");
  const whose = missing.length > 1 ? "their decoders do" : "its decoder does";
  return `Left out, since ${whose} not race here: ${chapters}.`;
}
