// The tour's chapters on a race whose rows are drawn at once.

import { chance, countOf, lastOf } from "../numbers.js";
import { against, bestStep, summary } from "./examples.js";

/** @type {Entry} */
export const ROWS = {
  part: "rows",
  title: "Draw several rows at once",
  say: "Point at the diagonal: that is the front. Nothing is tested here, so let the hall look for seams between rows.",
  reference:
    "He et al., ZipAR: Parallel Auto-regressive Image Generation through Spatial Locality, ICML 2025 (arXiv 2412.04062), Sec. 3.2.",
  decoders: ["zipar"],
  beside: ["ar"],
};

/** @type {Entry} */
export const ROLLING = {
  part: "rows",
  title: "Guess in every row",
  say: "This is ZipAR's order, with drafts and a test in each row. A row still does not see what the rows above it have yet to write.",
  reference:
    "Liao et al., PJD, CVPR 2026 (arXiv 2606.05703); docs/decoders.md says why each row keeps its distribution.",
  decoders: ["rows"],
  beside: ["ar", "zipar"],
  also: [
    {
      decoder: "auto-correct",
      words:
        "Auto-correct guesses in one row at a time, for a fixed number of passes. Each token is corrected by itself, and none is thrown away because an earlier one was wrong. " +
        "A row sees all rows above it, but its last tokens were drawn before the ones to their left were final.",
    },
  ],
};

/** Return how many tokens a row stays behind the row above. @param {Lane} lane */
const lag = ({ steps }) => steps.findIndex(({ tokens }) => tokens > 1);

// Write the mean shift of a lane, once it is known.
/** @param {Lane} lane */
function price({ steps }) {
  const { tests, shifts } = lastOf(steps);
  return tests ? ` with a shift of ${chance(shifts / tests)}` : "";
}

/**
 * Show a pass that committed tokens in the most rows: the middle one, if there are several. Choose
 * a token in the middle of the pass's front.
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
    ? ` With s = ${lag(slower)} ZipAR took ${countOf(lastOf(slower.steps).passes, "pass", "passes")}${price(slower)}.`
    : "";
  const lines = [
    `So far every lane wrote in reading order. ZipAR begins a row once the row above is s = ${lag(lane)} tokens ahead. ` +
      "Each pass then writes one token in every open row, so the front is a diagonal.",
    `Nothing is drafted or tested. At pass ${steps[at].nfe} ZipAR wrote ${countOf(most, "token")}, and none could see ` +
      "what the rows above had yet to write. Where a picture depends on that, its rows do not fit: look for the seams.",
    `In total: ${summary(lane)}${price(lane)}${against(race, "ar")}.${patient} The shift is measured after the race, in one pass over the picture: ` +
      "the mean TV between a token's distribution and p given all earlier tokens.",
  ];
  const frames = framesAlong(
    lane,
    ({ nfe, tokens, after }) =>
      `Pass ${nfe} writes ${countOf(tokens, "token")}: ${countOf(after, "token")} so far.`,
  );
  return { step: at + 1, cell, lines, replay: { title: "Follow the front", frames } };
}

/**
 * Show the pass that committed the most tokens, and choose the middle one of its tokens.
 * @param {Lane} lane @param {Race} race @returns {Scene}
 */
export function guessInEveryRow(lane, race) {
  const { steps } = lane;
  /** @param {Step} step */
  const cellsOf = ({ first, before, after }) =>
    Array.from({ length: after - before }, (_, i) => lane.row(first + i).cell);
  /** Count the rows of the picture in which a step committed tokens. @param {Step} step */
  const rowsIn = (step) =>
    new Set(cellsOf(step).map((cell) => Math.floor(cell / race.grid[1]))).size;
  const at = bestStep(lane, (i) => steps[i].tokens);
  const { nfe, rows, tokens } = steps[at];
  const cells = cellsOf(steps[at]);
  const lines = [
    "ZipAR has no guesses, and SJD has one window of them. Here every open row has its own window: " +
      `pass ${nfe} read ${countOf(rows, "token")} and wrote ${tokens} in ${countOf(rowsIn(steps[at]), "row")} of the picture. ` +
      "An easy row catches up with the row above and waits; a hard row holds up the rows below.",
    "Each row tests its guesses as SJD does, so each token is an exact sample of the model's distribution given what its row saw. " +
      "The only cost: a row cannot see what the rows above have yet to write.",
    `In total: ${summary(lane)}${price(lane)}${against(race, "ar")}${besideZipar(race)}.`,
  ];
  const frames = framesAlong(
    lane,
    (step) =>
      `Pass ${step.nfe} writes ${countOf(step.tokens, "token")} in ${countOf(rowsIn(step), "row")}: ${countOf(step.after, "token")} so far.`,
  );
  return {
    step: at + 1,
    cell: cells[cells.length >> 1],
    lines,
    replay: { title: "Follow the rows", frames },
  };
}

/** Write the passes of ZipAR's lanes. @param {Race} race */
const besideZipar = ({ lanes }) =>
  lanes
    .filter(({ decoder, count }) => decoder === "zipar" && count > 0)
    .map(
      (lane) =>
        `; ZipAR with s = ${lag(lane)} took ${countOf(lastOf(lane.steps).passes, "pass", "passes")}${price(lane)}`,
    )
    .join("");

/**
 * Return views of a lane after a quarter, a half and all of its steps.
 * @param {Lane} lane @param {(step: Step) => string} inWords @returns {Replay["frames"]}
 */
function framesAlong({ steps }, inWords) {
  return [0.25, 0.5, 1].map((share) => {
    const step = steps[Math.max(1, Math.round(share * steps.length)) - 1];
    /** @type {Change} */
    const view = { clock: "passes", layer: "picture", playing: false, t: step.nfe };
    return { words: inWords(step), view };
  });
}
