// The chapter on why a test with min(1, p / q) keeps the distribution, and what it accepts.

import { DID } from "../trace/explain.js";
import { overlapOf } from "../trace/overlap.js";
import { best, isInside, isReadable, rowsOf } from "./examples.js";

/**
 * Show a rejection for which most of p and q is known. Prefer a redrawn token among the known
 * tokens, probability spread over several tokens, and a TV near 0.5.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function whatBothShare(lane, race) {
  const lines = [
    "A draft is drawn from q and tested. For each token the test keeps what p and q share, min(p, q). These shares sum to 1 − TV, " +
      "the probability of acceptance.",
    "Otherwise a token is redrawn from max(p − q, 0), what is missing from p. For every token, kept and redrawn shares add up to p. " +
      "So a bad q costs passes, never the distribution.",
  ];
  const examples = rowsOf(lane).flatMap((row) => {
    const overlap = row.status === DID.RESAMPLED && isReadable(row) ? overlapOf(row) : null;
    return overlap ? [{ row, overlap }] : [];
  });
  const shown = best(examples, ({ row, overlap: { tokens, others, tv } }) => {
    const widest = Math.max(...tokens.flatMap(({ p, q }) => [p, q]));
    const plain = -others.p - others.q - widest - 2 * Math.abs(tv - 0.5);
    const named = tokens.some(({ token }) => token === row.token);
    return plain + (named ? 1 : 0) + (isInside(row, race) ? 0.25 : 0);
  });
  if (!shown) return { step: lane.count, cell: null, lines };
  const { row, overlap } = shown;
  lines.push(
    `The board shows pass ${row.pass}: draft ${row.draft} was rejected, and token ${row.token} took its place.`,
  );
  return { step: row.at + 1, cell: row.cell, lines, overlap };
}
