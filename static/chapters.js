// The tour's chapters: what each says about the race on the board, and the instant that shows it,
// found in the race's own step tables.

import { DID, neededGroup } from "./explain.js";
import {
  capital,
  chance,
  countOf,
  inSeconds,
  inTimes,
  isKnown,
  percent,
  versus,
} from "./numbers.js";
import outline from "./outline.json" with { type: "json" };

/** @type {((lane: Lane, race: Race) => Scene)[]} what each chapter of the outline shows and says */
const SCENES = [
  ...[oneAtATime, guessInParallel, guessWithADistribution, whyHard],
  ...[acceptAGroup, acceptANeighbour, treeAndContinuation],
];

/**
 * The tour of a race; `missing` are the chapters whose decoder made no step in it.
 * @param {Race} race @returns {{chapters: Chapter[], missing: {number: number, title: string}[]}}
 */
export function tourOf(race) {
  const [chapters, missing] = [[], []];
  outline.forEach(({ title, reference, decoders, beside }, i) => {
    const raced = (name) => race.lanes.findIndex((lane) => lane.decoder === name && lane.count > 0);
    const [number, index] = [i + 1, decoders.map(raced).find((found) => found >= 0)];
    if (index === undefined) return void missing.push({ number, title });
    const shown = new Set([index, ...beside.map(raced)]);
    const hidden = new Set(race.lanes.map((_, lane) => lane).filter((lane) => !shown.has(lane)));
    const { layer = "picture", step, cell, lines } = SCENES[i](race.lanes[index], race);
    const chosen = cell === null ? null : { lane: index, cell, pinned: true };
    const instant = { clock: "passes", playing: false, lane: index, step };
    chapters.push({
      number,
      title,
      lines,
      reference,
      view: { layer, hidden, cell: chosen, ...instant },
    });
  });
  return { chapters, missing };
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
  const codes = race.snapshot.codes.toLocaleString("en");
  const drawn = `token ${shown.token} was drawn${share ? `, with ${chance(share[1])}` : ""}`;
  const lines = [
    `Vanilla AR runs the whole model once for every token: ${summary(lane)}, ${seconds} s on this device.`,
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
  return { step: at + 1, cell: here.at(-1)?.cell ?? step.after - 1, lines };
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
  const masses = `: p gave it ${chance(p)} and q ${chance(q)}, and ${versus(uniform, acceptance)}`;
  const why = isKnown(p, q, uniform, acceptance) ? masses : "";
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
  const masses = ({ count, p, q }) =>
    `Its group of ${count} held ${chance(p)} of p and ${chance(q)} of q`;
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
  const total =
    `In all ${summary(lane)}${against(race, "sjd")}. ` +
    "The price: the picture's distribution is no longer the model's own.";
  if (!saved.length) {
    const none = `No acceptance of this race is known to have needed ${whom}.`;
    const at = bestStep(lane, (i) => lane.steps[i].tokens);
    return { step: at + 1, cell: lane.steps[at].after - 1, lines: [rule, none, total] };
  }
  const shown = best(saved, (row) => {
    const plain = (isReadable(row) && row.group.count > 2 ? 2 : 0) + (isInside(row, race) ? 1 : 0);
    return row.acceptance - row.p / row.q + plain;
  });
  const { at, cell, pass, draft, p, q, uniform, acceptance, group } = shown;
  const [alone, together] = [Math.min(1, p / q), acceptance].map((odds) => versus(uniform, odds));
  const lines = [
    rule,
    `At pass ${pass} token ${draft} had ${chance(p)} of p and ${chance(q)} of q by itself: rejected, by ` +
      `${alone}. ${masses(group)}: accepted, by ${together}.`,
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
  return { step: at + 1, cell: shown ? shown.cell : lane.steps[at].after - 1, lines };
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
