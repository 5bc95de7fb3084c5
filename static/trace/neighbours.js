// Which neighbours a token saw that was drawn together with tokens of other rows (ZipAR).

const AROUND = { left: [0, -1], "above left": [-1, -1], above: [-1, 0], "above right": [-1, 1] };

/**
 * The neighbours that come before a cell in raster order, and whether the pass that drew it, its
 * row, found them there; and where that did not find the token right before it, the cell whose
 * token it was fed instead, or null.
 * @param {Lane} lane @param {LifeRow} row @param {number} columns
 */
export function seenAround(lane, { cell, at }, columns) {
  /** @param {number} other */
  const isThere = (other) => lane.rank[other] < lane.steps[at].before;
  const column = cell % columns;
  const around = Object.entries(AROUND)
    .filter(([, [, across]]) => column + across >= 0 && column + across < columns)
    .map(([name, [down, across]]) => ({ name, cell: cell + down * columns + across }))
    .filter((one) => one.cell >= 0)
    .map((one) => ({ ...one, seen: isThere(one.cell) }));
  const above = Array.from({ length: columns }, (_, i) => cell - columns + i);
  const misses = column === 0 && cell > 0 && !isThere(cell - 1);
  return { around, stand: misses ? (above.findLast(isThere) ?? null) : null };
}

/** The same in words. @param {Lane} lane @param {LifeRow} row @param {number} columns */
export function seenInWords(lane, row, columns) {
  const { around, stand } = seenAround(lane, row, columns);
  /** @param {boolean} seen */
  const named = (seen) => around.filter((one) => one.seen === seen).map(({ name }) => name);
  const [there, missing] = [named(true), named(false)].map((names) => names.join(", "));
  const saw = there ? `Of its neighbours it saw ${there}` : "It saw none of its neighbours";
  const sentences = [missing ? `${saw}; not there yet: ${missing}.` : `${saw}.`];
  if (stand !== null)
    sentences.push(
      lane.cells.includes(-1)
        ? "It begins a row: it was drawn behind the mark that ends the row above, though that row had not ended."
        : `It begins a row: the token right before it, the end of the row above, did not exist yet, and token ${lane.token(lane.committedBy[lane.rank[stand]])}, the newest of that row, stood in for it.`,
    );
  return sentences.join(" ");
}
