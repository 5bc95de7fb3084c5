// Talk mode, the guided tour, and the help.

const TOUR_LANES = 5; // a visitor's own race of so many decoders is toured, though it lacks a chapter

// Wires the tour in `root`: its button (class `tour`), its panel (class `talk`) and its keys. `board` is {state, go, onChange},
// and may have `needTour`, which asks for the recorded race; that comes as a change.
function mountTour(root, board) {
  const [frame, panel, entries] = [root.querySelector(".board"), root.querySelector(".talk"), root.querySelectorAll(".tour")];
  let tour = null; // {chapters, missing, at, race, before}
  let asked = null; // the race on the board when the recorded one was asked for, which is on its way

  const raceKey = ({ snapshot: { prompt, seed, model, lanes } }) => String([prompt, seed, model, lanes.map((x) => x.decoder)]);

  function start() {
    if (tour) return leave();
    const { race } = board.state;
    if (!race || asked !== null || !board.needTour || isTour(race)) return open();
    asked = raceKey(race);
    draw();
    board.needTour();
  }

  // Whether to tour this race, and not the recorded one that was made for it.
  function isTour(race) {
    const raced = new Set(race.lanes.filter((lane) => lane.count > 0).map((lane) => lane.decoder));
    const whole = CHAPTERS.every(([, , wanted]) => wanted.some((name) => raced.has(name)));
    return whole || (!race.snapshot.recorded && raced.size >= TOUR_LANES);
  }

  function open() {
    asked = null;
    const { race, layer, clock, hidden, cell, t } = board.state;
    const found = race ? tourOf(race) : { chapters: [] };
    if (!found.chapters.length) return void draw();
    tour = { ...found, at: 0, race: raceKey(race), before: { layer, clock, hidden: new Set(hidden), cell, t, playing: false } };
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
    [tour, asked] = [null, null];
    draw();
    board.go(before);
  }

  function draw() {
    const { present } = board.state;
    document.body.classList.toggle("present", Boolean(present));
    frame.dataset.tour = tour ? tour.chapters[tour.at].number : "";
    for (const button of entries) button.setAttribute("aria-pressed", String(Boolean(tour)));
    panel.hidden = !(tour || asked !== null || present);
    if (tour) return drawChapter(panel, tour, { back: () => show(tour.at - 1), on: () => show(tour.at + 1), leave });
    const words = asked !== null ? "Fetching the race of the tour." : talkLine(board.state);
    if (panel.dataset.shown === words) return;
    panel.dataset.shown = words;
    panel.replaceChildren(make("p", "talk-line", words));
  }

  function press(event) {
    const typing = event.target.closest?.("input:not([type=range]), textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.altKey || event.metaKey || root.querySelector("dialog[open]")) return;
    const key = { PageDown: "on", n: "on", PageUp: "back", p: "back", Escape: "leave" }[event.key];
    if (!key || !(tour || (key === "on" && board.state.present && asked === null))) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Escape leaves the tour first, and talk mode when it is pressed again
    if (!tour) start();
    else if (key === "leave") leave();
    else show(tour.at + (key === "on" ? 1 : -1));
  }

  function changed() {
    if (asked !== null && raceKey(board.state.race) !== asked) return open();
    if (tour && raceKey(board.state.race) !== tour.race) tour = null; // another race: its chapters are not this one's
    draw();
  }

  for (const button of entries) button.addEventListener("click", start);
  document.addEventListener("keydown", press, true);
  board.onChange(changed);
  if (new URLSearchParams(location.search).get("present") === "1") board.go({ present: true });
  draw();
}

// What talk mode says instead of the controls it hides.
function talkLine({ layer, clock }) {
  return `${layerOf(layer).title} · by ${clock} · PageDown begins the tour · ? shows the keys`;
}

// One chapter; rebuilt only when another is shown.
function drawChapter(panel, { chapters, missing, at }, { back, on, leave }) {
  const { number, title, lines, reference } = chapters[at];
  const shown = `${number}|${lines.join("|")}`;
  if (panel.dataset.shown === shown) return;
  panel.dataset.shown = shown;
  const button = (name, words, action, disabled = false) => {
    const made = make("button", name, words);
    made.type = "button";
    made.disabled = disabled;
    made.addEventListener("click", action);
    return made;
  };
  const focused = panel.contains(document.activeElement) ? document.activeElement.className : "";
  const chapter = make("section", "chapter");
  chapter.setAttribute("aria-label", "Guided tour");
  chapter.setAttribute("aria-live", "polite");
  const head = make("header", "");
  head.append(make("b", "chapter-number", String(number)), make("h3", "", title),
    make("span", "chapter-count", `${at + 1} of ${chapters.length}`));
  const text = make("div", "chapter-text");
  text.append(...lines.map((line) => make("p", "", line)));
  const foot = make("div", "chapter-foot");
  const moves = make("div", "chapter-moves");
  moves.append(button("chapter-leave", "Leave", leave), button("chapter-back", "Previous", back, at === 0),
    button("chapter-on", "Next", on, at === chapters.length - 1));
  const words = make("div", "");
  words.append(make("p", "chapter-reference", reference));
  if (missing.length) words.append(make("p", "chapter-missing", missingWords(missing)));
  foot.append(words, moves);
  chapter.append(head, text, foot);
  panel.replaceChildren(chapter);
  if (focused) (panel.querySelector(`.${focused}:not(:disabled)`) ?? panel.querySelector(".chapter-leave")).focus();
}

function missingWords(missing) {
  const chapters = missing.map(({ number, title }) => `${number}, ${title}`).join("; ");
  return `Left out, since ${missing.length > 1 ? "their decoders do" : "its decoder does"} not race here: ${chapters}.`;
}

const KEYS = [
  ["Space", "Play, or pause"],
  ["← →", "One step back or on; on a picture that has been clicked, move over its tokens (↑ ↓ too)"],
  ["Shift ← →", "The finish before, or the next"],
  ["1 … 8", "Hide a lane, or show it again"],
  ["l", "The next layer; with Shift the one before"],
  ["f", "Talk mode: the whole screen for the board, and back"],
  ["PageDown, n", "In the tour: the next chapter; in talk mode it begins the tour"],
  ["PageUp, p", "In the tour: the chapter before"],
  ["Esc", "Leave the tour, close the token's life, leave talk mode"],
  ["?", "This table"],
];

const GLOSSARY = [
  ["token", "one small square of the picture: a number in the codebook, which has a patch of picture for each"],
  ["pass", "one run of the model, over one token or a whole window of them"],
  ["p, q", "p: the model's law, the probability of each token at a place; q: the law that a draft was drawn from"],
  ["draft", "a guess at a token, not final yet"],
  ["committed", "final; the frontier is where the committed part of the picture ends"],
  ["top-1", "the probability of a law's likeliest token: how sure it is"],
  ["TV(p, q)", "how far two laws are apart: 0 the same, 1 nothing in common"],
  ["acceptance", "the probability with which a draft becomes final; a number drawn from 0 to 1 below it decides"],
];

// Opens the help in `root`, or closes it. A modal dialog keeps the focus, and gives it back.
function toggleHelp(root) {
  const open = root.querySelector("dialog.keys");
  if (open) return open.close();
  const dialog = make("dialog", "keys");
  dialog.setAttribute("aria-label", "Keys and words");
  const close = make("button", "keys-close", "Close");
  close.type = "button";
  dialog.append(close);
  for (const [title, rows] of [["Keys", KEYS], ["Words", GLOSSARY]]) {
    const table = make("table", "");
    table.append(make("caption", "", title));
    for (const [name, words] of rows) {
      const [row, key] = [make("tr", ""), make("th", "", name)];
      key.scope = "row";
      row.append(key, make("td", "", words));
      table.append(row);
    }
    dialog.append(table);
  }
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the board's keys rest meanwhile
    if (event.key === "?") dialog.close();
  });
  root.append(dialog);
  dialog.showModal();
}
