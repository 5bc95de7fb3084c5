// The chapters' examples in a race: rows that show a rule well, and a lane's totals in words.

import { countOf, lastOf } from "../numbers.js";
import { DID, rowOfStep } from "../trace/explain.js";

/**
 * Return the index of the lane whose drafts are tested by this decoder's own rule. Return -1 if
 * there is no such lane, or if it made no step.
 * @param {Race} race @param {string} name
 */
export const racedIndex = ({ lanes }, name) =>
  lanes.findIndex(({ rule, count }) => rule === name && count > 0);

/** List every row of a lane with its step, oldest first. @param {Lane} lane @returns {LifeRow[]} */
export function rowsOf(lane) {
  return lane.steps.flatMap(({ touched }, at) =>
    Array.from({ length: touched }, (_, i) => rowOfStep(lane, at, i)),
  );
}

/**
 * Return the item with the highest score, the first of equals; null where there are no items.
 * @template T @param {T[]} items @returns {T | null}
 * @param {(item: T) => number} score
 */
export function best(items, score) {
  /** @type {T | null} */
  let top = null;
  for (const item of items) if (top === null || score(item) > score(top)) top = item;
  return top;
}
/** @param {Lane} lane @param {(step: number) => number} score */
export const bestStep = (lane, score) => best([...lane.steps.keys()], score) ?? 0;
/** @param {number[]} values */
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/**
 * Return the step that accepted the most drafts: its index, its accepted rows, and the cell of the
 * last accepted row.
 * @param {Lane} lane
 */
export function mostAccepted(lane) {
  const accepted = rowsOf(lane).filter(({ status }) => status === DID.ACCEPTED);
  const at = bestStep(lane, (i) => accepted.filter((row) => row.at === i).length);
  const here = accepted.filter((row) => row.at === at);
  return { at, here, cell: here.at(-1)?.cell ?? lastCell(lane, at) };
}
/** Return the last cell that a step committed. @param {Lane} lane @param {number} at */
export const lastCell = (lane, at) => lane.order[lane.steps[at].after - 1];

// Test whether a draft makes a good example: it was drawn from a distribution, is no fresh guess,
// and its p and q are large enough to read.
/** @param {Shares} row */
export const isReadable = ({ p, q }) =>
  p !== null && q !== null && p >= 0.001 && q >= 0.01 && q < 0.999;

// Test whether a cell lies where there is a picture around it to see.
/** @param {Row} row @param {Race} race */
export const isInside = ({ cell }, { cells }) => cell >= 0.3 * cells && cell < 0.85 * cells;

// Write a lane's totals: "256 tokens in 117 passes (2.19 a pass)".
/** @param {Lane} lane */
export function summary(lane) {
  const { reached, passes } = lastOf(lane.steps);
  const each = (reached / passes).toFixed(2);
  return `${countOf(reached, "token")} in ${countOf(passes, "pass", "passes")} (${each} a pass)`;
}

// Write another decoder's totals, if it raced: "; SJD took 117 passes for 256".
/** @param {Race} race @param {string} decoder */
export function against(race, decoder) {
  const other = race.lanes[racedIndex(race, decoder)];
  if (!other) return "";
  const { passes, after } = lastOf(other.steps);
  return `; ${other.title} took ${countOf(passes, "pass", "passes")} for ${after}`;
}
