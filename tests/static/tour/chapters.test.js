// The tour: every chapter found in the race's own step tables, with the race's own numbers in it.

import assert from "node:assert/strict";
import test from "node:test";

import { chance } from "../../../static/numbers.js";
import { tourOf } from "../../../static/tour/chapters.js";
import { DID } from "../../../static/trace/explain.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, fieldOf, fieldsOf, filledIn, plain, range, snapshot, top } from "../wire.js";

const { ACCEPTED, RESAMPLED, FRESH, REFINED, REJECTED } = DID;
const [CERTAIN, OWN, GROUP] = [1, 3, 4];
const FLAT = top([1, 0.1], [2, 0.05]);
const TITLES = { ar: "Vanilla AR", sjd: "SJD" };

/** The tour of a race over one row of cells. */
function tour(...wires) {
  const shot = snapshot(wires, { grid: [1, 6], codes: 1024 });
  for (const lane of shot.lanes) {
    Object.assign(lane, { title: TITLES[lane.decoder] ?? lane.title, drafter: 0 });
  }
  const found = tourOf(readRace(shot, null));
  for (const chapter of found.chapters) chapter.lines = chapter.lines.map(plain);
  return found;
}

const only = (number, ...wires) => tour(...wires).chapters.find((one) => one.number === number);
const seen = ({ view }) => [view.step, view.cell.cell];
const wordsAndLayers = ({ replay }) => replay.frames.map(({ words, view }) => [words, view.layer]);
const AR_TOOK = "Vanilla AR took 6 passes for 6.";

function ar() {
  const wire = new Wire("ar", "finished");
  [0.5, 0.5, 0.1, 0.5, 0.4, 0.5].forEach((share, i) => {
    wire.step(i + 1, 1, 1, { micros: [500_000, 0, 0, 0] });
    wire.cell(7, FRESH, { shares: [share], tops: [top([7, share])] });
  });
  return wire;
}

/** Pass 1 repeats nothing, pass 2 two guesses and then another, pass 3 one. */
function jacobi() {
  const wire = new Wire("jacobi", "finished").step(1, 3, 1);
  wire.cell(1, RESAMPLED, { draft: 9 }).cell(2, REFINED, { draft: 9 }).cell(3, REFINED);
  wire.step(2, 4, 3).cell(2, ACCEPTED, { draft: 2 }).cell(3, ACCEPTED, { draft: 3 });
  wire.cell(4, RESAMPLED, { draft: 9 }).cell(5, REFINED);
  return wire.step(3, 2, 2).cell(5, ACCEPTED, { draft: 5 }).cell(6, FRESH);
}

/** Vanilla AR's tokens; but the last where it is `other`. */
function fpi(other = 7) {
  const wire = new Wire("fpi", "finished").step(1, 6, 2);
  wire.cell(7, ACCEPTED, { draft: 7 }).cell(7, RESAMPLED, { draft: 9 });
  for (let i = 2; i < 6; i++) wire.cell(7, REFINED, { draft: 9 });
  wire.step(2, 4, 4);
  for (let i = 2; i < 5; i++) wire.cell(7, ACCEPTED, { draft: 7 });
  return wire.cell(other, ACCEPTED, { draft: other });
}

/** Pass 1 accepts one draft and keeps one of two behind it; pass 2 accepts the rest. */
function scd() {
  const wire = new Wire("scd", "finished").step(1, 4, 2);
  wire.cell(1, ACCEPTED, { draft: 1 }).cell(2, RESAMPLED, { draft: 9 });
  wire.cell(3, REFINED, { draft: 3 }).cell(4, REFINED, { draft: 9 }).step(2, 4, 4);
  wire.cell(3, ACCEPTED, { draft: 3 }).cell(4, ACCEPTED, { draft: 4 });
  return wire.cell(5, ACCEPTED, { draft: 5 }).cell(6, FRESH);
}

/** A draft weighed: top-1 of p 0.1, of q 0.2, TV 0.75 unless `more` says otherwise. */
function verified(wire, token, status, draft, [p, q, uniform], more = {}) {
  const { top1 = 0.1, top1Draft = 0.2, tv = 0.75, kind = OWN } = more;
  const shares = [top1, top1Draft, tv, more.acceptance ?? Math.min(1, p / q), uniform, p, q];
  const tops = (kind & 3) === OWN ? [FLAT, FLAT] : [FLAT];
  return wire.cell(token, status, { draft, kind, shares, tops });
}

/**
 * Pass 1: two accepted, the third rejected. Pass 2: one accepted, the next rejected. Pass 3: the
 * last.
 */
function sjd() {
  const wire = new Wire("sjd", "finished").step(1, 3, 3);
  verified(wire, 1, ACCEPTED, 1, [0.5, 0.25, 0.9]);
  verified(wire, 2, ACCEPTED, 2, [0.25, 0.5, 0.1], { tv: 0.25 });
  verified(wire, 8, RESAMPLED, 3, [0.125, 0.25, 0.75]);
  wire.step(2, 2, 2);
  verified(wire, 4, ACCEPTED, 4, [0.25, 0.25, 0.3], { tv: 0.5 });
  const flat = { top1: 0.05, top1Draft: 0.05, tv: 0.9 };
  verified(wire, 5, RESAMPLED, 6, [0.01, 0.5, 0.4], flat);
  return wire.step(3, 1, 1).cell(6, FRESH);
}

/**
 * An acceptance that p / q would have allowed, one that needed its group though p and q can hardly
 * be read, and a plain one.
 */
function relaxed(decoder) {
  const wire = new Wire(decoder, "finished").step(1, 3, 3);
  const kind = OWN | GROUP;
  verified(wire, 1, ACCEPTED, 1, [0.5, 0.5, 0.3], { kind }).group(2, 0.6, 0.6, 1, 2);
  const unread = { acceptance: 1, kind };
  verified(wire, 2, ACCEPTED, 2, [0.0, 0.0005, 0.1], unread).group(5, 0.2, 0.1, 2, 3);
  const clear = { acceptance: 0.75, kind };
  verified(wire, 3, ACCEPTED, 3, [0.05, 0.25, 0.5], clear).group(4, 0.3, 0.4, 3, 5, 6, 7);
  return wire.step(2, 3, 3).cell(4, FRESH).cell(5, FRESH).cell(6, FRESH);
}

/**
 * Pass 1: a second candidate taken, no rejection. Pass 2: a third one taken, then a rejection with
 * three tested behind it.
 */
function pac() {
  const wire = new Wire("sjd-pac", "finished").step(1, 1, 1);
  wire.cell(1, ACCEPTED, { draft: 1, kind: 2 << 4 });
  wire.candidate(9, 0, 0.5, 0, 0.2).candidate(1, 0.2, 0.25, 0.8, 0.1);
  wire.step(2, 5, 2);
  const shares = [0.5, 0.5, 0.5, 0.5, 0.25, 0.1, 0.2];
  wire.cell(2, ACCEPTED, { draft: 2, kind: 3 << 4, shares });
  wire.candidate(8, 0, 0.5, 0, 0.2).candidate(9, 0, 0.5, 0, 0.3).candidate(2, 0.25, 0.5, 0.5, 0.25);
  verified(wire, 3, RESAMPLED, 7, [0.1, 0.2, 0.9]);
  verified(wire, 4, REFINED, 4, [0.2, 0.2, 0.5]);
  verified(wire, 5, REFINED, 5, [0.2, 0.2, 0.5]);
  verified(wire, 6, REJECTED, 9, [0.0, 0.2, 0.5]);
  wire.step(3, 3, 3).cell(4, ACCEPTED, { draft: 4 });
  return wire.cell(5, ACCEPTED, { draft: 5 }).cell(6, FRESH);
}

test("eleven chapters in order, each with a paper and lines, and what to try at the end", () => {
  const rows = front(1, [1, 2, 2, 1], [0, 1, 3, 2, 4, 5]);
  const others = [relaxed("gsd"), relaxed("lantern"), pac(), rows];
  const found = tour(ar(), jacobi(), fpi(), sjd(), scd(), ...others);
  assert.deepEqual(fieldOf(found.chapters, "number"), range(13).slice(1));
  assert.deepEqual(found.missing, []);
  const last = found.chapters.filter((one) => one.last);
  assert.deepEqual(fieldsOf(last, "title", "reference"), [["Your turn", ""]]);
  for (const { title, reference, lines, view, last } of found.chapters) {
    assert.ok(title);
    if (!last) assert.match(reference, /ICLR|ICCV|ICML|arXiv/);
    assert.ok(lines.length >= 1 && lines.length <= 3);
    for (const line of lines) assert.doesNotMatch(line, /undefined|null|NaN|–/);
    assert.equal(view.playing, false);
  }
});

test("chapters whose decoder does not race are left out and named", () => {
  const found = tour(ar(), sjd(), new Wire("gsd", "failed"));
  assert.deepEqual(fieldOf(found.chapters, "number"), [1, 4, 6, 10, 11]);
  assert.deepEqual(fieldOf(found.missing, "number"), [2, 3, 5, 7, 8, 9, 11]);
  assert.equal(found.missing[0].title, "Guess in parallel");
});

test("lanes that a chapter is not about are hidden", () => {
  const { chapters } = tour(sjd(), jacobi(), ar(), relaxed("gsd"));
  const views = Object.fromEntries(chapters.map((one) => [one.number, one.view]));
  const laneAndHidden = ({ lane, hidden }) => [lane, [...hidden]];
  assert.deepEqual(laneAndHidden(views[1]), [2, [0, 1, 3]]);
  assert.deepEqual(laneAndHidden(views[2]), [1, [0, 3]]);
  assert.deepEqual(laneAndHidden(views[7]), [3, [1, 2]]);
  assert.deepEqual([views[6].layer, views[4].layer], ["tv", "picture"]);
});

test("one token at a time shows a usual pass in the middle", () => {
  const one = only(1, ar());
  assert.deepEqual(seen(one), [2, 1]); // the third is sure of nothing, and the ends are left out
  assert.ok(one.lines[0].includes("6 tokens in 6 passes, 1.00 a pass, 3.000 s"));
  assert.ok(one.lines[1].includes("how probable each of all 1,024 codes is"));
  const start =
    "At pass 2 the likeliest code had a probability of 0.5; token 7 was drawn, with 0.5.";
  assert.ok(one.lines[2].startsWith(start));
});

test("guess in parallel shows the pass that repeated most", () => {
  const one = only(2, jacobi());
  assert.deepEqual(seen(one), [2, 2]);
  assert.ok(one.lines[0].includes("up to 4 positions"));
  assert.ok(one.lines[1].includes("3 of the 5 guesses tested were repeated (60%)"));
  const total = "pass 2, its best, with 2 repeated. In all 6 tokens in 3 passes, 2.00 a pass.";
  assert.ok(one.lines[2].includes(total));
});

test("the same noise shows both pictures at the end, and counts their equal tokens", () => {
  const one = only(3, ar(), fpi());
  assert.deepEqual([one.view.live, one.view.cell, one.view.clock], [true, null, "passes"]);
  assert.ok(one.lines[1].endsWith("draws there: 6 of 6 tokens equal, one picture twice."));
  assert.equal(one.lines[2], `In all 6 tokens in 2 passes, 3.00 a pass; ${AR_TOOK}`);
  assert.deepEqual(wordsAndLayers(one), [
    ["Two lanes, two pictures.", "picture"],
    ["Where they differ: nowhere.", "differs"],
    ["6 of 6 tokens equal.", "picture"],
  ]);
  const [, differ] = only(3, ar(), fpi(8)).replay.frames;
  assert.equal(differ.words, "Where they differ: 1 token.");
  const alone = only(3, fpi());
  assert.ok(!alone.lines[1].includes("equal"));
  assert.deepEqual(alone.replay.frames, []);
});

test("the same noise for the next guess: how many stayed, and the pass that accepted most", () => {
  const one = only(5, sjd(), scd());
  assert.deepEqual([...seen(one), one.view.cell.lane], [2, 4, 1]);
  assert.ok(one.lines[0].endsWith("more of them stay as they are: here 50%."));
  assert.ok(one.lines[2].startsWith("Shown is pass 2, its best, with 3 accepted. In all 6 tokens"));
});

test("a pass is replayed as it was before, by its test, and after", () => {
  const one = only(4, ar(), sjd());
  assert.equal(one.replay.title, "Replay this pass");
  assert.deepEqual(wordsAndLayers(one), [
    ["Before pass 1: no draft yet.", "picture"],
    ["Its test: 2 accepted, 1 draft rejected.", "status"],
    ["After: 3 tokens committed.", "picture"],
  ]);
  const steps = fieldOf(fieldOf(one.replay.frames, "view"), "step");
  assert.deepEqual(steps, [one.view.step - 1, one.view.step, one.view.step]);
  assert.equal(only(6, sjd()).replay.frames[2].view.layer, "tv");
  assert.deepEqual(only(10, ar(), sjd()).replay.frames, []);
});

test("guess with a distribution shows the rejected cell behind acceptances", () => {
  const one = only(4, ar(), sjd());
  assert.deepEqual([...seen(one), one.view.cell.lane], [1, 2, 1]);
  const { p, q, uniform } = one.test; // drawn before the words
  assert.deepEqual([p, q, uniform].map(chance), ["0.13", "0.25", "0.75"]);
  assert.equal(
    one.lines[0],
    "At pass 1, 2 drafts were accepted and the next, token 3, rejected: p gave it 0.125 and q 0.25, " +
      "and the number drawn is not below their ratio, 0.75 ≥ 0.5. Token 8 took its place.",
  );
  assert.equal(one.lines[2], `In all 6 tokens in 3 passes, 2.00 a pass; ${AR_TOOK}`);
});

test("why tokens are hard has the race's own medians", () => {
  const one = only(6, sjd());
  assert.deepEqual(seen(one), [3, 4]); // both distributions flat, and far apart
  assert.ok(one.lines[0].includes("probability of 0.1 or less"));
  assert.ok(one.lines[1].includes("a median TV of 0.75 apart"));
  assert.ok(one.lines[1].includes("on average 0.37."));
  assert.equal(one.lines[2], "The chosen token: top-1 of p 0.05, of q 0.05, yet TV 0.9.");
});

test("fresh guesses do not count as distributions far apart", () => {
  const wire = new Wire("sjd", "finished").step(1, 2, 2);
  wire.cell(1, RESAMPLED, { draft: 3, kind: CERTAIN, shares: [0.1, 1, 1, 0, 0.5, 0, 1] });
  verified(wire, 2, ACCEPTED, 2, [0.25, 0.5, 0.1], { tv: 0.25 });
  assert.ok(only(6, wire).lines[1].includes("a median TV of 0.25 apart"));
});

for (const [decoder, number, middle, whom] of [
  ["gsd", 7, "Its group of 4 held 0.3 of p and 0.4 of q: accepted, 0.5 < 0.75.", "their group"],
  ["lantern", 8, "With 3 neighbours it held 0.3 of p: accepted, 0.5 < 0.75.", "a neighbour"],
]) {
  test(`a relaxed rule shows an acceptance that needed it: ${decoder}`, () => {
    const one = only(number, sjd(), relaxed(decoder));
    assert.deepEqual(seen(one), [1, 2]);
    const alone = "token 3 had 0.05 of p and 0.25 of q by itself: rejected, 0.5 ≥ 0.2. ";
    assert.ok(one.lines[1].includes(alone + middle));
    assert.ok(one.lines[2].startsWith(`2 of its 3 acceptances needed ${whom}. `));
    assert.ok(one.lines[2].includes("SJD took 3 passes for 6"));
  });
}

test("the tree shows a later candidate in a step that kept drafts behind its rejection", () => {
  const one = only(9, sjd(), pac());
  assert.deepEqual(seen(one), [2, 1]);
  const passed = "At pass 2 candidate 3 passed here (0.25 < 0.5) after the first 2 had failed";
  assert.ok(one.lines[0].includes(passed));
  assert.ok(one.lines[0].includes("a later candidate was taken twice in this race"));
  assert.ok(one.lines[1].endsWith("At this pass 2 of 3 did; in the whole race 67% did."));
});

test("when speculation loses shows the end of the race on a large GPU's clock", () => {
  const one = only(10, ar(), sjd(), pac());
  const { clock, costs, live, cell, hidden } = one.view;
  assert.deepEqual([clock, costs.preset, live, cell], ["modelled", "large", true, null]);
  assert.deepEqual([...hidden], []);
  const fitted = /own passes say [\d.]+ ms and [\d.]+ ms: one of 5 rows costs [\d.]+ times/;
  assert.match(one.lines[1], fitted);
});

test("a race without diagnostics is toured without numbers that it does not have", () => {
  // An older trace: statuses, but neither uniforms nor groups nor candidates.
  const wires = ["sjd", "gsd", "lantern", "sjd-pac"].map((decoder) => {
    const wire = new Wire(decoder, "finished").step(1, 3, 3).cell(1, ACCEPTED, { draft: 1 });
    wire.cell(2, ACCEPTED, { draft: 2 }).cell(3, RESAMPLED, { draft: 9 });
    return wire.step(2, 3, 3).cell(4, FRESH).cell(5, FRESH).cell(6, FRESH);
  });
  const { chapters } = tour(...wires);
  const lines = Object.fromEntries(chapters.map((one) => [one.number, one.lines]));
  assert.equal(chapters.find(({ number }) => number === 4).test, null);
  const drafts = "At pass 1, 2 drafts were accepted and the next, token 9, rejected.";
  assert.equal(lines[4][0], `${drafts} Token 3 took its place.`);
  assert.equal(lines[6].length, 1);
  const none = "No acceptance of this race is known to have needed";
  assert.equal(lines[7][1], `${none} their group.`);
  assert.equal(lines[8][1], `${none} a neighbour.`);
  const [tree, end] = ["no later candidate", "no draft"].map((none) => `${none} is known to have`);
  assert.ok(lines[9][0].endsWith(`In this race ${tree} been taken.`));
  assert.ok(lines[9][1].endsWith(`In this race ${end} been tested behind one.`));
});

test("a race of which nothing happened has no chapter", () => {
  const found = tour(new Wire("ar", "waiting"), new Wire("sjd", "waiting"));
  assert.deepEqual(found.chapters, []);
  assert.equal(found.missing.length, 11);
});

test("a race that fills in a part has a chapter of its own", () => {
  const { chapters, missing } = tourOf(filledIn());
  assert.deepEqual(missing, []);
  assert.deepEqual(fieldsOf(chapters, "number", "title"), [
    [12, "Fill in a part"],
    [13, "Your turn"],
  ]);
  const [{ lines, view, reference }, yourTurn] = chapters;
  assert.deepEqual(yourTurn.view.hidden, view.hidden);
  assert.match(reference, /arXiv 2504\.20456/);
  assert.deepEqual([view.step, view.cell.cell], [2, 0]);
  assert.match(lines[0], /^Here 3 tokens of a finished picture are drawn again/);
  assert.match(lines[1], /Shown is pass 2, with 1 accepted/);
  assert.match(lines[2], /never more passes than tokens, here 3\. It took 2 passes\.$/);
});

test("each of the tour's recorded races has a place for the others' chapters", () => {
  const places = (race, races) => fieldsOf(tourOf(race, races).chapters, "number", "elsewhere");
  const filled = filledIn();
  filled.snapshot.id = "part";
  const expected = range(13).map((i) => [i + 1, i < 10 ? "tour" : i === 10 ? "front" : undefined]);
  assert.deepEqual(places(filled, { whole: "tour", rows: "front", filling: "part" }), expected);
  const race = readRace(snapshot([ar()], { id: "tour", grid: [1, 6] }), null);
  assert.deepEqual(places(race, { whole: "tour", filling: "part" }), [
    [1, undefined],
    [12, "part"],
    [13, undefined],
  ]);
});

/** Two rows of three, the second `lag` tokens behind the first. */
function front(lag, counts, own) {
  const wire = new Wire("zipar", "finished", [0, 1, 2, 3, 4, 5], own);
  for (const [i, tokens] of counts.entries()) {
    wire.step(i + 1, tokens, tokens);
    for (let k = 0; k < tokens; k++) wire.cell(7, FRESH);
  }
  return wire.prices(...own.map(() => 0.5 / lag));
}

test("rows that are drawn at once are shown where most are open, with their price", () => {
  const ahead = front(1, [1, 2, 2, 1], [0, 1, 3, 2, 4, 5]);
  const patient = front(2, [1, 1, 2, 1, 1], [0, 1, 2, 3, 4, 5]);
  const one = only(11, ahead, patient, ar());
  assert.deepEqual(seen(one), [3, 4]);
  assert.match(one.lines[0], /s tokens ahead, here 1,/);
  assert.match(one.lines[1], /At pass 3 it wrote 2 tokens,/);
  assert.match(one.lines[2], /^6 tokens in 4 passes, 1\.50 a pass and a shift of 0\.5; Vanilla AR/);
  assert.match(one.lines[2], /With s = 2 it takes 5 passes and a shift of 0\.25\./);
  assert.equal(one.replay.frames.at(-1).words, "Pass 4 writes 1 token: 6 are there.");
  assert.doesNotMatch(only(11, ahead).lines[2], /With s|Vanilla AR/);
});
