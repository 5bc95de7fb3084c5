// The tour's chapter on a fork: what comes of one other token.

import { cellInWords, chance, countOf, lastOf } from "../numbers.js";

/** @type {Entry} */
export const FORK = {
  part: "fork",
  title: "If another token had come",
  say: "Press e and put this race beside the picture it comes from. Then let the hall name a token, choose it, and press a Draw on button.",
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
export function drawOn(lane, { snapshot: { infilling, grid, seed }, lanes }) {
  const { known = [], parent } = infilling ?? {};
  const lines = ["This race began in the middle: the tokens above the line were known."];
  if (parent && parent.instead !== null && parent.instead !== known[parent.cell]) {
    const { cell, instead, p } = parent;
    const share = p === null ? "" : `, to which p gave ${chance(p)},`;
    lines[0] =
      `This race began in the middle: ${parent.lane} had drawn the tokens above the line. The last of them, in the red frame (` +
      `${cellInWords(cell, grid[1])}), was replaced: token ${known[cell]}${share} stands in place of token ${instead}.`;
    if (parent.seed === seed && parent.lane === lane.title)
      lines.push(
        `From there on the random numbers are those of the earlier picture. With the original token, ${lane.title} ` +
          "would draw the same rest again. So every difference below comes from this one token.",
      );
  }
  const drawn = lanes.filter(({ state }) => state === "finished");
  if (drawn.length) {
    const rest = countOf(lane.total, "token");
    lines.push(
      `Each lane drew the other ${rest} by its own rule: ${drawn.map(passesOf).join(", ")}.`,
    );
  }
  lines.push(
    "In a race of your own, choose a token of a finished picture. Each other token that could have come has a button, Draw on.",
  );
  return { step: Math.max(1, lane.count >> 2), cell: null, lines };
}
