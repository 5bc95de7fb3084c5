// The chapters on vanilla AR and on the rules that keep its distribution, and on why they are slow.

import {
  capital,
  chance,
  countOf,
  dividing,
  inSeconds,
  inTimes,
  isKnown,
  lastOf,
  percent,
  versus,
} from "../numbers.js";
import { DID } from "../trace/explain.js";
import { differing } from "../trace/layers.js";
import { laneAt } from "../trace/replay.js";
import {
  against,
  best,
  bestStep,
  isInside,
  isReadable,
  lastCell,
  median,
  mostAccepted,
  racedIndex,
  rowsOf,
  summary,
} from "./examples.js";

// Show a pass in the middle of the picture at which the model was about as sure as usual.
/** @param {Lane} lane @param {Race} race */
export function oneAtATime(lane, race) {
  const rows = rowsOf(lane);
  const usual = median(rows.map((row) => row.top1));
  const middle = rows.slice(Math.floor(rows.length / 4), Math.ceil((3 * rows.length) / 4));
  const shown =
    best(middle.length ? middle : rows, (row) => -Math.abs(row.top1 - usual)) ?? rows[0];
  const share = shown.top.find(([token]) => token === shown.token);
  const seconds = inSeconds(lastOf(lane.steps).seconds);
  const device = race.snapshot.recorded ? "the machine named above" : "this device";
  const codes = race.snapshot.codes.toLocaleString("en");
  const drawn = `token ${shown.token} was drawn${share ? `, with probability ${chance(share[1])}` : ""}`;
  const lines = [
    "A picture is a grid of tokens: small squares. Vanilla AR runs the whole model once for every token; " +
      `one such run is a pass. Here the picture took ${seconds} s on ${device}: ${summary(lane)}.`,
    `A pass gives the next token's distribution p: how probable each of the ${codes} codes is. One code is drawn from p, ` +
      "and only then can the next pass begin.",
    `At pass ${shown.pass} the likeliest code had probability ${chance(shown.top1)}; ${drawn}.`,
  ];
  return { step: shown.at + 1, cell: shown.cell, lines };
}

// Show the pass that repeated the most guesses.
/** @param {Lane} lane */
export function guessInParallel(lane) {
  const verified = [DID.ACCEPTED, DID.RESAMPLED];
  const tested = rowsOf(lane).filter((row) => row.draft !== null && verified.includes(row.status));
  const repeated = tested.filter(({ status }) => status === DID.ACCEPTED);
  const { at, here, cell } = mostAccepted(lane);
  const step = lane.steps[at];
  const widest = Math.max(...lane.steps.map(({ touched }) => touched));
  const share = tested.length ? ` (${percent(repeated.length, tested.length)})` : "";
  const lines = [
    `Jacobi decoding guesses tokens ahead; its guesses are called drafts. One pass over a window of drafts gives the distributions of up to ${widest} ` +
      "positions at once. Such a pass can be cheap: a GPU spends most of it on reading the model's weights, once for all positions.",
    "Every draft is drawn again from its newer distribution and stays only if the second draw repeats it. The flatter the " +
      `distributions, the rarer that is: here ${repeated.length} of the ${tested.length} drafts tested were repeated${share}.`,
    `The board shows Jacobi's best pass, pass ${step.nfe}, in which the second draw repeated ${countOf(here.length, "draft")}. In total: ${summary(lane)}.`,
  ];
  return { step: at + 1, cell, lines };
}

// Show the end of the race beside vanilla AR: two pictures, and how many tokens are equal.
/** @param {Lane} lane @param {Race} race */
export function sameNoise(lane, race) {
  const ar = racedIndex(race, "ar");
  const [differ, compared] =
    ar < 0 ? [0, 0] : differing(lane, laneAt(lane, lane.count), race.lanes[ar]);
  const equal = `${compared - differ} of ${countOf(compared, "token")} are equal`;
  const found = differ
    ? `here ${equal}, and the others differ by rounding`
    : `here ${equal}, so both lanes drew the same picture`;
  const lines = [
    "Jacobi redraws every draft with fresh random numbers, so it loses good drafts by chance. Fixed point keeps one noise " +
      "for each place: the one that vanilla AR draws with. A distribution that hardly changed then gives the same token again.",
    "A draft becomes final once the same noise repeats it with only final tokens before it. It is then the " +
      `token that vanilla AR draws there${compared ? `: ${found}` : ""}.`,
    `In total: ${summary(lane)}${against(race, "ar")}.`,
  ];
  if (!compared) return { cell: null, lines };
  /** @param {string} layer */
  const at = (layer) => ({ layer, against: ar, live: true });
  const same = differ ? `They differ in ${countOf(differ, "token")}.` : "They differ nowhere.";
  const frames = [
    { words: "Two lanes, two pictures.", view: at("picture") },
    { words: same, view: at("differs") },
    { words: `${capital(equal)}.`, view: at("picture") },
  ];
  return { cell: null, lines, replay: { title: "Compare the two pictures", frames } };
}

// Count the guesses that a lane redrew before their test, and those that came out unchanged.
/** @param {LifeRow[]} rows */
function keptOf(rows) {
  const redrawn = rows.filter((row) => !row.committed && row.draft !== null);
  return { kept: redrawn.filter((row) => row.draft === row.token).length, all: redrawn.length };
}

// Say what share of its guesses SCD kept, beside SJD's.
/** @param {Kept} scd @param {Kept} sjd */
function keptInWords(scd, sjd) {
  if (!scd.all) return "";
  const own = percent(scd.kept, scd.all);
  if (!sjd.all) return `: here ${own} did`;
  const more = scd.kept * sjd.all > sjd.kept * scd.all;
  return `${more ? ": here" : ". Not in this race:"} ${own} stayed, and ${percent(sjd.kept, sjd.all)} in SJD`;
}

// Show the pass that accepted the most guesses.
/** @param {Lane} lane @param {Race} race */
export function redrawCoupled(lane, race) {
  const rows = rowsOf(lane);
  const sjd = race.lanes[racedIndex(race, "sjd")];
  const share = keptInWords(keptOf(rows), keptOf(sjd ? rowsOf(sjd) : []));
  const { at, here, cell } = mostAccepted(lane);
  const lines = [
    "SJD uses fresh noise to redraw every draft that a pass left untested, so it loses many that could have " +
      `stayed. SCD redraws them with the same noise, so more of them stay as they are${share}.`,
    "The test is still SJD's, min(1, p / q), with fresh numbers. A draft may depend on earlier drafts at its own place, but not on the " +
      "number that tests it. So the picture's distribution stays exactly vanilla AR's.",
    `The board shows SCD's best pass, pass ${lane.steps[at].nfe}, which accepted ${countOf(here.length, "draft")}. In total: ${summary(lane)}${against(race, "sjd")}.`,
  ];
  return { step: at + 1, cell, lines };
}

// Show a step that accepted some drafts and rejected the next: the rejected cell, and why.
/** @param {Lane} lane @param {Race} race */
export function guessWithADistribution(lane, race) {
  const rejected = rowsOf(lane).filter(
    (row) => row.status === DID.RESAMPLED && row.draft !== null && row.ahead >= 2,
  );
  const readable = rejected.filter((row) => isKnown(row.uniform) && isReadable(row));
  const shown = best(readable.length ? readable : rejected, (row) => row.ahead);
  const rule =
    "A draft x stays with probability min(1, p(x) / q(x)). It was drawn from q, the model's distribution in an earlier pass; p is the model's now. " +
    "The first rejected draft is replaced by a draw from max(p − q, 0). So the picture's distribution stays vanilla AR's.";
  const total = `In total: ${summary(lane)}${against(race, "ar")}.`;
  if (!shown) return { step: lane.count, cell: null, lines: [rule, total] };
  const { p, q, uniform, acceptance, pass, draft, token } = shown;
  let why = "";
  /** @type {DraftOdds | null} */
  let odds = null;
  if (p !== null && q !== null && uniform !== null && acceptance !== null) {
    const [ofP, ofQ] = dividing(p, q, acceptance);
    const test = versus(uniform, acceptance);
    why = `: p gave it ${ofP}, q ${ofQ}, and the number drawn was not below their ratio, ${test}`;
    odds = { p, q, uniform };
  }
  const middle =
    `Pass ${pass} accepted ${countOf(shown.ahead, "draft")} and rejected the next, token ${draft}${why}. ` +
    `Token ${token} took its place.`;
  const lines = [middle, rule, total];
  return { step: shown.at + 1, cell: shown.cell, lines, test: odds };
}

// Say whether most drafts pass, from the mean acceptance as it is shown.
/** @param {string} mean */
function fateOf(mean) {
  if (Number(mean) === HALF) return "half of the drafts pass";
  return Number(mean) < HALF ? "most drafts fail" : "most drafts pass";
}

const HALF = 0.5; // below it a guess fails more often than not

// Show a cell where both distributions are flat and still far apart, if there is one. Fresh
// guesses, whose q is certain, are left out.
/** @param {Lane} lane */
export function whyHard(lane) {
  const committed = rowsOf(lane).filter((row) => row.committed);
  const tested = committed.flatMap(({ cell, draft, uniform, tv, top1, top1Draft }) => {
    if (draft === null || uniform === null || tv === null || top1Draft === null) return [];
    return top1Draft < 0.999 ? [{ cell, tv, top1, top1Draft }] : [];
  });
  const top1 = median(committed.map((row) => row.top1));
  const half = `For half of the tokens the likeliest code has probability ${chance(top1)}`;
  const flat =
    top1 < HALF
      ? `${half} or less: many codes would do, and even the best guess is mostly wrong.`
      : `${half} or more: there the best guess is mostly right.`;
  if (!tested.length) return { layer: "top1", step: lane.count, cell: null, lines: [flat] };
  const shown =
    best(tested, ({ tv, top1, top1Draft }) => tv * (1 - top1) * (1 - top1Draft)) ?? tested[0];
  const mean = tested.reduce((sum, row) => sum + 1 - row.tv, 0) / tested.length;
  const apart = median(tested.map((row) => row.tv));
  const isFar = apart >= HALF;
  const flatApart = "Two flat distributions share little: small differences add up. ";
  const why = isFar && top1 < HALF ? flatApart : "";
  const isYet = shown.tv >= HALF && Math.max(shown.top1, shown.top1Draft) < HALF;
  const lines = [
    flat,
    `${why}The draft's distribution q and the model's p differ by a median TV of ${isFar ? "" : "only "}${chance(apart)}. ` +
      `An exact rule accepts a draft with probability 1 − TV. The mean of that over all tested drafts is ${chance(mean)}: ${fateOf(chance(mean))}.`,
    `At the chosen token the top-1 of p is ${chance(shown.top1)} and that of q is ${chance(shown.top1Draft)}, ${isYet ? "yet" : "and"} their TV is ${chance(shown.tv)}.`,
  ];
  return { layer: "tv", step: lane.count, cell: shown.cell, lines };
}

// Show a later candidate that was accepted: inside the picture if possible, and in a step that had
// a rejection and kept many drafts after it.
/** @param {Lane} lane @param {Race} race */
export function treeAndContinuation(lane, race) {
  const rows = rowsOf(lane);
  const ends = lane.steps.map(() => ({ rejected: false, tested: 0, kept: 0 }));
  for (const { at, committed, status, draft, token, uniform } of rows) {
    if (status === DID.RESAMPLED) ends[at].rejected = true;
    if (committed || draft === null || !isKnown(uniform)) continue;
    ends[at].tested += 1;
    ends[at].kept += Number(draft === token);
  }
  const later = rows.filter(
    ({ status, candidates }) => status === DID.ACCEPTED && candidates.length > 1,
  );
  const shown = best(later, (row) => {
    const { rejected, kept } = ends[row.at];
    return (isInside(row, race) ? 1000 : 0) + (rejected ? 500 : 0) + kept;
  });
  const at = shown ? shown.at : bestStep(lane, (i) => (ends[i].rejected ? ends[i].kept : -1));
  const lines = [
    `Draft a tree: the first positions have several candidates each, and the first candidate to pass is taken. ${aboutTree(later, shown)}`,
    `Do not stop at a rejection: a draft after it stays with probability min(1, p / q). ${aboutEnd(ends[at], ends)}`,
    `In total: ${summary(lane)}${against(race, "sjd")}. The distribution is exactly vanilla AR's.`,
  ];
  return { step: at + 1, cell: shown ? shown.cell : lastCell(lane, at), lines };
}

/** @param {LifeRow[]} later @param {LifeRow | null} shown */
function aboutTree(later, shown) {
  if (!shown) return "This race has no record of a later candidate that was taken.";
  const { candidates, pass } = shown;
  const n = candidates.length;
  const last = lastOf(candidates);
  const failed = n === 2 ? "the first candidate" : `the first ${n - 1} candidates`;
  const passed = `candidate ${n} passed here (${versus(last.uniform, last.acceptance)}) after ${failed} had failed`;
  return `At pass ${pass} ${passed}. In this race a later candidate was taken ${inTimes(later.length)}.`;
}

/** @param {StepEnd} here @param {StepEnd[]} ends */
function aboutEnd(here, ends) {
  const tested = ends.reduce((sum, end) => sum + end.tested, 0);
  const kept = ends.reduce((sum, end) => sum + end.kept, 0);
  if (!tested) return "This race has no record of a draft that was tested after a rejection.";
  const all = `in the whole race ${percent(kept, tested)} of such drafts stayed`;
  if (!here.rejected || !here.tested) return `${capital(all)}.`;
  return `At this pass ${here.kept} of ${here.tested} stayed, and ${all}.`;
}
