// What a lane can show of each of its tokens, and in which colours; visualize/layers.py says the
// same for films.

import look from "./look.json" with { type: "json" };

/** @type {Layer[]} */
export const LAYERS = look.layers;
/** @param {string} name @returns {Layer} */
export const layerOf = (name) => LAYERS.find((layer) => layer.name === name);

// The engine's statuses, by their number.
export const STATUSES = look.statuses;

// The colour of a share on a scale, as [red, green, blue].
export function colourOf(scale, share) {
  const stops = look.scales[scale];
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return [1, 3, 5].map((i) => {
    const [a, b] = [stops[low], stops[low + 1]].map((stop) => parseInt(stop.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * (at - low));
  });
}

/**
 * What a layer shows of a cell: a share from 0 to 1, a count, a status's number; null where there
 * is nothing to show.
 * @param {Lane} lane @param {View} view @param {number} cell @param {string} layer
 */
export function layerValue(lane, view, cell, layer) {
  const row = view.rowOf(cell);
  if (row < 0 || layer === "picture") return null;
  if (layer === "status") return lane.status(row);
  const committed = cell < view.n;
  if (layer === "waiting") return lane.waits[row] + (committed ? 0 : 1);
  if (layer === "runs") return committed ? lane.steps[lane.stepOf(row)].tokens : null;
  return lane.share(row, /** @type {any} */ (layer));
}

/**
 * The numbers [low, high] between which a layer lies in this race, its drafts included.
 * @param {Race} race @param {Layer} layer @returns {[number, number]}
 */
export function rangeOf(race, { name, kind, least }) {
  if (kind !== "count") return [0, 1];
  return [least, Math.max(least + 1, ...race.lanes.map((lane) => lane.most[name]))];
}

// Where a count stands on its scale, 0 to 1. By logarithms: most runs and waits are short, a few
// are long.
export const countShare = (value, [low, high]) =>
  Math.log(1 + value - low) / Math.log(1 + high - low);
