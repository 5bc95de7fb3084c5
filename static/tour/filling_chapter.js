// The tour's chapter on a race that fills in a part of a picture.

import { countOf } from "../numbers.js";
import { DID } from "../trace/explain.js";
import { boundOf } from "../trace/replay.js";

export const FILLING = {
  title: "Fill in a part",
  reference:
    "Guo & Ermon, Reviving Any-Subset Autoregressive Models with Principled Parallel Sampling and Speculative Decoding, " +
    "2025 (arXiv 2504.20456), Alg. 1, Lemma 1, Theorems 1 and 2; Chang et al., MaskGIT, CVPR 2022, Sec. 3.2.",
  decoders: ["assd"],
  beside: ["ar", "parallel"],
};

const passes = (lane) => countOf(lane.steps.at(-1).passes, "pass", "passes");

/**
 * The pass of ASSD that accepted the most guesses.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function fillInAPart(lane, { lanes }) {
  const accepted = lane.steps.map(({ first, touched }) => {
    const rows = Array.from({ length: touched }, (_, i) => lane.row(first + i));
    return rows.filter(({ status }) => status === DID.ACCEPTED);
  });
  const most = Math.max(...accepted.map((rows) => rows.length));
  const at = accepted.findIndex((rows) => rows.length === most);
  const [n, bound] = [lane.order.length, boundOf(lane)];
  const parallel = lanes.find(({ decoder, count }) => decoder === "parallel" && count > 0);
  const unchecked = parallel
    ? ` Parallel took ${passes(parallel)} and checked nothing: its picture is of another distribution.`
    : "";
  const lines = [
    `Here ${countOf(n, "token")} of a finished picture are drawn again, and the model knows all the others. It can be asked for ` +
      "any place next, so it guesses several at once, each as if the other guesses were not there.",
    "A second pass then tests them in order, as SJD does: the first rejected one is redrawn and those behind it are dropped. So " +
      `the distribution stays exactly vanilla AR's. Shown is pass ${lane.steps[at].nfe}, with ${most} accepted.`,
    "The first guess needs no test, since nothing was guessed before it: either pass makes at least one token final, so that there " +
      `are never more passes than tokens, here ${bound}. It took ${passes(lane)}.${unchecked}`,
  ];
  const cell = accepted[at].at(-1)?.cell ?? lane.order[lane.steps[at].after - 1];
  return { step: at + 1, cell, lines };
}
