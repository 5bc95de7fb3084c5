// The tour's chapter on a race that fills in a part of a picture.

import { countOf, lastOf } from "../numbers.js";
import { boundOf } from "../trace/replay.js";
import { mostAccepted, racedIndex } from "./examples.js";

/** @type {Entry} */
export const FILLING = {
  part: "filling",
  title: "Fill in a part",
  say: "Here the model can predict any token, not only the next. Afterwards paint over a part yourself: press Fill in below a picture.",
  reference:
    "Guo & Ermon, Reviving Any-Subset Autoregressive Models with Principled Parallel Sampling and Speculative Decoding, " +
    "2025 (arXiv 2504.20456), Alg. 1, Lemma 1, Theorems 1 and 2; Chang et al., MaskGIT, CVPR 2022, Sec. 3.2.",
  decoders: ["assd"],
  beside: ["ar", "parallel"],
};

/** @param {Lane} lane */
const passes = (lane) => countOf(lastOf(lane.steps).passes, "pass", "passes");

/**
 * Show the pass of ASSD that accepted the most guesses.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function fillInAPart(lane, race) {
  const { at, here, cell } = mostAccepted(lane);
  const n = lane.total;
  const parallel = race.lanes[racedIndex(race, "parallel")];
  const unchecked = parallel
    ? ` Parallel took ${passes(parallel)} and checked nothing, so its picture has another distribution.`
    : "";
  const lines = [
    `Here ${countOf(n, "token")} of a finished picture are drawn again, and the model knows all the others. It can predict ` +
      "any token next, so one pass guesses several tokens at once, each without seeing the other guesses.",
    "A second pass tests the guesses in order, as SJD does. The first rejected guess is redrawn, and the guesses after it are dropped. So " +
      `the distribution stays exactly vanilla AR's. The board shows pass ${lane.steps[at].nfe}, which accepted ${countOf(here.length, "guess", "guesses")}.`,
    "The first guess needs no test, because nothing was guessed before it. Each of the two passes makes at least one token final, so there " +
      `are never more passes than tokens: here at most ${boundOf(lane)}. ${lane.title} took ${passes(lane)}.${unchecked}`,
  ];
  return { step: at + 1, cell, lines };
}
