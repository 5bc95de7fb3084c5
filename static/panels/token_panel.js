// The token panel: what every step did to one cell of one lane, and the two distributions that met
// there.

import { make, penOf, queryAll } from "../dom.js";
import { drawMark } from "../lanes/marks.js";
import { chance, countOf, dividing, isKnown } from "../numbers.js";
import {
  DID,
  decisive,
  experimentInWords,
  lifeOf,
  OUTSIDE,
  shiftInWords,
  stepInWords,
  WHY_KNOWN,
  whyToken,
} from "../trace/explain.js";
import { isRatioTest, shiftOutside, whyOutside } from "../trace/outside.js";
import { seenAround, seenInWords } from "../trace/neighbours.js";
import { committedToken, STATUSES } from "../trace/layers.js";
import { isOver } from "../trace/replay.js";
import { swatchOf, takeAtlas } from "./swatch.js";

// Rules whose verdict on a draft is not that of one number drawn.
const UNDRAWN = ["block", "typical"];
// Decoders that draw several rows of the picture at once.
const AT_ONCE = ["zipar", "rows"];

/**
 * Shows the life of the pinned cell, or hides the panel. Of a race that is over the whole life is
 * shown, with the step that the board shows marked; of one that runs, what the board has shown.
 * @param {HTMLElement} panel @param {Raced} state
 * @param {number[]} steps of each lane, how many are shown
 */
export function drawToken(panel, { race, cell: chosen }, steps) {
  panel.hidden = !chosen?.pinned;
  if (!chosen?.pinned) return void delete panel.dataset.key;
  const { lane: index, cell } = chosen;
  const { prompt, seed, swatches, codes } = race.snapshot;
  const lane = race.lanes[index];
  const life = lifeOf(lane, cell, isOver(race) ? lane.count : steps[index]);
  const now = life.filter((row) => row.at < steps[index]).length - 1;
  const known = [life.length, now, lane.priced];
  const key = [prompt, seed, index, cell, ...known, swatches.length].join("|");
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  const active = document.activeElement;
  let again = ""; // what has the focus
  if (active instanceof HTMLElement && panel.contains(active)) {
    const { row } = active.dataset;
    again = row === undefined ? `.${active.classList[0]}` : `[data-row="${row}"]`;
  }
  takeAtlas(swatches);
  const view = { lane, cell, life, now, codes, columns: race.grid[1] };
  panel.replaceChildren(headOf(view), bodyOf(view));
  if (again) queryAll(panel, again)[0]?.focus();
}

/**
 * Says of the cell that is pointed at, in one line: where it is, its token, and what the last step
 * that is shown did to it.
 * @param {HTMLElement} line @param {Raced} state @param {number[]} steps
 */
export function drawPeek(line, { race, cell: chosen }, steps) {
  const shown = chosen && !chosen.pinned ? chosen : null;
  const key = shown ? [shown.lane, shown.cell, steps[shown.lane]].join() : "";
  if (line.dataset.key === key) return;
  line.dataset.key = key;
  const [pace] = line.children;
  pace.toggleAttribute("hidden", Boolean(shown));
  line.replaceChildren(pace);
  if (!shown) return;
  const { swatches, codes } = race.snapshot;
  const lane = race.lanes[shown.lane];
  const life = lifeOf(lane, shown.cell, steps[shown.lane]);
  const row = life.at(-1);
  takeAtlas(swatches);
  const parts = row ? peekParts(lane, row, codes) : [make("span", unreached(lane, shown.cell))];
  line.append(
    make(
      "div.pointed-at",
      make("span.peek-where", whereOf(lane, shown.cell, race.grid[1])),
      ...parts,
      make("span.peek-hint", "Click for all of it."),
    ),
  );
}

/** @param {Lane} lane @param {number} cell */
const unreached = (lane, cell) =>
  lane.knownToken(cell) === null
    ? "Not reached yet at this instant."
    : "Known from the start: no lane draws it.";

/** @param {Lane} lane @param {number} cell @param {number} columns */
const whereOf = (lane, cell, columns) =>
  `${lane.title}, row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}`;

/** @param {Lane} lane @param {LifeRow} row @param {number} codes */
function peekParts(lane, row, codes) {
  const mark = make("canvas", { width: 36, height: 36 });
  drawMark(penOf(mark), row.status, 18, 18, 18);
  return [
    swatchOf(row.token, codes, 20, row.committed ? "final" : "draft"),
    make("span", `token ${row.token}`),
    make("span.life-status", mark, make("b", STATUSES[row.status].name)),
    make("span", `pass ${row.pass}: ${stepInWords(lane.rule, row)}`),
  ];
}

/** @param {CellView} view */
function headOf({ lane, cell, life, now, codes, columns }) {
  const known = lane.knownToken(cell);
  const token = known ?? life.at(-1)?.token;
  const title = make("h3", isKnown(token) ? `Why token ${token}?` : "Why this token?");
  const where = make("p.token-where", whereOf(lane, cell, columns));
  const whyDrawn = lane.rule === OUTSIDE ? whyOutside : whyToken;
  const words = known === null ? whyDrawn(lane.rule, life) : WHY_KNOWN;
  const isLater = life.length > 0 && now < 0;
  const later = `Not reached yet at this instant; what will happen: ${words[0].toLowerCase()}${words.slice(1)}`;
  const why = make("p.token-why", isLater ? later : words);
  const close = make("button.token-close", "×", { type: "button", "aria-label": "Close" });
  return make(
    "header.token-head",
    swatchOf(token, codes, 48),
    make("div", title, where),
    why,
    close,
  );
}

// The life of the cell, and of its chosen row what the rule considered beside the draft, and the
// distributions. These are drawn again when another row is chosen.
/** @param {CellView} view */
function bodyOf(view) {
  if (!view.life.length) return make("div.token-body");
  const considered = make("div.token-considered");
  const pair = make("div.token-pair");
  const rows = view.life.map((row, i) => lifeRow(view, row, i));
  /** @param {number} chosen */
  const choose = (chosen) => {
    rows.forEach((row, i) => row.setAttribute("aria-pressed", String(i === chosen)));
    considered.replaceChildren(...consideredOf(view, view.life[chosen]));
    pair.replaceChildren(...distributionsOf(view, view.life[chosen]));
  };
  rows.forEach((row, i) => row.addEventListener("click", () => choose(i)));
  const test = view.lane.rule === "typical" ? "threshold, p" : "acceptance, number drawn";
  const names = ["pass", "draft", "then", "status", "p", "q", "TV", test];
  const head = make("p.life-row.life-names", ...names.map((name) => make("span", name)));
  const group = { role: "group", "aria-label": "Every pass that touched this cell" };
  choose(Math.max(0, view.now));
  return make(
    "div.token-body",
    make("div.token-left", make("div.life", group, head, ...rows), considered),
    pair,
  );
}

/** @param {CellView} view @param {LifeRow} row @param {number} i */
function lifeRow({ lane, codes, now }, row, i) {
  const mark = make("canvas", { width: 36, height: 36 });
  drawMark(penOf(mark), row.status, 18, 18, 10);
  /** @param {string} name @param {string} text */
  const number = (name, text) => make("span.life-number", { "data-name": name }, text);
  const { p, q, acceptance } = row;
  const alone = !row.group && !row.candidates.length && isOfRatio(lane, row);
  const [ofP] = alone && p === 0 && q !== null ? dividing(p, q, acceptance) : [chance(p)];
  return make(
    i === now ? "button.life-row.now" : "button.life-row",
    { type: "button", "data-row": i, title: i === now ? "The step that the board shows" : "" },
    make("span.life-pass", row.pass),
    make("span", swatchOf(row.draft, codes, 24, "draft")),
    make("span", swatchOf(row.token, codes, 24, row.committed ? "final" : "draft")),
    make("span.life-status", mark, make("b", STATUSES[row.status].name)),
    number("p", ofP),
    number("q", chance(q)),
    number("TV", chance(row.tv)),
    testOf(lane.rule, row),
  );
}

// The acceptance probability as a filled length, the uniform number as a tick on it, and both in
// words.
/** @param {string} rule @param {LifeRow} row */
function testOf(rule, row) {
  const test = make("span.test");
  const [uniform, acceptance] = decisive(row);
  if (acceptance !== null && rule !== "typical") {
    const bar = make("i.test-bar", make("i.test-fill", { style: `width: ${100 * acceptance}%` }));
    if (uniform !== null) {
      const tick = uniform < acceptance ? "i.test-tick" : "i.test-tick.over";
      bar.append(make(tick, { style: `left: ${100 * uniform}%` }));
    }
    test.append(bar);
  }
  test.append(make("span.test-words", stepInWords(rule, row)));
  return test;
}

/** @param {CellView} view @param {LifeRow} row */
function consideredOf(view, row) {
  const { decoder, rule } = view.lane;
  const shift = (rule === OUTSIDE ? shiftOutside : shiftInWords)(row, view.lane);
  const parts = [];
  if (AT_ONCE.includes(decoder)) parts.push(neighboursOf(view, row));
  if (!UNDRAWN.includes(rule) && isOfRatio(view.lane, row)) parts.push(...experimentOf(rule, row));
  if (row.candidates.length) parts.push(candidatesOf(view, row));
  if (row.group && rule !== "typical") parts.push(groupOf(view, row.group, row.draft));
  if (shift) parts.push(make("p.token-shift", shift));
  return parts;
}

// Whether a row's acceptance probability is known to be a ratio, that of p and q or of its rule's
// own masses, and the number drawn to have decided.
/** @param {Lane} lane @param {LifeRow} row */
const isOfRatio = (lane, row) => lane.rule !== OUTSIDE || isRatioTest(row);

// What a token drawn with those of other rows saw of the cells around it.
/** @param {CellView} view @param {LifeRow} row */
function neighboursOf({ lane, codes, columns }, row) {
  const swatches = seenAround(lane, row, columns).around.map(({ name, cell, seen, draft }) => {
    const token = seen ? (draft ?? committedToken(lane, cell)) : null;
    return make(
      "span.neighbour",
      swatchOf(token, codes, 28, seen && draft === null ? "final" : "draft"),
      make("small", name),
    );
  });
  return make(
    "figure.group",
    make("figcaption", "What it saw around it"),
    make("div.group-swatches", ...swatches),
    make("p", seenInWords(lane, row, columns)),
  );
}

// The number that decided, if one did. It can be dragged past the acceptance probability, to see
// what would have come; the race stays as it was.
/** @param {string} rule @param {LifeRow} row */
function experimentOf(rule, row) {
  const [drawn, acceptance] = decisive(row);
  if (drawn === null || acceptance === null) return [];
  const verdict = make(
    "p.experiment-verdict",
    { role: "status" },
    experimentInWords(rule, row, drawn),
  );
  const number = make("input.experiment-number", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.001,
    value: drawn,
    style: `--acceptance: ${acceptance}`,
    ariaLabel: "The number drawn",
  });
  const figure = make(
    "figure.experiment",
    make("figcaption", "An experiment: drag the number that was drawn"),
    number,
    verdict,
  );
  /** @param {number} value */
  const judge = (value) => {
    figure.dataset.accepted = String(Number(value < acceptance));
    number.setAttribute("aria-valuetext", experimentInWords(rule, row, value));
    verdict.textContent = experimentInWords(rule, row, value);
  };
  number.addEventListener("input", () => judge(Number(number.value)));
  judge(drawn);
  return [figure];
}

/** @param {CellView} view @param {LifeRow} row */
function distributionsOf(view, row) {
  const q = `q: ${sourceOf(view.lane, row)}`;
  return [
    distributionOf(view, row, "p: the model's distribution", row.top, row.p, row.topDraft),
    distributionOf(view, row, q, row.topDraft, row.q, row.top),
  ];
}

// What q was, for a newcomer.
/** @param {Lane} lane @param {LifeRow} row */
function sourceOf(lane, { draft, topDraft }) {
  if (draft === null || !topDraft.length) return "no draft";
  const certain = topDraft.length === 1 && topDraft[0][0] === draft;
  if (lane.decoder === "lantern" && lane.drafter) {
    return certain ? "the drafter's choice, certain" : "the drafter's distribution";
  }
  const guess = lane.rule === OUTSIDE ? "the draft, certain" : "a fresh guess, certain";
  return certain ? guess : "the draft's distribution";
}

// The likeliest tokens as bars; a thin line on a bar is the same token's probability in the other
// distribution, where known.
/**
 * @param {CellView} view @param {LifeRow} row @param {string} title @param {Share[]} top
 * @param {number | null} share @param {Share[]} other
 */
function distributionOf({ codes }, row, title, top, share, other) {
  const { draft, token } = row;
  const figure = make("figure.distribution", make("figcaption", title));
  const bars = [...top];
  if (draft !== null && share !== null && !bars.some(([id]) => id === draft))
    bars.push([draft, share]);
  const scale = Math.max(0, ...[...top, ...other].map(([, p]) => p)) || 1;
  if (!bars.length) figure.append(make("p.bar-none", "Nothing recorded."));
  bars.forEach(([id, p], i) => {
    const bar = make("i.bar", make("i.bar-fill", { style: `width: ${(100 * p) / scale}%` }));
    const elsewhere = other.find(([otherId]) => otherId === id);
    if (elsewhere)
      bar.append(make("i.bar-other", { style: `left: ${(100 * elsewhere[1]) / scale}%` }));
    const { words, mark } = roleOf(id, row);
    const line = make(
      "div.bar-row",
      swatchOf(id, codes, 20, mark),
      make("span.bar-id", id),
      bar,
      make("span.bar-share", chance(p)),
      make("b.bar-mark", words),
    );
    line.classList.toggle("beyond", i >= top.length);
    line.classList.toggle("marked", id === draft || id === token);
    figure.append(line);
  });
  return figure;
}

// What a token is in a row: the word beside its bar, and the mark of its swatch.
/** @param {number} id @param {LifeRow} row */
function roleOf(id, { draft, token, committed, status }) {
  if (id === token && committed)
    return { words: status === DID.ACCEPTED ? "accepted" : "token", mark: "final" };
  if (id === draft && id !== token) return { words: "draft", mark: "draft" };
  if (id !== token) return { words: "", mark: "" };
  if (id !== draft) return { words: "next", mark: "" };
  return { words: status === DID.DROPPED ? "dropped" : "kept", mark: "draft" };
}

// GSD's group or LANTERN's neighbourhood: its tokens, and the two masses.
/** @param {CellView} view @param {Group} group @param {number | null} draft */
function groupOf({ lane, codes }, { count, tokens, p, q }, draft) {
  const gsd = lane.decoder === "gsd";
  const outside = lane.rule === OUTSIDE;
  const others = gsd ? `${count} tokens about as probable` : `it and the nearest ${count - 1}`;
  const members = count === 1 ? "the draft alone" : others;
  const title = outside
    ? `Recorded as the draft's group: ${countOf(count, "token")}`
    : `The draft's ${gsd ? "group C" : "neighbourhood A"}: ${members}`;
  const swatches = tokens.map((token) =>
    swatchOf(token, codes, 28, token === draft ? "draft" : ""),
  );
  if (count > tokens.length) swatches.push(make("span", `and ${count - tokens.length} more`));
  const capped = p > q ? ", taken as 1" : "";
  const ratio = q > 0 ? `: ratio ${chance(p / q)}${capped}` : "";
  const [ofP, ofQ] = dividing(p, q, p / q);
  const masses = outside
    ? `Recorded are ${chance(p)} of p and ${chance(q)} of q.`
    : `${ofP} of p against ${ofQ} of q${gsd ? "" : " for it alone"}${ratio}.`;
  return make(
    "figure.group",
    make("figcaption", title),
    make("div.group-swatches", ...swatches),
    make("p", masses),
  );
}

// The candidates of a tree, in the order in which they were tried.
/** @param {CellView} view @param {LifeRow} row */
function candidatesOf({ lane, codes }, row) {
  const { candidates } = row;
  const title =
    candidates.length === 1 ? "One candidate was tried" : "The candidates, in the order tried";
  const rows = candidates.map((candidate, i) => {
    const [p, q] =
      lane.rule === OUTSIDE
        ? [chance(candidate.p), chance(candidate.q)]
        : dividing(candidate.p, candidate.q, candidate.acceptance);
    const accepted = row.status === DID.ACCEPTED && i === candidates.length - 1;
    const status = accepted ? DID.ACCEPTED : DID.RESAMPLED;
    return make(
      accepted ? "div.candidate.accepted" : "div.candidate",
      make("b", i + 1),
      swatchOf(candidate.token, codes, 24, accepted ? "final" : "draft"),
      make("span.bar-id", candidate.token),
      make("span.candidate-numbers", `p ${p}, q ${q}`),
      testOf(lane.rule, { ...row, ...candidate, candidates: [], status }),
    );
  });
  return make("figure.candidates", make("figcaption", title), ...rows);
}
