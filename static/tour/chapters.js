// The tour's chapters: what each says about the race on the board, and the instant that shows it,
// found in the race's own step tables.

import {
  capital,
  chance,
  countOf,
  dividing,
  inMilliseconds,
  inSeconds,
  inTimes,
  isKnown,
  percent,
  versus,
} from "../numbers.js";
import { DID, neededGroup } from "../trace/explain.js";
import { differing } from "../trace/layers.js";
import { fitCosts } from "../trace/modelled_clock.js";
import { laneAt } from "../trace/replay.js";
import { FILLING, fillInAPart } from "./filling_chapter.js";
import outline from "./outline.json" with { type: "json" };

/** @type {((lane: Lane, race: Race) => Scene)[]} what each chapter of the outline shows and says */
const SCENES = [
  ...[oneAtATime, guessInParallel, sameNoise, guessWithADistribution, redrawCoupled, whyHard],
  ...[acceptAGroup, acceptANeighbour, treeAndContinuation, whenItLoses, fillInAPart],
];

/**
 * The tour of a race; `missing` are the chapters whose decoder made no step in it. A race that
 * fills in a part has one chapter; with `elsewhere` either kind has a place for the other's.
 * @param {Race} race @param {boolean} elsewhere
 * @returns {{chapters: Chapter[], missing: {number: number, title: string}[]}}
 */
export function tourOf(race, elsewhere = false) {
  const [chapters, missing] = [[], []];
  const filling = Boolean(race.snapshot.infilling);
  [...outline, FILLING].forEach((entry, i) => {
    const number = i + 1;
    if (filling !== (entry === FILLING)) {
      if (elsewhere) chapters.push({ number, title: entry.title, elsewhere });
      return;
    }
    const raced = ({ decoder, count }) => entry.decoders.includes(decoder) && count > 0;
    if (race.lanes.some(raced)) chapters.push(chapterOf(entry, i, race));
    else missing.push({ number, title: entry.title });
  });
  if (chapters.length) chapters.push(yourTurn(1 + outline.length + Number(elsewhere || filling)));
  return { chapters, missing };
}

/** @returns {Chapter} */
function chapterOf({ title, reference, decoders, beside, fourLanes = false }, i, race) {
  const raced = (name) => race.lanes.findIndex((lane) => lane.decoder === name && lane.count > 0);
  const index = decoders.map(raced).find((found) => found >= 0);
  const shown = new Set([index, ...beside.map(raced)]);
  const hidden = new Set(race.lanes.map((_, lane) => lane).filter((lane) => !shown.has(lane)));
  const scene = SCENES[i](race.lanes[index], race);
  const { layer = "picture", step, cell, costs, lines, replay } = scene;
  const chosen = cell === null ? null : { lane: index, cell, pinned: true };
  const end = { playing: false, live: true };
  /** @type {Change} */
  const instant = costs
    ? { clock: "modelled", costs, ...end }
    : step === undefined
      ? { clock: "passes", ...end }
      : { clock: "passes", playing: false, lane: index, step };
  const frames = step === undefined ? [] : framesOf(race.lanes[index], index, step, layer);
  return {
    ...{ number: i + 1, title, lines, reference, fourLanes, last: false },
    replay: replay ?? { title: "Replay this pass", frames },
    view: { layer, hidden, cell: chosen, ...instant },
  };
}

// A pass in three parts: the drafts that it finds, what its test says of each, and what it leaves.
function framesOf(lane, index, step, layer) {
  const { first, touched, before, after, nfe } = lane.steps[step - 1];
  const rows = Array.from({ length: touched }, (_, i) => lane.row(first + i));
  const count = (status) => rows.filter((row) => row.status === status).length;
  const { window } = laneAt(lane, step - 1);
  const drafts = window ? `${countOf(window, "draft")} behind the frontier` : "no draft yet";
  const [accepted, rejected] = [count(DID.ACCEPTED), count(DID.RESAMPLED)];
  const tested = `${accepted} accepted${rejected ? `, ${countOf(rejected, "draft")} rejected` : ""}`;
  const test = accepted + rejected ? tested : "no draft to test";
  /** @returns {Change} */
  const at = (k, shown) => ({
    ...{ clock: "passes", layer: shown, playing: false },
    ...{ lane: index, step: k },
  });
  return [
    { words: `Before pass ${nfe}: ${drafts}.`, view: at(step - 1, "picture") },
    { words: `Its test: ${test}.`, view: at(step, "status") },
    { words: `After: ${countOf(after - before, "token")} committed.`, view: at(step, layer) },
  ];
}

// The last page: what to try now.
function yourTurn(number) {
  const line =
    "Every instant, token and layer of a race can be looked at, and any prompt raced. To begin with:";
  return {
    ...{ number, title: "Your turn", lines: [line], reference: "" },
    ...{ fourLanes: false, replay: { title: "", frames: [] }, last: true },
    view: {
      ...{ layer: "picture", hidden: new Set(), cell: null },
      ...{ clock: /** @type {Clock} */ ("passes"), playing: false, live: true },
    },
  };
}

/** Every row of a lane with its step, oldest first. @param {Lane} lane @returns {LifeRow[]} */
function rowsOf(lane) {
  return lane.steps.flatMap((step, at) =>
    Array.from({ length: step.touched }, (_, i) => {
      const committed = step.before + i < step.after;
      return Object.assign(lane.row(step.first + i), { at, pass: step.nfe, ahead: i, committed });
    }),
  );
}

/**
 * The item with the highest score, the first of equals; null of none.
 * @template T @param {T[]} items @returns {T | null}
 */
function best(items, score) {
  return items.reduce((top, item) => (top === null || score(item) > score(top) ? item : top), null);
}
const bestStep = (lane, score) => best([...lane.steps.keys()], score);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// Whether a draft makes a good example: drawn from a distribution, no fresh guess, with odds that
// can be read.
const isReadable = ({ p, q }) => isKnown(p, q) && p >= 0.001 && q >= 0.01 && q < 0.999;

// Whether a cell lies where there is a picture to be seen around it.
const isInside = ({ cell }, { cells }) => cell >= 0.3 * cells && cell < 0.85 * cells;

// What a lane did in all: "256 tokens in 117 passes, 2.19 a pass".
function summary(lane) {
  const { reached, passes } = lane.steps.at(-1);
  const each = (reached / passes).toFixed(2);
  return `${countOf(reached, "token")} in ${countOf(passes, "pass", "passes")}, ${each} a pass`;
}

// What another lane that raced too took: "; SJD took 117 passes for 256", or nothing.
function against(race, decoder) {
  const other = race.lanes.find((lane) => lane.decoder === decoder && lane.count > 0);
  if (!other) return "";
  const { passes, after } = other.steps.at(-1);
  return `; ${other.title} took ${countOf(passes, "pass", "passes")} for ${after}`;
}

// A pass in the middle of the picture at which the model was as sure as it usually was.
function oneAtATime(lane, race) {
  const rows = rowsOf(lane);
  const usual = median(rows.map((row) => row.top1));
  const middle = rows.slice(Math.floor(rows.length / 4), Math.ceil((3 * rows.length) / 4));
  const shown = best(middle.length ? middle : rows, (row) => -Math.abs(row.top1 - usual));
  const share = shown.top.find(([token]) => token === shown.token);
  const seconds = inSeconds(lane.steps.at(-1).seconds);
  const device = race.snapshot.recorded ? "the machine named above" : "this device";
  const codes = race.snapshot.codes.toLocaleString("en");
  const drawn = `token ${shown.token} was drawn${share ? `, with ${chance(share[1])}` : ""}`;
  const lines = [
    `Vanilla AR runs the whole model once for every token: ${summary(lane)}, ${seconds} s on ${device}.`,
    `A pass gives the distribution p of the next token alone, over all ${codes} codes. One is drawn, ` +
      "and only then can the next pass begin.",
    `At pass ${shown.pass} the likeliest code had a probability of ${chance(shown.top1)}; ${drawn}.`,
  ];
  return { step: shown.at + 1, cell: shown.cell, lines };
}

// The pass that repeated the most guesses.
function guessInParallel(lane) {
  const verified = [DID.ACCEPTED, DID.RESAMPLED];
  const tested = rowsOf(lane).filter((row) => row.draft !== null && verified.includes(row.status));
  const repeated = tested.filter(({ status }) => status === DID.ACCEPTED);
  const at = bestStep(lane, (i) => repeated.filter((row) => row.at === i).length);
  const here = repeated.filter((row) => row.at === at);
  const [step, widest] = [lane.steps[at], Math.max(...lane.steps.map(({ touched }) => touched))];
  const share = tested.length ? ` (${percent(repeated.length, tested.length)})` : "";
  const lines = [
    `Jacobi decoding guesses ahead: one pass over the window gives the distributions of up to ${widest} positions at once.`,
    "Every guess is drawn again from its newer distribution and stands only if the second draw repeats it. The flatter the " +
      `distributions, the rarer that is: here ${repeated.length} of the ${tested.length} guesses tested were repeated${share}.`,
    `Shown is pass ${step.nfe}, its best, with ${here.length} repeated. In all ${summary(lane)}.`,
  ];
  return { step: at + 1, cell: here.at(-1)?.cell ?? lane.order[step.after - 1], lines };
}

// The end of the race beside vanilla AR's: two pictures, and how many tokens of them are equal.
function sameNoise(lane, race) {
  const ar = race.lanes.findIndex((one) => one.decoder === "ar" && one.count > 0);
  const [differ, compared] =
    ar < 0 ? [0, 0] : differing(lane, laneAt(lane, lane.count), race.lanes[ar]);
  const equal = `${compared - differ} of ${countOf(compared, "token")} equal`;
  const lines = [
    "Jacobi redraws every guess with fresh random numbers, and so loses good guesses by chance. Fixed point keeps one noise " +
      "for each place, vanilla AR's own: a distribution that hardly changed then gives the same token again.",
    "A guess stands once the same noise repeats it, under a distribution that depends on final tokens alone. That token is the " +
      `one that vanilla AR draws there${compared ? `: ${equal}, one picture twice` : ""}.`,
    `In all ${summary(lane)}${against(race, "ar")}.`,
  ];
  if (!compared) return { cell: null, lines };
  const at = (layer) => ({ layer, against: ar, live: true });
  const same = `Where they differ: ${differ ? countOf(differ, "token") : "nowhere"}.`;
  const frames = [
    { words: "Two lanes, two pictures.", view: at("picture") },
    { words: same, view: at("differs") },
    { words: `${capital(equal)}.`, view: at("picture") },
  ];
  return { cell: null, lines, replay: { title: "Compare the two pictures", frames } };
}

// Of the guesses that a lane redrew before their test, those that came out as they were.
function shareOfKept(rows) {
  const redrawn = rows.filter((row) => !row.committed && row.draft !== null);
  const kept = redrawn.filter((row) => row.draft === row.token);
  return redrawn.length ? percent(kept.length, redrawn.length) : "";
}

// The pass that accepted the most guesses.
function redrawCoupled(lane, race) {
  const rows = rowsOf(lane);
  const sjd = race.lanes.find((one) => one.decoder === "sjd" && one.count > 0);
  const [stayed, others] = [shareOfKept(rows), sjd ? shareOfKept(rowsOf(sjd)) : ""];
  const accepted = rows.filter(({ status }) => status === DID.ACCEPTED);
  const at = bestStep(lane, (i) => accepted.filter((row) => row.at === i).length);
  const here = accepted.filter((row) => row.at === at);
  const share = stayed ? `: here ${stayed}${others ? `, of SJD's ${others}` : ""}` : "";
  const lines = [
    "SJD redraws the guesses that a pass did not reach, each anew, and so throws away many that the newer distribution likes as " +
      `well. SCD redraws them with the same noise, so that more of them stay as they are${share}.`,
    "The test stays SJD's, min(1, p / q), on fresh numbers: a guess may depend on earlier guesses at its own place, not on the " +
      "numbers that judge it. So the picture's distribution stays exactly vanilla AR's.",
    `Shown is pass ${lane.steps[at].nfe}, its best, with ${here.length} accepted. In all ${summary(lane)}${against(race, "sjd")}.`,
  ];
  return { step: at + 1, cell: here.at(-1)?.cell ?? lane.order[lane.steps[at].after - 1], lines };
}

// A step that accepted some drafts and rejected the next: the rejected cell, and why.
function guessWithADistribution(lane, race) {
  const rejected = rowsOf(lane).filter(
    (row) => row.status === DID.RESAMPLED && row.draft !== null && row.ahead >= 2,
  );
  const readable = rejected.filter((row) => isKnown(row.uniform) && isReadable(row));
  const shown = best(readable.length ? readable : rejected, (row) => row.ahead);
  const rule =
    "Accept a draft x with probability min(1, p(x) / q(x)): q is the distribution it was drawn from, p the model's now. " +
    "The first rejected one is replaced by a draw from max(p − q, 0). So the picture's distribution stays exactly vanilla AR's.";
  const total = `In all ${summary(lane)}${against(race, "ar")}.`;
  if (!shown) return { step: lane.count, cell: null, lines: [rule, total] };
  const { p, q, uniform, acceptance, pass, draft, token } = shown;
  const known = isKnown(p, q, uniform, acceptance);
  const [ofP, ofQ] = known ? dividing(p, q, acceptance) : [];
  const test = versus(uniform, acceptance);
  const masses = `: p gave it ${ofP} and q ${ofQ}, and the number drawn is not below their ratio, ${test}`;
  const why = known ? masses : "";
  const middle =
    `At pass ${pass}, ${shown.ahead} drafts were accepted and the next, token ${draft}, rejected${why}. ` +
    `Token ${token} took its place.`;
  return { step: shown.at + 1, cell: shown.cell, lines: [rule, middle, total] };
}

// Where both distributions are flat and still far apart; fresh guesses, certain of themselves, are
// left out.
function whyHard(lane) {
  const committed = rowsOf(lane).filter((row) => row.committed);
  const tested = committed.filter(
    ({ draft, uniform, tv, top1Draft }) =>
      draft !== null && isKnown(uniform, tv, top1Draft) && top1Draft < 0.999,
  );
  const middle = (rows, name) => chance(median(rows.map((row) => row[name])));
  const flat =
    `For half of the tokens the likeliest code has a probability of ${middle(committed, "top1")} or less: ` +
    "many codes would do, so a guess seldom hits the one that is drawn.";
  if (!tested.length) return { layer: "top1", step: lane.count, cell: null, lines: [flat] };
  const shown = best(tested, ({ tv, top1, top1Draft }) => tv * (1 - top1) * (1 - top1Draft));
  const mean = tested.reduce((sum, row) => sum + 1 - row.tv, 0) / tested.length;
  const [top1, top1Draft, tv] = [shown.top1, shown.top1Draft, shown.tv].map(chance);
  const lines = [
    flat,
    "And two flat distributions share little: small differences add up. The draft's distribution q and the model's p lie a median TV of " +
      `${middle(tested, "tv")} apart, and an exact rule accepts with probability 1 − TV, on average ${chance(mean)}.`,
    `The chosen token: top-1 of p ${top1}, of q ${top1Draft}, yet TV ${tv}.`,
  ];
  return { layer: "tv", step: lane.count, cell: shown.cell, lines };
}

function acceptAGroup(lane, race) {
  const rule =
    "GSD sorts the codes by p and groups the draft with those of much the same probability: it is " +
    "accepted with probability min(1, p(C) / q(C)) for the whole group C.";
  const masses = ({ count, p, q }, ratio) => {
    const [ofP, ofQ] = dividing(p, q, ratio);
    return `Its group of ${count} held ${ofP} of p and ${ofQ} of q`;
  };
  return relaxed(lane, race, rule, masses, "their group");
}

function acceptANeighbour(lane, race) {
  const rule =
    `${lane.drafter ? "A small network drafts" : "The model drafts for itself"}. LANTERN lets a draft x borrow the ` +
    "probability of the codes nearest to it, up to δ in all: it is accepted with probability min(1, p(A) / q(x)).";
  const masses = ({ count, p }) =>
    `With ${countOf(count - 1, "neighbour")} it held ${chance(p)} of p`;
  return relaxed(lane, race, rule, masses, "a neighbour");
}

// A relaxed rule's chapter: the plainest acceptance that p(x) / q(x) alone would have rejected, and
// how many there were.
function relaxed(lane, race, rule, masses, whom) {
  const accepted = rowsOf(lane).filter(({ status }) => status === DID.ACCEPTED);
  const saved = accepted.filter((row) => row.group && neededGroup(row));
  const { tests, shifts } = lane.steps.at(-1);
  const price = tests
    ? `: its shift, how far (TV) one test commits from the model's p, is ${chance(shifts / tests)} on average, where an exact rule's is 0`
    : "";
  const total =
    `In all ${summary(lane)}${against(race, "sjd")}. ` +
    `The price: the picture's distribution is no longer the model's own${price}.`;
  if (!saved.length) {
    const none = `No acceptance of this race is known to have needed ${whom}.`;
    const at = bestStep(lane, (i) => lane.steps[i].tokens);
    return { step: at + 1, cell: lane.order[lane.steps[at].after - 1], lines: [rule, none, total] };
  }
  const shown = best(saved, (row) => {
    const plain = (isReadable(row) && row.group.count > 2 ? 2 : 0) + (isInside(row, race) ? 1 : 0);
    return row.acceptance - row.p / row.q + plain;
  });
  const { at, cell, pass, draft, p, q, uniform, acceptance, group } = shown;
  const odds = Math.min(1, p / q);
  const [alone, together] = [odds, acceptance].map((ratio) => versus(uniform, ratio));
  const [ofP, ofQ] = dividing(p, q, odds);
  const lines = [
    rule,
    `At pass ${pass} token ${draft} had ${ofP} of p and ${ofQ} of q by itself: rejected, ` +
      `${alone}. ${masses(group, acceptance)}: accepted, ${together}.`,
    `${saved.length} of its ${countOf(accepted.length, "acceptance")} needed ${whom}. ${total}`,
  ];
  return { step: at + 1, cell, lines };
}

// A later candidate accepted, inside the picture if it can be, in a step that ended at a rejection
// and kept many drafts after it.
function treeAndContinuation(lane, race) {
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
    `Draft a tree: the first positions have several candidates each; the first to pass is taken. ${aboutTree(later, shown)}`,
    `Do not stop at a rejection: a draft behind it stays with probability min(1, p / q). ${aboutEnd(ends[at], ends)}`,
    `In all ${summary(lane)}${against(race, "sjd")}. The distribution is exactly vanilla AR's.`,
  ];
  return { step: at + 1, cell: shown ? shown.cell : lane.order[lane.steps[at].after - 1], lines };
}

// The end of the race on another machine's clock, to be tried.
function whenItLoses(_, race) {
  const { costs } = fitCosts(race.lanes);
  const [a, b] = [costs.pass, costs.row].map((seconds) => `${inMilliseconds(seconds)} ms`);
  const rows = Math.max(...race.lanes.flatMap(({ steps }) => steps.map((step) => step.rows)));
  const ratio = ((costs.pass + rows * costs.row) / (costs.pass + costs.row)).toFixed(1);
  const lines = [
    "Speculation makes fewer passes, each over a wider window. It wins while a pass commits more tokens than it costs " +
      "passes of vanilla AR, and loses where a pass that commits 4 tokens costs as much as 5 of those.",
    `A pass costs a, whatever its window, and b for each row of it. This race's own passes say ${a} and ${b}: one of ` +
      `${rows} rows costs ${ratio} times as much as one of a single row.`,
    "The clock is now modelled: a large GPU that draws 340 pictures at once. Choose another machine, or move b, and the " +
      "replay, the places and the finish follow.",
  ];
  return { cell: null, costs: { ...costs, preset: "large" }, lines };
}

function aboutTree(later, shown) {
  if (!shown) return "In this race no later candidate is known to have been taken.";
  const { candidates, pass } = shown;
  const [n, last] = [candidates.length, candidates.at(-1)];
  const failed = n === 2 ? "the first" : `the first ${n - 1}`;
  const passed = `candidate ${n} passed here (${versus(last.uniform, last.acceptance)}) after ${failed} had failed`;
  return `At pass ${pass} ${passed}; a later candidate was taken ${inTimes(later.length)} in this race.`;
}

function aboutEnd(here, ends) {
  const [tested, kept] = ["tested", "kept"].map((name) =>
    ends.reduce((sum, end) => sum + end[name], 0),
  );
  if (!tested) return "In this race no draft is known to have been tested behind one.";
  const all = `in the whole race ${percent(kept, tested)} did`;
  if (!here.rejected || !here.tested) return `${capital(all)}.`;
  return `At this pass ${here.kept} of ${here.tested} did; ${all}.`;
}
