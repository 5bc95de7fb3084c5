// The moves of arrow keys over a grid of tokens.

/** @type {Record<string, [down: number, right: number]>} */
export const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/**
 * Return the cell that a move leads to. A move across the grid's edge leads nowhere.
 * @param {{ lane: number, cell: number }} from @param {[number, number]} move
 * @param {[number, number]} grid
 */
export function neighbour({ lane, cell }, [down, right], [rows, columns]) {
  const row = Math.min(rows - 1, Math.max(0, Math.floor(cell / columns) + down));
  const column = Math.min(columns - 1, Math.max(0, (cell % columns) + right));
  return { lane, cell: row * columns + column, pinned: true };
}
