// The guided tour, and the stage: the board alone on the screen, for a talk.

import { tourOf } from "./chapters.js";
import { make } from "./dom.js";
import { layerOf } from "./layers.js";
import outline from "./outline.json" with { type: "json" };

const TOUR_LANES = 5; // a visitor's own race of so many decoders is toured as it is
const KEYS = { PageDown: "on", n: "on", PageUp: "back", p: "back", Escape: "leave" };

const raceKey = ({ snapshot: { prompt, seed, model, lanes } }) =>
  String([prompt, seed, model, lanes.map((lane) => lane.title)]);

// Whether to tour this race, and not the recorded one.
function isTour(race) {
  const raced = new Set(race.lanes.filter((lane) => lane.count > 0).map((lane) => lane.decoder));
  const whole = outline.every(({ decoders }) => decoders.some((name) => raced.has(name)));
  return whole || (!race.snapshot.recorded && raced.size >= TOUR_LANES);
}

/**
 * Wires the tour in `root`: its button (class `tour`), its panel (class `stage-panel`) and its
 * keys.
 * @param {HTMLElement} root @param {Board} board
 */
export function mountTour(root, board) {
  const frame = /** @type {HTMLElement} */ (root.querySelector(".board"));
  const panel = /** @type {HTMLElement} */ (root.querySelector(".stage-panel"));
  const [button, template] = [root.querySelector(".tour"), root.querySelector(".chapter-template")];
  let tour = null; // {chapters, missing, at, race, before}
  let awaited = null; // the race on the board while the recorded one is fetched

  function start() {
    if (tour) return leave();
    const { race } = board.state;
    if (!race || awaited !== null || !board.needTour || isTour(race)) return open();
    awaited = raceKey(race);
    draw();
    board.needTour();
  }

  function open() {
    awaited = null;
    const { race, layer, clock, hidden, cell, t } = board.state;
    const found = race ? tourOf(race) : { chapters: [] };
    if (!found.chapters.length) return void draw();
    const before = { layer, clock, hidden: new Set(hidden), cell, t, playing: false };
    tour = { ...found, at: 0, race: raceKey(race), before };
    show(0);
    if (!board.state.present) panel.scrollIntoView();
  }

  function show(at) {
    if (at < 0 || at >= tour.chapters.length) return;
    tour.at = at;
    draw();
    board.go(tour.chapters[at].view);
  }

  function leave() {
    const before = tour?.race === raceKey(board.state.race) ? tour.before : {};
    [tour, awaited] = [null, null];
    draw();
    board.go(before);
  }

  function draw() {
    const { present, layer, clock } = board.state;
    document.body.classList.toggle("present", Boolean(present));
    frame.dataset.tour = tour ? tour.chapters[tour.at].number : "";
    button.setAttribute("aria-pressed", String(Boolean(tour)));
    panel.hidden = !(tour || awaited !== null || present);
    if (tour) return drawChapter(panel, template, tour, show, leave);
    const keys = "PageDown begins the tour · ? shows the keys";
    const line = `${layerOf(layer).title} · by ${clock} · ${keys}`;
    const words = awaited !== null ? "Fetching the race of the tour." : line;
    if (panel.dataset.shown === words) return;
    panel.dataset.shown = words;
    panel.replaceChildren(make("p.stage-line", words));
  }

  function press(event) {
    const field = "input:not([type=range]), textarea, select, [contenteditable]";
    const typing = event.target.closest?.(field) || root.querySelector("dialog[open]");
    if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const key = KEYS[event.key];
    if (!key || !(tour || (key === "on" && board.state.present && awaited === null))) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape leaves the tour first, the stage next
    if (!tour) start();
    else if (key === "leave") leave();
    else show(tour.at + (key === "on" ? 1 : -1));
  }

  board.onChange(({ race }) => {
    if (awaited !== null && raceKey(race) !== awaited) return open();
    if (tour && raceKey(race) !== tour.race) tour = null; // another race has other chapters
    draw();
  });
  button.addEventListener("click", start);
  document.addEventListener("keydown", press, true);
  if (new URLSearchParams(location.search).get("present") === "1") board.go({ present: true });
  draw();
}

// One chapter; rebuilt only when another is shown.
function drawChapter(panel, template, { chapters, missing, at }, show, leave) {
  const { number, title, lines, reference } = chapters[at];
  const shown = `${number}|${lines.join("|")}`;
  if (panel.dataset.shown === shown) return;
  panel.dataset.shown = shown;
  const focused = panel.contains(document.activeElement) ? document.activeElement.className : "";
  const chapter = template.content.firstElementChild.cloneNode(true);
  const part = (name) => chapter.querySelector(`.chapter-${name}`);
  const texts = { number, title, reference, count: `${at + 1} of ${chapters.length}` };
  for (const [name, text] of Object.entries(texts)) part(name).textContent = text;
  part("text").replaceChildren(...lines.map((line) => make("p", line)));
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
