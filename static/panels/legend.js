// The legend: what the colours, the shapes and the badges mean, in numbers and words.

import { badgeLook } from "../lanes/cards.js";
import { OUTSIDE } from "../trace/explain.js";
import { SCALES, STATUSES, colourOf, countShare, rangeOf } from "../trace/layers.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { markOf, noValueMark } from "./mark.js";
import { withTerms } from "./terms.js";

const PREVIEW =
  "While a lane races, a small decoder previews its picture; at the end the model's own decoder draws it.";

/**
 * Fill the list at the board's foot: the promise of each badge in the race.
 * @param {HTMLElement} list @param {Snapshot} snapshot
 */
export function listPromises(list, { lanes }) {
  /** @type {Map<string, Set<string>>} */
  const titles = new Map(); // of the decoders from outside that a sentence is about
  /** @type {Map<string, string>} */
  const promises = new Map();
  for (const { badge, promise, rule, title } of lanes) {
    promises.set(promise, badge);
    const about = titles.get(promise) ?? new Set();
    titles.set(promise, rule === OUTSIDE ? about.add(title) : about);
  }
  const badges = [...promises].map(([promise, badge]) => {
    const about = [...(titles.get(promise) ?? [])].join(" and ");
    const words = [about, promise].filter(Boolean).join(": ");
    const { shape, colour } = badgeLook(badge);
    const style = `color: ${colour}`;
    return html`<li>
      <span class="badge" data-shape=${shape} style=${style}>${badge}</span><span>${words}</span>
    </li>`;
  });
  render(badges, list);
}

/**
 * Draw the legend of a layer. Where all controls are shown, its terms open the glossary.
 * @param {HTMLElement} panel @param {Layer} layer @param {Race} race
 * @param {Lane | null} against the lane that others are compared with @param {boolean} inside
 */
export function drawLegend(panel, layer, race, against, inside) {
  const { infilling, preview, state } = race.snapshot;
  const previews = preview && state === "racing" && layer.kind === "picture";
  // The marks of the statuses say all that the layer's words do.
  const text = infilling ? (layer.filling ?? layer.words) : layer.words;
  const all = previews ? `${text} ${PREVIEW}` : text;
  const words =
    layer.kind === "status"
      ? nothing
      : html`<p class="legend-words">${inside ? withTerms(all) : all}</p>`;
  render([scaleOf(layer, rangeOf(race, layer), against), words], panel);
}

/**
 * Return the scale of values in a layer's legend. The layer of pictures has no scale.
 * @param {Layer} layer @param {[number, number]} range
 * @param {Lane | null} against
 */
function scaleOf(layer, range, against) {
  if (layer.kind === "status") return statusLegend();
  if (layer.kind === "share") return shareLegend(layer, range);
  if (layer.kind === "count") return countLegend(layer, range);
  if (layer.kind === "pass") return passLegend(layer, range);
  return against ? differsLegend(layer, against) : nothing;
}

/** @param {Layer} layer @param {Lane} against */
function differsLegend(layer, against) {
  const words = [`same token as ${against.title}`, "another token"];
  const boxes = words.map((word, share) => boxOf(colourOf(layer.scale, share), word));
  return html`<div class="scales counts">${boxes}${noValueOf(layer)}</div>`;
}

/** @param {readonly number[]} colour @param {string | number} word */
const boxOf = (colour, word) =>
  html`<span class="count"><i style=${`background: rgb(${colour})`}></i>${word}</span>`;

/** @param {Layer} layer @param {[number, number]} range */
function shareLegend(layer, [, most]) {
  const shares = [0, 0.25, 0.5, 0.75, 1].map((share) => String(share * most));
  return barLegend(layer, most < 1 ? shares.with(-1, `${most} or more`) : shares);
}

/** @param {Layer} layer @param {[number, number]} range */
const passLegend = (layer, [low, high]) => barLegend(layer, [`pass ${low}`, `pass ${high}`]);

/** @param {Layer} layer @param {string[]} ticks evenly spaced on it */
function barLegend(layer, ticks) {
  const style = `background: linear-gradient(to right, ${SCALES[layer.scale].join(",")})`;
  return html`<div class="scales">
    <div class="scale">
      <i class="scale-bar" style=${style}></i>
      <div class="scale-ticks">${ticks.map((tick) => html`<span>${tick}</span>`)}</div>
    </div>
    ${noValueOf(layer)}
  </div>`;
}

// Draw a box for each integer, or, where there are many, for some from the least to the greatest.
/** @param {Layer} layer @param {[number, number]} range */
function countLegend(layer, range) {
  const counts = ticksOf(range).map((count) =>
    boxOf(colourOf(layer.scale, countShare(count, range)), count),
  );
  const unit = html`<span class="unit">${layer.unit ?? ""}</span>`;
  return html`<div class="scales counts">${counts}${unit}${noValueOf(layer)}</div>`;
}

// Return at most nine integers of a range, evenly spaced on its scale, both ends among them.
/** @param {[number, number]} range */
export function ticksOf([low, high]) {
  const many = Math.min(8, high - low);
  /** @param {number} i */
  const at = (i) => Math.round(low + (1 + high - low) ** (i / many) - 1);
  const ticks = Array.from({ length: many + 1 }, (_, i) => (high - low <= 8 ? low + i : at(i)));
  return [...new Set(ticks)];
}

/** @param {Layer} layer */
const noValueOf = ({ noValue }) =>
  noValue ? html`<span class="count">${noValueMark()}${noValue}</span>` : nothing;

function statusLegend() {
  const items = STATUSES.map(
    ({ name, words }, status) => html`<li>${markOf(status)}<b>${name}</b> ${words}</li>`,
  );
  return html`<ul class="legend-marks">
    ${items}
  </ul>`;
}
