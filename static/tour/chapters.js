// The tour's chapters: what each says about the race on the board, and the instant that shows it,
// found in the race's own step tables.

import { isFork } from "../board/fork.js";
import { countOf, lastOf } from "../numbers.js";
import { DID } from "../trace/explain.js";
import { laneAt } from "../trace/replay.js";
import { whenItLoses } from "./cost_chapter.js";
import {
  guessInParallel,
  guessWithADistribution,
  oneAtATime,
  redrawCoupled,
  sameNoise,
  treeAndContinuation,
  whyHard,
} from "./exact_chapters.js";
import { racedIndex } from "./examples.js";
import { fillInAPart } from "./filling_chapter.js";
import { drawOn } from "./fork_chapter.js";
import { whatBothShare } from "./overlap_chapter.js";
import { CHAPTERS } from "./outline.js";
import { askQuestions } from "./questions.js";
import { acceptAGroup, acceptANeighbour } from "./relaxed_chapters.js";
import { drawRowsAtOnce, guessInEveryRow } from "./rows_chapter.js";

/** @type {((lane: Lane, race: Race) => Scene)[]} what each chapter of the outline shows and says */
const SCENES = [
  oneAtATime,
  guessInParallel,
  sameNoise,
  guessWithADistribution,
  whatBothShare,
  redrawCoupled,
  whyHard,
  acceptAGroup,
  acceptANeighbour,
  treeAndContinuation,
  whenItLoses,
  drawRowsAtOnce,
  guessInEveryRow,
  fillInAPart,
  drawOn,
  askQuestions,
];

/**
 * Return the tour of a race. `missing` has the chapters whose decoder made no step in the race. A
 * recorded race of the tour (one of `races`) has its own chapters, and places for the chapters of
 * the other recorded races. Without `races`, an infilling has only the chapter on infilling, a fork
 * that on forks, and any other race has all the other chapters.
 * @param {Race} race @param {TourRaces | null} races
 * @returns {Found}
 */
export function tourOf(race, races = null) {
  /** @type {Found["chapters"]} */
  const chapters = [];
  /** @type {Found["missing"]} */
  const missing = [];
  const { infilling } = race.snapshot;
  const own = infilling && (isFork(infilling) ? "fork" : "filling");
  CHAPTERS.forEach((entry, i) => {
    const { title, part = "whole" } = entry;
    const number = i + 1;
    const home = races?.[part];
    const isOwn = own ? part === own : part !== "fork" && part !== "filling";
    const isHere = races ? home === race.snapshot.id : isOwn;
    if (isHere && entry.decoders.some((name) => racedIndex(race, name) >= 0))
      chapters.push(chapterOf(entry, i, race));
    else if (isHere) missing.push({ number, title });
    else if (home) chapters.push({ number, title, elsewhere: home });
  });
  if (chapters.length) chapters.push(yourTurn(lastOf(chapters)));
  return { chapters, missing };
}

/** @param {Entry} entry @param {number} i @param {Race} race @returns {Chapter} */
function chapterOf(entry, i, race) {
  const { title, say, reference, decoders, beside, also = [], fourLanes = false } = entry;
  /** @param {string} name */
  const raced = (name) => racedIndex(race, name);
  const index = decoders.map(raced).find((found) => found >= 0) ?? 0;
  const others = also.filter(({ decoder }) => raced(decoder) >= 0);
  const names = [...beside, ...others.map(({ decoder }) => decoder)];
  const shown = new Set([index, ...names.map(raced)]);
  const hidden = new Set(race.lanes.map((_, lane) => lane).filter((lane) => !shown.has(lane)));
  const scene = SCENES[i](race.lanes[index], race);
  const {
    layer = "picture",
    step,
    cell,
    costs,
    lines,
    replay,
    test = null,
    overlap,
    questions,
  } = scene;
  const chosen = cell === null ? null : { lane: index, cell, pinned: true };
  /** @type {Change} */
  const view = { layer, hidden, cell: chosen, clock: "passes", playing: false };
  if (step === undefined) view.live = true;
  else Object.assign(view, { lane: index, step });
  if (costs) Object.assign(view, { clock: "modelled", costs });
  const frames = step === undefined ? [] : framesOf(race.lanes[index], index, step, layer);
  return {
    number: i + 1,
    title,
    lines: [...lines, ...others.map(({ words }) => words)],
    say,
    reference,
    fourLanes,
    test,
    overlap,
    questions,
    last: false,
    replay: replay ?? { title: "Replay this pass", frames },
    view,
  };
}

// Show a pass in three parts: the drafts before it, its test, and its outcome.
/** @param {Lane} lane @param {number} index @param {number} step @param {string} layer */
function framesOf(lane, index, step, layer) {
  const { first, touched, before, after, nfe } = lane.steps[step - 1];
  const rows = Array.from({ length: touched }, (_, i) => lane.row(first + i));
  /** @param {number} status */
  const count = (status) => rows.filter((row) => row.status === status).length;
  const { length } = laneAt(lane, step - 1).drafts;
  const drafts = length ? `${countOf(length, "draft")} after the frontier` : "no draft yet";
  const accepted = count(DID.ACCEPTED);
  const rejected = count(DID.RESAMPLED);
  const others = rejected ? `, ${rejected} rejected` : "";
  const tested = `${countOf(accepted, "draft")} accepted${others}`;
  const test = accepted + rejected ? tested : "no draft to test";
  /** @param {number} k @param {string} shown @returns {Change} */
  const at = (k, shown) => ({
    clock: "passes",
    layer: shown,
    playing: false,
    lane: index,
    step: k,
  });
  return [
    { words: `Before pass ${nfe}: ${drafts}.`, view: at(step - 1, "picture") },
    { words: `Its test: ${test}.`, view: at(step, "status") },
    { words: `After: ${countOf(after - before, "token")} committed.`, view: at(step, layer) },
  ];
}

// Return the last page, which suggests what to try now. It keeps the lanes of the chapter before
// it, since all lanes would be too many for half a stage.
/** @param {{ number: number, view?: Chapter["view"] }} before @returns {Chapter} */
function yourTurn({ number, view }) {
  const line =
    "You can look at every instant, token and layer of a race, and race any prompt. To begin with:";
  return {
    number: number + 1,
    title: "Your turn",
    lines: [line],
    say: "Take a prompt from the hall: press / to type it, and Enter to race it.",
    reference: "",
    fourLanes: false,
    replay: { title: "", frames: [] },
    last: true,
    view: {
      layer: "picture",
      hidden: view?.hidden ?? new Set(),
      cell: null,
      clock: "passes",
      playing: false,
      live: true,
    },
  };
}
