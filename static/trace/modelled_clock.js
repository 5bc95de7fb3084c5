// Another machine's clock: what the same passes would cost there. A pass costs a + b × rows: a for
// any window, and b for each row of it. A pass of the drafter costs d.

import { countOf, lastOf, percent } from "../numbers.js";
import { finishers } from "./replay.js";

/**
 * Costs of two machines by their peak figures (the roofline), in seconds: a is the time to read the
 * memory once, and b the time to compute a row. For 1.3 billion weights of 2 bytes (Janus-Pro 1B) a
 * row is 2 × 1.3 GFLOP, and guidance doubles that. Laptop: 256 GB/s and 23 TFLOP/s. Large: 3.35
 * TB/s and 989 TFLOP/s, with 80 GB filled by the weights and the caches of 340 pictures (576 tokens
 * of 24 layers, 2,048 wide, guidance twice: 0.23 GB each), on average half full. The pictures
 * advance together, each with its own window.
 */
const MACHINES = {
  laptop: { pass: 2.6 / 256, row: (2 * 2.6e9) / 23e12 },
  large: { pass: (2.6 + 77.4 / 2) / 3350, row: (340 * 2 * 2.6e9) / 989e12 },
};

/**
 * Fit the costs that explain a race's measured steps best, in seconds. a and b are a least-squares
 * fit, neither negative, of forward, verification and cache time against rows, over all passes of
 * all lanes. d is the mean time of the drafter's passes, 0 if there were none. `explained` is R
 * squared, and `error` is the mean relative error of the lanes' seconds; both are null if they
 * cannot be computed.
 * @param {Lane[]} lanes @returns {Fit}
 */
export function fitCosts(lanes) {
  const steps = lanes.flatMap((lane) => lane.steps);
  const points = steps.map(({ rows, split: [forward, verify, cache] }) => ({
    rows,
    time: forward + verify + cache,
  }));
  /** @param {(point: { rows: number, time: number }) => number} of */
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / (points.length || 1);
  const rows = mean((point) => point.rows);
  const time = mean((point) => point.time);
  const variance = mean((point) => (point.rows - rows) ** 2);
  const covariance = mean((point) => (point.rows - rows) * (point.time - time));
  let row = variance ? Math.max(0, covariance / variance) : 0;
  if (time < row * rows) row = mean((point) => point.rows * point.time) / (variance + rows ** 2);
  const pass = Math.max(0, time - row * rows);
  const passes = steps.reduce((sum, step) => sum + step.drafter, 0);
  const drafting = steps.reduce((sum, step) => sum + (step.drafter ? step.split[3] : 0), 0);
  const costs = { pass, row, drafter: passes ? drafting / passes : 0 };
  const spread = mean((point) => (point.time - time) ** 2);
  const missed = mean((point) => (point.time - pass - row * point.rows) ** 2);
  const measured = lanes.filter(({ steps: own }) => own.length && lastOf(own).seconds > 0);
  const errors = measured.map((lane) => {
    const { seconds } = lastOf(lane.steps);
    return Math.abs(lastOf(modelledSeconds(lane, costs)) - seconds) / seconds;
  });
  return {
    costs,
    passes: points.length,
    windows: variance > 0,
    explained: spread ? 1 - missed / spread : null,
    error: errors.length ? errors.reduce((sum, error) => sum + error, 0) / errors.length : null,
  };
}

// Return a lane's clock after each of its steps, in seconds, rounded to microseconds as measured
// ones are.
/** @param {Lane} lane @param {Costs} costs */
function modelledSeconds({ steps }, { pass, row, drafter }) {
  let seconds = 0;
  return steps.map((step) => {
    seconds += pass + row * step.rows + drafter * step.drafter;
    return Math.round(1e6 * seconds) / 1e6;
  });
}

/**
 * Return the machines to choose from, the fitted one first. On each machine the cost of a drafter's
 * pass has the same ratio to a.
 * @param {Fit} fit @returns {Preset[]}
 */
export function presetsOf({ costs, passes, windows, explained, error }) {
  const share = costs.pass ? costs.drafter / costs.pass : 0;
  /** @param {{ pass: number, row: number }} costs */
  const machine = ({ pass, row }) => ({ pass, row, drafter: share * pass });
  const good = [
    explained !== null && `explain ${percent(explained, 1)} of the variance of the passes' times`,
    error !== null && `miss the lanes' seconds by ${percent(error, 1)} on average`,
  ].filter(Boolean);
  const fitted = `These costs are fitted by least squares to the ${passes} passes of this race. They ${good.join(", and ")}.`;
  const unknown = windows
    ? ""
    : " All windows had the same size, so b, the cost of a row, is unknown.";
  return [
    {
      name: "fitted",
      title: "This machine",
      costs,
      words: good.length ? fitted + unknown : "Nothing has been measured yet.",
    },
    {
      name: "laptop",
      title: "Laptop GPU",
      costs: machine(MACHINES.laptop),
      words:
        "A model of 1.3 billion weights on a GPU of 256 GB/s and 23 TFLOP/s (peak figures). Reading the weights takes " +
        "10 ms, and computing a row takes 0.23 ms. Rows cost little: 45 rows cost as much as reading the weights.",
    },
    {
      name: "large",
      title: "Large GPU, memory full",
      costs: machine(MACHINES.large),
      words:
        "A model of 1.3 billion weights on a GPU of 3.35 TB/s and 989 TFLOP/s (peak figures). It draws 340 pictures at " +
        "once, as many as fit in 80 GB. Reading the memory takes 12 ms, once for all pictures. Computing one row of " +
        "every picture takes 1.8 ms.",
    },
    {
      name: "free",
      title: "Rows cost nothing",
      costs: { ...costs, row: 0 },
      words: "A pass costs the same for any window, as in papers that count passes.",
    },
  ];
}

/**
 * Set the modelled clock of all lanes, after every step and at the end so far.
 * @param {Lane[]} lanes @param {Costs} costs
 */
export function modelLanes(lanes, costs) {
  for (const lane of lanes) {
    const seconds = modelledSeconds(lane, costs);
    lane.steps.forEach((step, k) => (step.modelled = seconds[k]));
    lane.modelled = seconds.at(-1) ?? 0;
  }
}

/** @param {number} ratio */
const times = (ratio) => `${ratio.toFixed(ratio < 10 ? 2 : 1)}×`;

/**
 * Say who wins on the modelled clock, and which lanes lose to vanilla AR and why.
 * @param {Lane[]} lanes
 */
export function verdictOf(lanes) {
  const done = finishers(lanes, "modelled").map((i) => lanes[i]);
  const ar = done.find(({ decoder }) => decoder === "ar");
  if (!done.length || !(done[0].modelled > 0)) return "No lane has finished yet.";
  if (!ar || done.length === 1) return `On this clock ${done[0].title} is fastest.`;
  /** @param {Lane} lane */
  const speed = (lane) => `${lane.title} at ${times(ar.modelled / lane.modelled)}`;
  const losers = done.filter(({ modelled }) => modelled > ar.modelled);
  const best =
    done[0] === ar
      ? `On this clock no lane beats ${ar.title}.`
      : `On this clock ${done[0].title} is fastest: ${times(ar.modelled / done[0].modelled)} the speed of ${ar.title}.`;
  if (!losers.length) return `${best} No lane is slower than ${ar.title}.`;
  const worst = lastOf(losers);
  const last = lastOf(worst.steps);
  const rows = worst.steps.reduce((sum, step) => sum + step.rows, 0) / worst.count;
  const compression = last.reached / last.passes;
  const cost = worst.modelled / last.passes / (ar.modelled / lastOf(ar.steps).passes);
  const window = countOf(Math.round(rows), "row");
  return (
    `${best} Slower than ${ar.title}: ${losers.map(speed).join(", ")} its speed. ${worst.title} commits ` +
    `${compression.toFixed(2)} tokens a pass, but each of its passes, of ${window} on average` +
    `${last.drafted ? " and with its drafts" : ""}, costs ${cost.toFixed(2)} times as much as a pass of ${ar.title}.`
  );
}
