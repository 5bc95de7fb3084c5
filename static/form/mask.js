// The mask of a picture: sets of cells to fill in, painted as rectangles, as strokes or at random.

import { say } from "../dom.js";
import { capital, cellInWords, lastOf } from "../numbers.js";

/**
 * Return the cells of the rectangle between two opposite corners.
 * @param {number} from @param {number} to @param {number} columns @returns {number[]}
 */
export function boxBetween(from, to, columns) {
  /** @param {number} one @param {number} other */
  const range = (one, other) => {
    const low = Math.min(one, other);
    return Array.from({ length: Math.max(one, other) - low + 1 }, (_, i) => low + i);
  };
  const rows = range(Math.floor(from / columns), Math.floor(to / columns));
  const across = range(from % columns, to % columns);
  return rows.flatMap((row) => across.map((column) => row * columns + column));
}

/**
 * Return the cells of a stroke from one cell to another, with a brush two cells wide.
 * @param {number} from @param {number} to @param {[number, number]} grid
 */
export function strokeBetween(from, to, [rows, columns]) {
  const row = Math.floor(from / columns);
  const column = from % columns;
  const down = Math.floor(to / columns) - row;
  const right = (to % columns) - column;
  const steps = Math.max(1, Math.abs(down), Math.abs(right));
  const cells = new Set();
  for (let i = 0; i <= steps; i++) {
    const y = row + Math.round((down * i) / steps);
    const x = column + Math.round((right * i) / steps);
    for (const [near, beside] of [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ]) {
      if (y + near < rows && x + beside < columns) cells.add((y + near) * columns + x + beside);
    }
  }
  return [...cells];
}

/**
 * Return the cells of a cell's row and of all rows below it.
 * @param {number} cell @param {[number, number]} grid
 */
export function rowsFrom(cell, [rows, columns]) {
  const first = cell - (cell % columns);
  return Array.from({ length: rows * columns - first }, (_, i) => first + i);
}

/**
 * Return the mask with `count` more cells, chosen at random. `cells` is the number of cells in the
 * picture.
 * @param {Set<number>} mask @param {number} cells @param {number} count
 */
export function scattered(mask, cells, count, random = Math.random) {
  const left = Array.from({ length: cells }, (_, cell) => cell).filter((cell) => !mask.has(cell));
  const more = Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0],
  );
  return new Set([...mask, ...more]);
}

/**
 * Return the mask with these cells added, or removed.
 * @param {Set<number>} mask @param {Iterable<number>} cells @param {boolean} masked
 */
export function painted(mask, cells, masked) {
  const next = new Set(mask);
  for (const cell of cells) {
    if (masked) next.add(cell);
    else next.delete(cell);
  }
  return next;
}

/**
 * Announce which cells are chosen, and how many cells of the picture are masked.
 * @param {HTMLElement} region @param {number[]} cells that are chosen @param {Set<number>} masked
 * @param {number} columns @param {string} count in words
 */
export function announceMask(region, cells, masked, columns, count) {
  const first = cellInWords(cells[0], columns);
  const last = cellInWords(lastOf(cells), columns);
  const place = cells.length > 1 ? `From ${first} to ${last}` : capital(first);
  const inside = cells.filter((cell) => masked.has(cell)).length;
  const some = inside ? "some tokens are to be filled in" : "known";
  say(
    region,
    `${place}: ${inside === cells.length ? "to be filled in" : some}. In the whole picture: ${count}.`,
  );
}
