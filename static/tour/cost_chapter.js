// The chapter on what a pass costs, on the modelled clock.

import { countOf, inMilliseconds } from "../numbers.js";
import { fitCosts } from "../trace/modelled_clock.js";

// Show the end of the race on another machine's clock, which visitors can change.
/** @param {unknown} _ @param {Race} race */
export function whenItLoses(_, race) {
  const { costs } = fitCosts(race.lanes);
  const a = `${inMilliseconds(costs.pass)} ms`;
  const b = `${inMilliseconds(costs.row)} ms`;
  const rows = Math.max(...race.lanes.flatMap(({ steps }) => steps.map((step) => step.rows)));
  const ratio = ((costs.pass + rows * costs.row) / (costs.pass + costs.row)).toFixed(1);
  const times = ratio === "1.0" ? "as much" : `${ratio} times as much`;
  const lines = [
    "Speculation guesses tokens and tests them together. It makes fewer passes, each over a wider window. A pass that commits 4 tokens " +
      "wins if it takes less time than 4 passes of vanilla AR, and loses if it takes more.",
    `The cost of a pass is a + b × rows. In this race a is ${a} and b is ${b}: a pass of ` +
      `${countOf(rows, "row")} costs ${times} as a pass of one row.`,
    "The clock now models a large GPU that draws 340 pictures at once. Choose another machine or move b: the " +
      "replay, the places and the finish follow.",
  ];
  return { cell: null, costs: { ...costs, preset: "large" }, lines };
}
