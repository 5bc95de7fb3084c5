// The tour's chapter on a race whose rows are drawn at once.

import { chance, countOf, lastOf } from "../numbers.js";
import { against, bestStep, summary } from "./examples.js";

/** @type {Entry} */
export const ROWS = {
  part: "rows",
  title: "Draw several rows at once",
  reference:
    "He et al., ZipAR: Parallel Auto-regressive Image Generation through Spatial Locality, ICML 2025 (arXiv 2412.04062), Sec. 3.2.",
  decoders: ["zipar"],
  beside: ["ar"],
};

/** How many tokens a row is behind the one above. @param {Lane} lane */
const lag = ({ steps }) => steps.findIndex(({ tokens }) => tokens > 1);

// The price of a lane, once it is known.
/** @param {Lane} lane */
function price({ steps }) {
  const { tests, shifts } = lastOf(steps);
  return tests ? ` and a shift of ${chance(shifts / tests)}` : "";
}

/**
 * Shows the pass in the middle of those with the most open rows, and a token in the middle of its
 * front.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function drawRowsAtOnce(lane, race) {
  const { steps } = lane;
  const most = steps[bestStep(lane, (i) => steps[i].tokens)].tokens;
  const widest = [...steps.keys()].filter((i) => steps[i].tokens === most);
  const at = widest[widest.length >> 1];
  const cell = lane.order[(steps[at].before + steps[at].after) >> 1];
  const others = race.lanes.filter(({ decoder, count }) => decoder === "zipar" && count > 0);
  const slower = others.find((other) => lag(other) > lag(lane));
  const patient = slower
    ? ` With s = ${lag(slower)} it takes ${countOf(lastOf(slower.steps).passes, "pass", "passes")}${price(slower)}.`
    : "";
  const lines = [
    "So far every lane wrote in reading order, from one frontier. ZipAR begins a row once the row above is s tokens ahead, here " +
      `${lag(lane)}, and then each pass writes one token of every open row. The front is a diagonal.`,
    `Nothing is drafted and nothing is tested. At pass ${steps[at].nfe} it wrote ${countOf(most, "token")}, and none of them could see ` +
      "what the rows above had still to write. Where a picture depends on that, its rows do not fit: look for the seams.",
    `${summary(lane)}${price(lane)}${against(race, "ar")}.${patient} The shift is measured after the race, in one pass over the finished picture: how far (TV) ` +
      "each token was drawn from the model's p given all before it.",
  ];
  const frames = [0.25, 0.5, 1].map((share) => {
    const step = Math.max(1, Math.round(share * steps.length));
    const { nfe, tokens, after } = steps[step - 1];
    const words = `Pass ${nfe} writes ${countOf(tokens, "token")}: ${after} are there.`;
    /** @type {Change} */
    const view = { clock: "passes", layer: "picture", playing: false, t: nfe };
    return { words, view };
  });
  return { step: at + 1, cell, lines, replay: { title: "Follow the front", frames } };
}
