// A rule's evidence beside the draft: the number drawn, its group, its candidates, its neighbours.

import { chance, countOf, dividing } from "../numbers.js";
import {
  DID,
  decisive,
  experimentInWords,
  OUTSIDE,
  shiftInWords,
  stepInWords,
  TOGETHER,
} from "../trace/explain.js";
import { committedToken } from "../trace/layers.js";
import { seenAround, seenInWords } from "../trace/neighbours.js";
import { isRatioTest, shiftOutside } from "../trace/outside.js";
import { html, nothing } from "../vendor/lit-html.js";
import { swatchOf } from "./swatch.js";

// Decoders that draw several rows of the picture at once.
const AT_ONCE = ["zipar", "rows"];

/**
 * Draw everything that a row's rule considered. `tried` is the number that the visitor tries in
 * place of the drawn one, and `tries` sets another number to try.
 * @param {CellView} view @param {LifeRow} row
 * @param {number | null} tried @param {(number: number) => void} tries
 */
export function consideredOf(view, row, tried, tries) {
  const { decoder, rule } = view.lane;
  const isAlone = !(rule in TOGETHER) && rule !== "typical"; // one number drawn decides
  const shift = (rule === OUTSIDE ? shiftOutside : shiftInWords)(row, view.lane);
  return [
    AT_ONCE.includes(decoder) ? neighboursOf(view, row) : nothing,
    isAlone && isOfRatio(view.lane, row) ? experimentOf(rule, row, tried, tries) : nothing,
    row.candidates.length ? candidatesOf(view, row) : nothing,
    row.group && rule !== "typical" ? groupOf(view, row.group, row.draft) : nothing,
    shift ? html`<p class="token-shift">${shift}</p>` : nothing,
  ];
}

/**
 * Test whether two things are known of a row: that its acceptance probability is a ratio (of p and
 * q, or of its rule's own masses), and that the drawn number decided.
 * @param {Lane} lane @param {LifeRow} row
 */
export const isOfRatio = (lane, row) => lane.rule !== OUTSIDE || isRatioTest(row);

// Draw the acceptance probability as a filled length, the uniform number as a tick on it, and both
// in words.
/** @param {string} rule @param {LifeRow} row */
export function testOf(rule, row) {
  const [uniform, acceptance] = decisive(row);
  const measured = acceptance !== null && rule !== "typical";
  const bar = measured ? testBar(acceptance, uniform) : nothing;
  return html`<span class="test">
    ${bar}<span class="test-words">${stepInWords(rule, row)}</span>
  </span>`;
}

/** @param {number} acceptance @param {number | null} uniform */
function testBar(acceptance, uniform) {
  const over = uniform !== null && uniform >= acceptance ? "over" : "";
  const tick =
    uniform === null
      ? nothing
      : html`<i class="test-tick ${over}" style=${`left: ${100 * uniform}%`}></i>`;
  return html`<i class="test-bar">
    <i class="test-fill" style=${`width: ${100 * acceptance}%`}></i>${tick}
  </i>`;
}

// Show what a token, drawn together with those of other rows, saw of the cells around it.
/** @param {CellView} view @param {LifeRow} row */
function neighboursOf({ lane, codes, columns }, row) {
  const swatches = seenAround(lane, row, columns).around.map(({ name, cell, seen, draft }) => {
    const token = seen ? (draft ?? committedToken(lane, cell)) : null;
    const mark = seen && draft === null ? "final" : "draft";
    return html`<span class="neighbour">
      ${swatchOf(token, codes, 28, mark)}<small>${name}</small>
    </span>`;
  });
  return html`<figure class="group">
    <figcaption>The neighbours that this token saw</figcaption>
    <div class="group-swatches">${swatches}</div>
    <p>${seenInWords(lane, row, columns)}</p>
  </figure>`;
}

// Offer the number that decided, if one did, to be dragged past the acceptance probability. The
// words say what would have come; the race stays as it was.
/**
 * @param {string} rule @param {LifeRow} row
 * @param {number | null} tried @param {(number: number) => void} tries
 */
function experimentOf(rule, row, tried, tries) {
  const [drawn, acceptance] = decisive(row);
  if (drawn === null || acceptance === null) return nothing;
  const number = tried ?? drawn;
  const verdict = experimentInWords(rule, row, number);
  /** @param {Event} event */
  const drag = ({ target }) => target instanceof HTMLInputElement && tries(Number(target.value));
  return html`<figure class="experiment" data-accepted=${Number(number < acceptance)}>
    <figcaption>Experiment: drag the number that was drawn</figcaption>
    <input
      class="experiment-number"
      type="range"
      min="0"
      max="1"
      step="0.001"
      .value=${String(number)}
      style=${`--acceptance: ${acceptance}`}
      aria-label="The number drawn"
      aria-valuetext=${verdict}
      @input=${drag}
    />
    <p class="experiment-verdict" role="status">${verdict}</p>
  </figure>`;
}

// Show GSD's group or LANTERN's neighbourhood: its tokens, and the two masses that the rule
// compares.
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
  const more =
    count > tokens.length ? html`<span>and ${count - tokens.length} more</span>` : nothing;
  const capped = p > q ? ", taken as 1" : "";
  const ratio = q > 0 ? `: ratio ${chance(p / q)}${capped}` : "";
  const [ofP, ofQ] = dividing(p, q, p / q);
  const masses = outside
    ? `Recorded: ${chance(p)} of p and ${chance(q)} of q.`
    : `${ofP} of p against ${ofQ} of q${gsd ? "" : " for it alone"}${ratio}.`;
  return html`<figure class="group">
    <figcaption>${title}</figcaption>
    <div class="group-swatches">${swatches}${more}</div>
    <p>${masses}</p>
  </figure>`;
}

// Show a tree's candidates, in the order in which they were tried.
/** @param {CellView} view @param {LifeRow} row */
function candidatesOf({ lane, codes }, row) {
  const { candidates } = row;
  const title =
    candidates.length === 1 ? "One candidate was tried" : "The candidates, in the order tried";
  const rows = candidates.map((candidate, i) => {
    const [p, q] =
      lane.rule === OUTSIDE || lane.rule === "traversal"
        ? [chance(candidate.p), chance(candidate.q)]
        : dividing(candidate.p, candidate.q, candidate.acceptance);
    const accepted = row.status === DID.ACCEPTED && i === candidates.length - 1;
    const status = accepted ? DID.ACCEPTED : DID.RESAMPLED;
    return html`<div class="candidate ${accepted ? "accepted" : ""}">
      <b>${i + 1}</b>
      ${swatchOf(candidate.token, codes, 24, accepted ? "final" : "draft")}
      <span class="bar-id">${candidate.token}</span>
      <span class="candidate-numbers">p ${p}, q ${q}</span>
      ${testOf(lane.rule, { ...row, ...candidate, candidates: [], status })}
    </div>`;
  });
  return html`<figure class="candidates">
    <figcaption>${title}</figcaption>
    ${rows}
  </figure>`;
}
