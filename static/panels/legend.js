// The legend: what the colours, the shapes and the badges mean, in numbers and words.

import { make, penOf } from "../dom.js";
import { dressBadge } from "../lanes/cards.js";
import { drawMark, noValue } from "../lanes/marks.js";
import { lastOf } from "../numbers.js";
import { OUTSIDE } from "../trace/explain.js";
import { SCALES, STATUSES, colourOf, countShare, rangeOf } from "../trace/layers.js";

const PREVIEW =
  "While a lane races, a small decoder previews its picture; at its end the model's own draws it.";

/**
 * Fills the list at the board's foot: what each badge of the race promises.
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
    const word = make("span.badge", badge);
    dressBadge(word, badge);
    const about = [...(titles.get(promise) ?? [])].join(" and ");
    return make("li", word, make("span", [about, promise].filter(Boolean).join(": ")));
  });
  list.replaceChildren(...badges);
}

/**
 * Draws the legend of a layer. It is built again only when it changes.
 * @param {HTMLElement} panel @param {Layer} layer @param {Race} race
 * @param {Lane | null} against the lane that others are compared with
 */
export function drawLegend(panel, layer, race, against) {
  const range = rangeOf(race, layer);
  const { infilling, preview, state } = race.snapshot;
  const previews = preview && state === "racing" && layer.kind === "picture";
  const key = [layer.name, ...range, against?.title, Boolean(infilling), previews].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  const scale = scaleOf(layer, range, against);
  // The marks of the statuses say all that the layer's words do.
  const text = infilling ? (layer.filling ?? layer.words) : layer.words;
  const all = previews ? `${text} ${PREVIEW}` : text;
  const words = layer.kind === "status" ? [] : [make("p.legend-words", all)];
  panel.replaceChildren(...scale, ...words);
}

/**
 * The legend's scale of a layer's values; the picture has none.
 * @param {Layer} layer @param {[number, number]} range @param {Lane | null} against
 */
function scaleOf(layer, range, against) {
  if (layer.kind === "status") return [statusLegend()];
  if (layer.kind === "share") return [shareLegend(layer, range)];
  if (layer.kind === "count") return [countLegend(layer, range)];
  if (layer.kind === "pass") return [passLegend(layer, range)];
  return against ? [differsLegend(layer, against)] : [];
}

/** @param {Layer} layer @param {Lane} against */
function differsLegend(layer, against) {
  const words = [`the token of ${against.title}`, "another token"];
  const boxes = words.map((word, share) =>
    make(
      "span.count",
      make("i", { style: `background: rgb(${colourOf(layer.scale, share)})` }),
      word,
    ),
  );
  return make("div.scales.counts", ...boxes, ...noValueOf(layer));
}

/** @param {Layer} layer @param {[number, number]} range */
function shareLegend(layer, [, most]) {
  const background = `linear-gradient(to right, ${SCALES[layer.scale].join(",")})`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => make("span", share * most));
  if (most < 1) lastOf(ticks).append(" or more");
  const bar = make("i.scale-bar", { style: `background: ${background}` });
  return make(
    "div.scales",
    make("div.scale", bar, make("div.scale-ticks", ...ticks)),
    ...noValueOf(layer),
  );
}

/** @param {Layer} layer @param {[number, number]} range */
function passLegend(layer, [low, high]) {
  const background = `linear-gradient(to right, ${SCALES[layer.scale].join(",")})`;
  const bar = make("i.scale-bar", { style: `background: ${background}` });
  const ticks = make("div.scale-ticks", make("span", `pass ${low}`), make("span", `pass ${high}`));
  return make("div.scales", make("div.scale", bar, ticks), ...noValueOf(layer));
}

// A box for each integer, or, where there are many, for some from the least to the greatest.
/** @param {Layer} layer @param {[number, number]} range */
function countLegend(layer, range) {
  const counts = ticksOf(range).map((count) => {
    const colour = colourOf(layer.scale, countShare(count, range));
    return make("span.count", make("i", { style: `background: rgb(${colour})` }), count);
  });
  return make(
    "div.scales.counts",
    ...counts,
    make("span.unit", layer.unit ?? ""),
    ...noValueOf(layer),
  );
}

// At most nine integers of a range, evenly spaced on its scale, both ends among them.
/** @param {[number, number]} range */
export function ticksOf([low, high]) {
  const many = Math.min(8, high - low);
  /** @param {number} i */
  const at = (i) => Math.round(low + (1 + high - low) ** (i / many) - 1);
  const ticks = Array.from({ length: many + 1 }, (_, i) => (high - low <= 8 ? low + i : at(i)));
  return [...new Set(ticks)];
}

/** @param {Layer} layer */
function noValueOf(layer) {
  if (!layer.noValue) return [];
  const canvas = make("canvas", { width: 36, height: 36 });
  const pen = penOf(canvas);
  pen.fillStyle = noValue(pen, 36);
  pen.fillRect(0, 0, 36, 36);
  return [make("span.count", canvas, layer.noValue)];
}

function statusLegend() {
  const items = STATUSES.map(({ name, words }, status) => {
    const canvas = make("canvas", { width: 40, height: 40 });
    drawMark(penOf(canvas), status, 20, 20, 20);
    return make("li", canvas, make("b", name), ` ${words}`);
  });
  return make("ul.legend-marks", ...items);
}
