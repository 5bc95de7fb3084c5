// A race as a page has been sent it: a snapshot, and then updates.

import look from "../look.json" with { type: "json" };

/**
 * What is painted of a snapshot: each lane's whole picture.
 * @param {Snapshot} snapshot @returns {Painting[]}
 */
export const picturesOf = ({ lanes }) =>
  lanes.flatMap(({ picture }, lane) => (picture ? [{ image: picture, parts: [{ lane }] }] : []));

/**
 * A race that is watched, from a snapshot: its first, or one that is sent when a lane of a race on
 * several devices begins, or at its end.
 * @param {Snapshot} snapshot @param {Live | null} before @returns {Live}
 */
export function beginRace(snapshot, before) {
  const goes = before !== null && before.id === snapshot.id && snapshot.state === "racing";
  return { ...snapshot, paintings: goes ? before.paintings : picturesOf(snapshot) };
}

/**
 * The race once an update has been taken in. Its paintings only grow, in the same list.
 * @param {Live} race @param {Update} update @returns {Live}
 */
export function advance(race, { lanes: changed, patches, ...facts }) {
  const lanes = [...race.lanes];
  /** @type {Painting["parts"]} */
  const parts = [];
  for (const { cells, ...change } of changed) {
    const { lane, table, picture, ...figures } = change;
    const before = lanes[lane];
    const tables = Object.entries(before.table).map(([name, text]) => [
      name,
      text + (table[name] ?? ""),
    ]);
    const whole = picture || before.picture;
    lanes[lane] = { ...before, ...figures, table: Object.fromEntries(tables), picture: whole };
    if (picture) race.paintings.push({ image: picture, parts: [{ lane }] });
    if (cells.length && patches) parts.push({ lane, cells });
  }
  if (parts.length) race.paintings.push({ image: patches, parts });
  return { ...race, ...facts, lanes };
}

/**
 * Where each cell's patch lies in a painting's image: the cell, its lane, and the left and top of
 * its square; and the square's side, for an image so wide.
 * @param {Painting} painting @param {number} width
 */
export function patchesOf({ parts }, width) {
  const cells = parts.flatMap(({ lane, cells = [] }) => cells.map((cell) => ({ lane, cell })));
  const columns = Math.min(look.swatches.columns, cells.length);
  const side = width / columns;
  const places = cells.map((place, i) => ({
    ...place,
    left: side * (i % columns),
    top: side * Math.floor(i / columns),
  }));
  return { places, side };
}
