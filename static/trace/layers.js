// The layers that a lane can show of its tokens, and their colours; visualize/film/layers.py says
// the same for films.

import look from "../look.json" with { type: "json" };

/** @type {Layer[]} */
export const LAYERS = look.layers.map((layer) => ({
  group: layer.title,
  scale: "",
  least: 0,
  ...layer,
}));
/**
 * Layers by the group that shares a button, in look.json's order.
 * @type {Map<string, Layer[]>}
 */
export const GROUPS = new Map(
  LAYERS.map(({ group }) => [group, LAYERS.filter((layer) => layer.group === group)]),
);
/** @param {string} name @returns {Layer} */
export function layerOf(name) {
  const found = LAYERS.find((layer) => layer.name === name);
  if (!found) throw new RangeError(`there is no layer ${name}`);
  return found;
}

/** @type {Record<string, string[]>} */
export const SCALES = look.scales;

// The engine's statuses, by their number.
export const STATUSES = look.statuses;

// Return the colour of a share on a scale, as [red, green, blue] from 0 to 255.
/** @param {string} scale @param {number} share */
export function colourOf(scale, share) {
  const stops = SCALES[scale];
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return [1, 3, 5].map((i) => {
    const [a, b] = [stops[low], stops[low + 1]].map((stop) => parseInt(stop.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * (at - low));
  });
}

/**
 * Return the index of the lane that others are compared with: the chosen one, else vanilla AR's,
 * else the first.
 * @param {Race} race @param {number | null} chosen @returns {number}
 */
export function referenceOf({ lanes }, chosen) {
  const ar = lanes.findIndex(({ decoder }) => decoder === "ar");
  return chosen ?? Math.max(0, ar);
}

/**
 * Return the token that a lane has committed at a cell, whatever instant the board shows; null if
 * there is none.
 * @param {Lane} lane @param {number} cell
 */
export function committedToken(lane, cell) {
  const rank = lane.rank[cell];
  return rank < (lane.steps.at(-1)?.after ?? 0) ? lane.token(lane.committedBy[rank]) : null;
}

/**
 * Return a cell's token, which was known from the start or which the lane committed; null where
 * there is none.
 * @param {Lane} lane @param {number} cell
 */
export const tokenAt = (lane, cell) => lane.knownToken(cell) ?? committedToken(lane, cell);

/**
 * Count a lane's committed cells whose tokens differ from the reference lane's, and the cells that
 * can be compared.
 * @param {Lane} lane @param {View} view @param {Lane} against @returns {[number, number]}
 */
export function differing(lane, view, against) {
  const values = lane.order
    .slice(0, view.n)
    .map((cell) => layerValue(lane, view, cell, "differs", against))
    .filter((value) => value !== null);
  return [values.reduce((sum, value) => sum + value, 0), values.length];
}

/**
 * Return a layer's value of a cell: a share from 0 to 1, a count, a status's number, or 1 where the
 * token differs from that of the lane `against`; null where there is nothing to show.
 * @param {Lane} lane @param {View} view @param {number} cell @param {string} layer
 * @param {Lane | null} against
 */
export function layerValue(lane, view, cell, layer, against = null) {
  const row = view.rowOf(cell);
  if (row < 0 || layer === "picture") return null;
  if (layer === "status") return lane.status(row);
  const committed = lane.rank[cell] < view.n;
  if (layer === "differs") {
    if (!committed || !against) return null;
    const token = tokenAt(against, cell);
    return token === null ? null : Number(lane.token(row) !== token);
  }
  if (layer === "waiting") return lane.waits[row] + (committed ? 0 : 1);
  if (layer === "order") return committed ? lane.steps[lane.stepOf(row)].nfe : null;
  if (layer === "runs") return committed ? lane.steps[lane.stepOf(row)].tokens : null;
  return layer === "gain" ? lane.gain(row) : lane.share(row, layer);
}

/**
 * Return the least and the greatest value of a layer in this race, its drafts included.
 * @param {Race} race @param {Layer} layer @returns {[number, number]}
 */
export function rangeOf(race, { name, kind, least, most = 1 }) {
  if (kind === "pass") return [1, Math.max(2, ...race.lanes.map(({ total }) => total))];
  if (kind !== "count") return [0, most];
  return [least, Math.max(least + 1, ...race.lanes.map((lane) => lane.most[name]))];
}

// Place a count on its scale, 0 to 1, by logarithms: most runs and waits are short, a few are long.
/** @param {number} value @param {[number, number]} range */
export const countShare = (value, [low, high]) =>
  Math.log(1 + value - low) / Math.log(1 + high - low);
