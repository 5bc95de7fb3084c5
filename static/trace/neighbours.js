// The neighbours that a token saw when it was drawn together with tokens of other rows (ZipAR,
// Parallel rows).

const AROUND = { left: [0, -1], "above left": [-1, -1], above: [-1, 0], "above right": [-1, 1] };

/**
 * Return the neighbours that come before a cell in raster order. `seen` says whether a neighbour
 * had a token in the pass that drew the cell's token (its `row`). `draft` is that token if it was a
 * draft of the cell's own row; null for a final token. `stand` is for a row's first token that was
 * drawn before the row above had ended: it is the cell whose token the model was fed in place of
 * that row's last token. Otherwise `stand` is null.
 * @param {Lane} lane @param {LifeRow} row @param {number} columns
 */
export function seenAround(lane, { cell, at }, columns) {
  /** @param {number} other */
  const isThere = (other) => lane.rank[other] < lane.steps[at].before;
  /** @param {number} other */
  const draftAt = (other) => {
    const now = lane.touches[other]?.find((each) => lane.stepOf(each) === at);
    return isThere(other) || now === undefined ? null : lane.row(now).draft;
  };
  const column = cell % columns;
  const around = Object.entries(AROUND)
    .filter(([, [, across]]) => column + across >= 0 && column + across < columns)
    .map(([name, [down, across]]) => ({ name, cell: cell + down * columns + across }))
    .filter((one) => one.cell >= 0)
    .map((one) => ({ ...one, draft: one.name === "left" ? draftAt(one.cell) : null }))
    .map((one) => ({ ...one, seen: isThere(one.cell) || one.draft !== null }));
  const above = Array.from({ length: columns }, (_, i) => cell - columns + i);
  const misses = column === 0 && cell > 0 && !isThere(cell - 1);
  return { around, stand: misses ? (above.findLast(isThere) ?? null) : null };
}

/**
 * Say what `seenAround` finds.
 * @param {Lane} lane @param {LifeRow} row @param {number} columns
 */
export function seenInWords(lane, row, columns) {
  const { around, stand } = seenAround(lane, row, columns);
  /** @param {boolean} seen */
  const named = (seen) =>
    around
      .filter((one) => one.seen === seen)
      .map(({ name, draft }) => (draft === null ? name : `${name} (a draft)`));
  const there = named(true).join(", ");
  const missing = named(false).join(", ");
  const saw = there
    ? `This token saw these neighbours: ${there}`
    : "This token saw none of its neighbours";
  const sentence = missing ? `${saw}. Not there yet: ${missing}.` : `${saw}.`;
  if (stand === null) return sentence;
  if (lane.cells.includes(-1))
    return `${sentence} This token begins a row: it was drawn after the mark that ends the row above, although that row had not ended.`;
  const token = lane.token(lane.committedBy[lane.rank[stand]]);
  return `${sentence} This token begins a row, but the last token of the row above did not exist yet. Token ${token}, the newest token of that row, stood in for it.`;
}
