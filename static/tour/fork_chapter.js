// The tour's chapter on a fork: what comes of one other token.

import { cellInWords, chance, countOf, lastOf } from "../numbers.js";

/** @type {Entry} */
export const FORK = {
  part: "fork",
  title: "If another token had come",
  say: "Press e and put this race beside the picture it comes from. Then let the hall name a token, choose it, and press Draw on.",
  reference: "Teng et al., Speculative Jacobi Decoding, ICLR 2025 (arXiv 2410.01699), Eq. 1.",
  decoders: ["ar"],
  beside: ["sjd"],
};

/** @param {Lane} lane */
const passesOf = (lane) =>
  `${lane.title} took ${countOf(lastOf(lane.steps).passes, "pass", "passes")}`;

/**
 * Show where a fork leaves its parent, and what its lanes drew from there on.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function drawOn(lane, { snapshot: { infilling, grid }, lanes }) {
  const { known = [], parent } = infilling ?? {};
  let begin = "This race began in the middle: the tokens above the line are of an earlier picture.";
  if (parent && parent.instead !== null) {
    const { cell, instead, p } = parent;
    begin =
      `This race began in the middle: ${parent.lane} had drawn the tokens above the line. The last of them, in the red frame (` +
      `${cellInWords(cell, grid[1])}), is another one: token ${instead} had come, and here stands token ${known[cell]}, to which p gave ${chance(p)}.`;
  }
  const lines = [
    begin,
    "From there on the random numbers are those of the earlier picture. With the token that had come, vanilla AR " +
      "would draw the same rest again. So all that is different below comes from this one token.",
    `Every lane drew the other ${countOf(lane.total, "token")} by its own rule: ${lanes.map(passesOf).join(", ")}.`,
    "In a race of your own, choose a token of a finished picture, and press Draw on beside another one.",
  ];
  return { step: Math.max(1, lane.count >> 2), cell: null, lines };
}
