// The questions of the tour's last chapter. The answer to each is chosen on the board.

import { asTokens, chance, countOf, lastOf } from "../numbers.js";
import { DID, lifeOf, wasSaved } from "../trace/explain.js";
import { layerOf, STATUSES } from "../trace/layers.js";
import { racedIndex, rowsOf } from "./examples.js";

/** @type {Entry} */
export const SELF_TEST = {
  title: "Test yourself",
  say: "Give the hall half a minute for each question before you choose anything on the board.",
  reference: "",
  decoders: ["sjd", "scd", "gsd", "lantern", "sjd-pac"],
  beside: ["gsd", "sjd-pac"],
};
const ASKED = 8; // of those that a race can answer
const NEAR = 0.05; // a TV below it is agreement
const FAR = 0.8; // one above it is not
const SURE = 0.9; // a top-1 above it

/** Show the end of the race. @param {Lane} _ @param {Race} race @returns {Scene} */
export function askQuestions(_, race) {
  const lines = [
    "Answer on the board: choose a token, a clock or a layer, then press Check. Nothing is stored, and you can leave at any question.",
  ];
  return { cell: null, lines, questions: questionsOf(race) };
}

/**
 * Return the first questions of the pool that this race can answer. They are about the lanes that
 * the chapter shows.
 * @param {Race} race @returns {Question[]}
 */
export function questionsOf(race) {
  const names = [
    SELF_TEST.decoders.find((name) => racedIndex(race, name) >= 0) ?? "",
    ...SELF_TEST.beside,
  ];
  const indices = new Set(names.map((name) => racedIndex(race, name)).filter((i) => i >= 0));
  const lanes = race.lanes.filter((lane, i) => indices.has(i) && lane.state === "finished");
  const pool = [
    ...ofLanes(lanes, indices),
    ...ofLayers(),
    ...ofClocks(lanes),
    ...ofTokens(lanes, indices),
  ];
  return pool.slice(0, ASKED);
}

/**
 * Return a question that is answered by choosing a token, if a lane has a token that is a right
 * answer.
 * @param {Lane[]} lanes @param {Set<number>} indices @param {string} ask
 * @param {(row: LifeRow, lane: Lane) => boolean} isRight
 * @param {(row: LifeRow, lane: Lane) => string} reason
 * @returns {Question[]}
 */
function ofToken(lanes, indices, ask, isRight, reason) {
  const has = lanes.some((lane) => rowsOf(lane).some((row) => row.committed && isRight(row, lane)));
  /** @param {Raced} state @returns {Answer | null} */
  function judge({ race, cell }) {
    if (!cell?.pinned || !indices.has(cell.lane)) return null;
    const lane = race.lanes[cell.lane];
    const row = lastOf(lifeOf(lane, cell.cell, lane.count));
    return row ? { right: isRight(row, lane), words: reason(row, lane) } : null;
  }
  return has ? [{ ask, judge }] : [];
}

/** @param {LifeRow} row */
function fateOfDraft({ status, draft, token, pass }) {
  if (status === DID.RESAMPLED)
    return `draft ${draft} was rejected at pass ${pass}, and token ${token} was drawn in its place`;
  if (status === DID.ACCEPTED) return `draft ${draft} was accepted at pass ${pass}`;
  return `token ${token} is ${STATUSES[status].name}, drawn at pass ${pass} without a draft to test`;
}

/** @param {LifeRow} row */
const apartInWords = ({ tv }) =>
  tv === null ? "no draft was tested here, so there is no q" : `TV(p, q) is ${chance(tv)} here`;

/** @param {Lane[]} lanes @param {Set<number>} indices @returns {Question[]} */
function ofTokens(lanes, indices) {
  /**
   * @param {string} ask @param {(row: LifeRow, lane: Lane) => boolean} isRight
   * @param {(row: LifeRow, lane: Lane) => string} reason
   */
  const one = (ask, isRight, reason) => ofToken(lanes, indices, ask, isRight, reason);
  return [
    ...one(
      "Choose a token that was drawn in place of a rejected draft.",
      ({ status }) => status === DID.RESAMPLED,
      fateOfDraft,
    ),
    ...one(
      `Choose a token where draft and model nearly agreed: TV(p, q) below ${NEAR}.`,
      ({ tv, draft }) => tv !== null && draft !== null && tv < NEAR,
      apartInWords,
    ),
    ...one(
      "Choose a token that p / q alone would have rejected, but its group or neighbours saved.",
      (row, lane) => wasSaved(lane.rule, row),
      (row, lane) =>
        wasSaved(lane.rule, row)
          ? `the draft alone had ${chance(row.p)} of p and ${chance(row.q)} of q, and would have been rejected`
          : `${fateOfDraft(row)}, and no group or neighbour saved it`,
    ),
    ...one(
      "Choose a token that was drawn without a draft.",
      ({ status }) => status === DID.FRESH,
      fateOfDraft,
    ),
    ...one(
      `Choose a token where an exact rule accepts drafts with a probability below ${Number((1 - FAR).toFixed(2))}.`,
      ({ tv }) => tv !== null && tv > FAR,
      (row) =>
        `${apartInWords(row)}${row.tv === null ? "" : `, so the acceptance, 1 − TV, is ${chance(1 - row.tv)}`}`,
    ),
    ...one(
      `Choose a token that the model was sure of: top-1 of p above ${SURE}.`,
      ({ top1 }) => top1 > SURE,
      ({ top1 }) => `the likeliest code had probability ${chance(top1)}`,
    ),
  ];
}

/** @param {Lane} lane */
const passesTaken = ({ steps }) => lastOf(steps).passes;

/**
 * Return the questions that are answered by choosing any token of a lane.
 * @param {Lane[]} lanes @param {Set<number>} indices @returns {Question[]}
 */
function ofLanes(lanes, indices) {
  const fewest = Math.min(...lanes.map(passesTaken));
  /** @param {Lane} lane */
  const isChanged = ({ badge }) => badge.startsWith("changed");
  /**
   * @param {string} ask @param {(lane: Lane) => boolean} isRight
   * @param {(lane: Lane) => string} reason
   */
  function one(ask, isRight, reason) {
    const right = lanes.filter(isRight).length;
    if (!right || right === lanes.length) return []; // any lane would do, or none
    return ofToken(
      lanes,
      indices,
      ask,
      (_, lane) => isRight(lane),
      (_, lane) => reason(lane),
    );
  }
  return [
    ...one(
      "Choose any token of the lane that took the fewest passes, among the lanes shown.",
      (lane) => passesTaken(lane) === fewest,
      (lane) =>
        `${lane.title} took ${countOf(passesTaken(lane), "pass", "passes")}, and ` +
        (passesTaken(lane) === fewest
          ? "no lane shown took fewer passes"
          : `another lane shown took only ${fewest}`),
    ),
    ...one(
      "Choose any token of a lane whose pictures do not have the model's distribution.",
      isChanged,
      (lane) => {
        const { tests, shifts } = lastOf(lane.steps);
        const shift = tests ? shifts / tests : 0;
        const price =
          isChanged(lane) && shift ? `: its shift is ${chance(shift)}, ${asTokens(shift)}` : "";
        return `${lane.title} has the badge “${lane.badge}”${price}`;
      },
    ),
  ];
}

/** Ask for the clock on which another lane is first. @param {Lane[]} lanes @returns {Question[]} */
function ofClocks(lanes) {
  /** @param {(lane: Lane) => number} clock */
  const first = (clock) =>
    lanes.reduce((best, lane) => (clock(lane) < clock(best) ? lane : best), lanes[0]);
  /** @param {Lane} lane */
  const secondsOf = ({ steps }) => lastOf(steps).seconds;
  if (lanes.length < 2 || first(secondsOf) === first(passesTaken)) return [];
  const lane = first(secondsOf);
  /** @param {Raced} state @returns {Answer} */
  const judge = ({ clock }) => ({
    right: clock === "seconds",
    words:
      `${lane.title} was first by seconds among the lanes shown, and ${first(passesTaken).title} was first by passes: ` +
      "a pass over a wide window takes longer",
  });
  return [
    { ask: `Choose the clock on which ${lane.title} is first among the lanes shown.`, judge },
  ];
}

/** @returns {Question[]} */
function ofLayers() {
  return [
    {
      ask: "Show the layer that says how far draft and model disagreed.",
      name: "tv",
      why: "is how far apart a draft's p and q are",
    },
    {
      ask: "Show the layer that says how far a test moved the distribution.",
      name: "shift",
      why: "is the TV between p and the distribution that a test commits from",
    },
  ].map(({ ask, name, why }) => ({
    ask,
    judge: ({ layer }) => ({ right: layer === name, words: `${layerOf(name).title} ${why}` }),
  }));
}
