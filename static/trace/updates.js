// A race as a page is sent it: a snapshot, and then updates.

import look from "../look.json" with { type: "json" };

/**
 * List a snapshot's pictures to be painted: each lane's whole picture, where it has one.
 * @param {Snapshot} snapshot @returns {Painting[]}
 */
export const picturesOf = ({ lanes }) =>
  lanes.flatMap(({ picture }, lane) => (picture ? [{ image: picture, parts: [{ lane }] }] : []));

/**
 * Begin a watched race from a snapshot. A later snapshot of the race comes when a lane of a race on
 * several devices begins, and at the race's end.
 * @param {Snapshot} snapshot @param {Live | null} before @returns {Live}
 */
export function beginRace(snapshot, before) {
  const goes = before !== null && before.id === snapshot.id && snapshot.state === "racing";
  return { ...snapshot, paintings: goes ? before.paintings : picturesOf(snapshot) };
}

/**
 * Return the race with an update added to it. The update's paintings are added to the race's own
 * list.
 * @param {Live} race @param {Update} update @returns {Live}
 */
export function advance(race, { lanes: changed, patches, ...facts }) {
  const lanes = [...race.lanes];
  /** @type {Painting["parts"]} */
  const parts = [];
  for (const { lane, cells, table, picture, ...figures } of changed) {
    const before = lanes[lane];
    /** @type {LaneSnapshot["table"]} */
    const tables = {};
    for (const [name, text] of Object.entries(before.table))
      tables[name] = text + (table[name] ?? "");
    const whole = picture || before.picture;
    lanes[lane] = { ...before, ...figures, table: tables, picture: whole };
    if (picture) race.paintings.push({ image: picture, parts: [{ lane }] });
    if (cells.length && patches) parts.push({ lane, cells });
  }
  if (parts.length) race.paintings.push({ image: patches, parts });
  return { ...race, ...facts, lanes };
}

/**
 * Return the side, in pixels, of the square patches in a painting's image, and each cell's patch:
 * the cell, its lane, and the left and top of its square.
 * @param {Painting} painting @param {number} width of the image, in pixels
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
