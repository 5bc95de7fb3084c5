// The legend: what the colours, the shapes and the badges mean, in numbers and words.

import { dressBadge } from "./cards.js";
import { make } from "./dom.js";
import { STATUSES, colourOf, countShare, rangeOf } from "./layers.js";
import look from "./look.json" with { type: "json" };
import { drawMark, noValue } from "./marks.js";

/**
 * Rebuilt only when it changes.
 * @param {HTMLElement} panel @param {Layer} layer @param {Race} race
 */
export function drawLegend(panel, layer, race) {
  const { lanes } = race.snapshot;
  const range = rangeOf(race, layer);
  const key = [layer.name, ...range, ...lanes.map((lane) => lane.badge)].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  const promises = new Map(lanes.map((lane) => [lane.badge, lane.promise]));
  const badges = [...promises].map(([badge, promise]) => {
    const word = make("span.badge", badge);
    dressBadge(word, badge);
    return make("li", word, make("span", promise));
  });
  const scales = { picture: [], status: statusLegend, share: shareLegend, count: countLegend };
  const scale = layer.kind === "picture" ? [] : [scales[layer.kind](layer, range)];
  panel.replaceChildren(
    ...scale,
    make("p.legend-words", layer.words),
    make("ul.legend-badges", ...badges),
  );
}

function shareLegend(layer) {
  const background = `linear-gradient(to right, ${look.scales[layer.scale].join(",")})`;
  const ticks = ["0", "0.25", "0.5", "0.75", "1"].map((tick) => make("span", tick));
  const bar = make("i.scale-bar", { style: `background: ${background}` });
  return make(
    "div.scales",
    make("div.scale", bar, make("div.scale-ticks", ...ticks)),
    ...noValueOf(layer),
  );
}

// A box for each integer, or, where there are many, for some from the least to the greatest.
function countLegend(layer, range) {
  const counts = ticksOf(range).map((count) => {
    const colour = colourOf(layer.scale, countShare(count, range));
    return make("span.count", make("i", { style: `background: rgb(${colour})` }), count);
  });
  return make("div.scales.counts", ...counts, make("span.unit", layer.unit), ...noValueOf(layer));
}

// At most nine integers of a range, evenly spaced on its scale, both ends among them.
export function ticksOf([low, high]) {
  const many = Math.min(8, high - low);
  const at = (i) => Math.round(low + (1 + high - low) ** (i / many) - 1);
  const ticks = Array.from({ length: many + 1 }, (_, i) => (high - low <= 8 ? low + i : at(i)));
  return [...new Set(ticks)];
}

function noValueOf(layer) {
  if (!layer.noValue) return [];
  const canvas = make("canvas", { width: 36, height: 36 });
  const pen = canvas.getContext("2d");
  pen.fillStyle = noValue(pen, 36);
  pen.fillRect(0, 0, 36, 36);
  return [make("span.count", canvas, layer.noValue)];
}

function statusLegend() {
  const items = STATUSES.map(({ name, words }, status) => {
    const canvas = make("canvas", { width: 40, height: 40 });
    drawMark(canvas.getContext("2d"), status, 20, 20, 20);
    return make("li", canvas, make("b", name), ` ${words}`);
  });
  return make("ul.legend-marks", ...items);
}
