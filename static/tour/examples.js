// What the chapters look for in a race: rows that make a good example, and what a lane did in all.

import { countOf, isKnown } from "../numbers.js";
import { DID } from "../trace/explain.js";

/** The lane of this decoder, if it made a step; else -1. @param {Race} race @param {string} name */
export const racedIndex = ({ lanes }, name) =>
  lanes.findIndex(({ decoder, count }) => decoder === name && count > 0);

/** Every row of a lane with its step, oldest first. @param {Lane} lane @returns {LifeRow[]} */
export function rowsOf(lane) {
  return lane.steps.flatMap((step, at) =>
    Array.from({ length: step.touched }, (_, i) => {
      const committed = step.before + i < step.after;
      return Object.assign(lane.row(step.first + i), { at, pass: step.nfe, ahead: i, committed });
    }),
  );
}

/**
 * The item with the highest score, the first of equals; null of none.
 * @template T @param {T[]} items @returns {T | null}
 */
export function best(items, score) {
  return items.reduce((top, item) => (top === null || score(item) > score(top) ? item : top), null);
}
export const bestStep = (lane, score) => best([...lane.steps.keys()], score);
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/**
 * The step that accepted the most drafts: its index, its accepted rows, and the cell of the last of
 * them.
 * @param {Lane} lane
 */
export function mostAccepted(lane) {
  const accepted = rowsOf(lane).filter(({ status }) => status === DID.ACCEPTED);
  const at = bestStep(lane, (i) => accepted.filter((row) => row.at === i).length);
  const here = accepted.filter((row) => row.at === at);
  return { at, here, cell: here.at(-1)?.cell ?? lastCell(lane, at) };
}
/** The last cell that a step committed. @param {Lane} lane @param {number} at */
export const lastCell = (lane, at) => lane.order[lane.steps[at].after - 1];

// Whether a draft makes a good example: drawn from a distribution, no fresh guess, with odds that
// can be read.
export const isReadable = ({ p, q }) => isKnown(p, q) && p >= 0.001 && q >= 0.01 && q < 0.999;

// Whether a cell lies where there is a picture to be seen around it.
export const isInside = ({ cell }, { cells }) => cell >= 0.3 * cells && cell < 0.85 * cells;

// What a lane did in all: "256 tokens in 117 passes, 2.19 a pass".
export function summary(lane) {
  const { reached, passes } = lane.steps.at(-1);
  const each = (reached / passes).toFixed(2);
  return `${countOf(reached, "token")} in ${countOf(passes, "pass", "passes")}, ${each} a pass`;
}

// What another lane that raced too took: "; SJD took 117 passes for 256", or nothing.
export function against(race, decoder) {
  const other = race.lanes[racedIndex(race, decoder)];
  if (!other) return "";
  const { passes, after } = other.steps.at(-1);
  return `; ${other.title} took ${countOf(passes, "pass", "passes")} for ${after}`;
}
