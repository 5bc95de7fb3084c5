// The tour's chapter on a race that fills in a part of a picture.

import { countOf, lastOf } from "../numbers.js";
import { boundOf } from "../trace/replay.js";
import { mostAccepted, racedIndex } from "./examples.js";

/** @type {Entry} */
export const FILLING = {
  part: "filling",
  title: "Fill in a part",
  say: "Here the model can be asked for any token, not only the next. Afterwards paint a part of your own: Fill in, below a picture.",
  reference:
    "Guo & Ermon, Reviving Any-Subset Autoregressive Models with Principled Parallel Sampling and Speculative Decoding, " +
    "2025 (arXiv 2504.20456), Alg. 1, Lemma 1, Theorems 1 and 2; Chang et al., MaskGIT, CVPR 2022, Sec. 3.2.",
  decoders: ["assd"],
  beside: ["ar", "parallel"],
};

/** @param {Lane} lane */
const passes = (lane) => countOf(lastOf(lane.steps).passes, "pass", "passes");

/**
 * Shows the pass of ASSD that accepted the most guesses.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function fillInAPart(lane, race) {
  const { at, here, cell } = mostAccepted(lane);
  const n = lane.total;
  const parallel = race.lanes[racedIndex(race, "parallel")];
  const unchecked = parallel
    ? ` Parallel took ${passes(parallel)} and checked nothing: its picture is of another distribution.`
    : "";
  const lines = [
    `Here ${countOf(n, "token")} of a finished picture are drawn again, and the model knows all the others. It can be asked for ` +
      "any place next, so it guesses several at once, each as if the other guesses were not there.",
    "A second pass then tests them in order, as SJD does: the first rejected one is redrawn and those behind it are dropped. So " +
      `the distribution stays exactly vanilla AR's. Shown is pass ${lane.steps[at].nfe}, with ${here.length} accepted.`,
    "The first guess needs no test, since nothing was guessed before it: either pass makes at least one token final, so that there " +
      `are never more passes than tokens, here ${boundOf(lane)}. It took ${passes(lane)}.${unchecked}`,
  ];
  return { step: at + 1, cell, lines };
}
