// The token panel: what every step did to one cell of one lane, and the two distributions of its
// test.

import { cellInWords, chance, dividing, isKnown } from "../numbers.js";
import { lifeOf, OUTSIDE, stepInWords, WHY_KNOWN, whyToken } from "../trace/explain.js";
import { STATUSES } from "../trace/layers.js";
import { whyOutside } from "../trace/outside.js";
import { isOver } from "../trace/replay.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { distributionsOf } from "./distributions.js";
import { markOf } from "./mark.js";
import { swatchOf, takeAtlas } from "./swatch.js";
import { consideredOf, isOfRatio, testOf } from "./token_test.js";

/**
 * Return the function that draws the pinned cell's life, or hides the panel. For a race that is
 * over, draw the whole life, and mark the step that the board shows. For a race that runs, draw the
 * life as far as the board has shown it.
 * @param {HTMLElement} panel
 */
export function bindToken(panel) {
  // The visitor's choice in the life that is shown: a row, and another number than was drawn.
  /** @type {{ life: string, row: number | null, number: number | null }} */
  let choice = { life: "", row: null, number: null };

  /** @param {CellView} view */
  function draw(view) {
    const row = choice.row ?? Math.max(0, view.now);
    /** @param {Partial<typeof choice>} change */
    const choose = (change) => {
      Object.assign(choice, change);
      draw(view);
    };
    render([headOf(view), bodyOf(view, row, choice.number, choose)], panel);
  }

  /** @param {Raced} state @param {number[]} steps of each lane, how many are shown */
  return function drawToken({ race, cell: chosen }, steps) {
    panel.hidden = !chosen?.pinned;
    if (!chosen?.pinned) return void render(nothing, panel);
    const { lane: index, cell } = chosen;
    const { id, swatches, codes } = race.snapshot;
    const lane = race.lanes[index];
    const life = lifeOf(lane, cell, isOver(race) ? lane.count : steps[index]);
    const now = life.filter((row) => row.at < steps[index]).length - 1;
    const shown = [id, index, cell, life.length, now].join();
    if (choice.life !== shown) choice = { life: shown, row: null, number: null };
    takeAtlas(swatches);
    draw({ lane, cell, cells: race.cells, life, now, codes, columns: race.grid[1] });
  };
}

/**
 * Write one line about the cell that is pointed at: its place, its token, and what the last shown
 * step did to the cell.
 * @param {HTMLElement} line @param {HTMLElement} pace the element that the line covers
 * @param {Raced} state @param {number[]} steps
 */
export function drawPeek(line, pace, { race, cell: chosen }, steps) {
  const shown = chosen && !chosen.pinned ? chosen : null;
  pace.hidden = shown !== null;
  if (!shown) return void render(nothing, line);
  const { swatches, codes } = race.snapshot;
  const lane = race.lanes[shown.lane];
  const row = lifeOf(lane, shown.cell, steps[shown.lane]).at(-1);
  takeAtlas(swatches);
  const words = html`<div class="pointed-at">
    <span class="peek-where">${whereOf(lane, shown.cell, race.grid[1])}</span>
    ${row ? peekParts(lane, row, codes) : html`<span>${unreached(lane, shown.cell)}</span>`}
    <span class="peek-hint">Click for details.</span>
  </div>`;
  render(words, line);
}

/** @param {Lane} lane @param {number} cell */
const unreached = (lane, cell) =>
  lane.knownToken(cell) === null
    ? "Not reached yet at this instant."
    : "Known from the start: no lane draws it.";

/** @param {Lane} lane @param {number} cell @param {number} columns */
const whereOf = (lane, cell, columns) => `${lane.title}, ${cellInWords(cell, columns)}`;

/** @param {Lane} lane @param {LifeRow} row @param {number} codes */
const peekParts = (lane, row, codes) => [
  swatchOf(row.token, codes, 20, row.committed ? "final" : "draft"),
  html`<span>token ${row.token}</span>`,
  statusOf(row),
  html`<span>pass ${row.pass}: ${stepInWords(lane.rule, row)}</span>`,
];

/** @param {LifeRow} row */
const statusOf = ({ status }) =>
  html`<span class="life-status">${markOf(status)}<b>${STATUSES[status].name}</b></span>`;

/** @param {CellView} view */
function headOf({ lane, cell, life, now, codes, columns }) {
  const known = lane.knownToken(cell);
  const token = known ?? life.at(-1)?.token;
  const whyDrawn = lane.rule === OUTSIDE ? whyOutside : whyToken;
  const words = known === null ? whyDrawn(lane.rule, life) : WHY_KNOWN;
  const isLater = life.length > 0 && now < 0;
  const later = `Not reached yet at this instant. Later: ${words[0].toLowerCase()}${words.slice(1)}`;
  return html`<header class="token-head">
    ${swatchOf(token, codes, 48)}
    <div>
      <h3>${isKnown(token) ? `Why token ${token}?` : "Why this token?"}</h3>
      <p class="token-where">${whereOf(lane, cell, columns)}</p>
    </div>
    <p class="token-why">${isLater ? later : words}</p>
    <button class="token-close" type="button" aria-label="Close">×</button>
  </header>`;
}

/**
 * Draw the cell's life. For the chosen row, draw also what the rule considered beside the draft,
 * and the distributions.
 * @param {CellView} view @param {number} chosen @param {number | null} tried
 * @param {(change: { row?: number, number: number | null }) => void} choose
 */
function bodyOf(view, chosen, tried, choose) {
  const { life, lane } = view;
  const row = life[chosen];
  if (!row) return html`<div class="token-body"></div>`;
  const test = lane.rule === "typical" ? "threshold, p" : "acceptance, number drawn";
  const names = ["pass", "draft", "then", "status", "p", "q", "TV", test];
  const rows = life.map((_, i) =>
    lifeRow(view, i, i === chosen, () => choose({ row: i, number: null })),
  );
  const considered = consideredOf(view, row, tried, (number) => choose({ number }));
  return html`<div class="token-body">
    <div class="token-left">
      <div class="life" role="group" aria-label="Every pass that touched this cell">
        <p class="life-row life-names">${names.map((name) => html`<span>${name}</span>`)}</p>
        ${rows}
      </div>
      <div class="token-considered">${considered}</div>
    </div>
    <div class="token-pair">${distributionsOf(view, row)}</div>
  </div>`;
}

/** @param {CellView} view @param {number} i @param {boolean} chosen @param {() => void} choose */
function lifeRow({ lane, codes, now, life }, i, chosen, choose) {
  const row = life[i];
  const { p, q, acceptance } = row;
  const alone = !row.group && !row.candidates.length && isOfRatio(lane, row);
  const [ofP] = alone && p === 0 && q !== null ? dividing(p, q, acceptance) : [chance(p)];
  const numbers = Object.entries({ p: ofP, q: chance(q), TV: chance(row.tv) }).map(
    ([name, text]) => html`<span class="life-number" data-name=${name}>${text}</span>`,
  );
  return html`<button
    class="life-row ${i === now ? "now" : ""}"
    type="button"
    aria-pressed=${chosen}
    title=${i === now ? "The step that the board shows" : nothing}
    @click=${choose}
  >
    <span class="life-pass">${row.pass}</span>
    <span>${swatchOf(row.draft, codes, 24, "draft")}</span>
    <span>${swatchOf(row.token, codes, 24, row.committed ? "final" : "draft")}</span>
    ${statusOf(row)}${numbers}${testOf(lane.rule, row)}
  </button>`;
}
