// Reading the step table.

import assert from "node:assert/strict";
import test from "node:test";

import { DID } from "../../../static/trace/explain.js";
import { readRace } from "../../../static/trace/step_table.js";
import {
  Wire,
  fieldOf,
  fieldsOf,
  laneOf,
  near,
  range,
  snapshot,
  threeSteps,
  top,
} from "../wire.js";

const { ACCEPTED, RESAMPLED, FRESH, REFINED, REJECTED } = DID;

test("steps are decoded with what has come together by then", () => {
  const { steps } = laneOf(threeSteps());
  const names = ["nfe", "before", "after", "first", "touched", "tokens", "drafter", "passes"];
  assert.deepEqual(fieldsOf(steps, ...names, "reached", "drafted", "seconds"), [
    [1, 0, 2, 0, 3, 2, 2, 1, 2, 2, 0.001234],
    [3, 2, 3, 3, 3, 2, 0, 3, 4, 2, 0.001734],
    [4, 3, 6, 6, 3, 3, 0, 4, 7, 2, 0.002734],
  ]);
  assert.deepEqual(steps[0].split, [0.001, 0.0002, 0.00003, 0.000004]);
});

test("a row says all that the wire does", () => {
  const wire = new Wire("sjd-pac").step(1, 2, 1);
  wire.cell(3, FRESH, { shares: [0.5], tops: [top([3, 0.5], [4, 0.25])] });
  wire.cell(8, REFINED, { draft: 8, kind: 1, tops: [top([9, 0.75])] });
  wire.step(2, 3, 1);
  const shares = [0.5, 0.75, 0.25, 1, 0.125, 0.5, 0.0625, 0.375];
  wire.cell(8, ACCEPTED, { draft: 8, kind: 2 | 4, shares, tops: [top([8, 0.5])] });
  wire.group(40, 0.5, 0.25, 8, 11);
  const tops = [top([1, 0.5]), top([2, 0.625])];
  wire.cell(1, REJECTED, { draft: 2, kind: 3 | (2 << 4), tops });
  wire.candidate(2, 0.1, 0.2, 0.3, 0.4).candidate(5, 0.5, 0.6, 0.7, 0.8);
  wire.cell(6, REFINED, { draft: 6, kind: 4, tops: [top()] }).group(1, 0, 1, 6);
  const lane = laneOf(wire);
  const rows = range(5).map((i) => lane.row(i));
  assert.deepEqual(fieldsOf(rows, "cell", "step", "token", "draft"), [
    [0, 0, 3, null],
    [1, 0, 8, 8],
    [1, 1, 8, 8],
    [2, 1, 1, 2],
    [3, 1, 6, 6],
  ]);
  near(rows[0].top.flat(), [3, 0.5, 4, 0.25]);
  assert.deepEqual(rows[0].topDraft, []);
  assert.deepEqual(rows[1].topDraft, [[8, 1]]);
  near(rows[2].topDraft, [[9, 0.75]]); // the p of the step before
  near(rows[3].topDraft, [[2, 0.625]]);
  const names = ["top1", "top1Draft", "tv", "acceptance", "uniform", "p", "q", "shift"];
  const [first, , third] = fieldsOf(rows, ...names);
  near(third, shares);
  assert.deepEqual(first.slice(1), Array(7).fill(null));
  near(rows[2].group, { count: 40, p: 0.5, q: 0.25, tokens: [8, 11] });
  assert.deepEqual(rows[4].group, { count: 1, p: 0, q: 1, tokens: [6] });
  for (const i of [0, 1, 3]) assert.equal(rows[i].group, null);
  near(fieldsOf(rows[3].candidates, "token", "acceptance").flat(), [2, 0.3, 5, 0.7]);
  assert.deepEqual(fieldOf(fieldOf(rows, "candidates"), "length"), [0, 0, 0, 2, 0]);
});

test("cells may be filled in any order", () => {
  const cells = [4, 0, 5, -1, 1, 3, 2];
  const [plain, lane] = [laneOf(threeSteps()), laneOf(threeSteps("racing", cells))];
  assert.deepEqual(lane.order, [4, 0, 5, 1, 3, 2]);
  assert.deepEqual(lane.steps, plain.steps);
  assert.equal(lane.isRaster, false);
  for (const i of range(9)) {
    const [{ cell, ...moved }, { cell: before, ...row }] = [lane.row(i), plain.row(i)];
    assert.deepEqual(moved, row);
    assert.equal(cell, lane.order[before]);
  }
});

test("rows can be read in any order", () => {
  const wire = new Wire().step(1, 4, 1);
  for (const token of range(4)) {
    const tops = [top([token, 0.5]), top([token + 4, 0.5])];
    wire.cell(token, FRESH, { draft: token, kind: 3 | 4 | (1 << 4), tops });
    wire.group(1, 0.5, 0.5, token).candidate(token, 0.1, 0.2, 0.3, 0.4);
  }
  const lane = laneOf(wire);
  for (const i of [3, 0, 2, 1, 3, 3, 0]) assert.deepEqual(lane.row(i), laneOf(wire).row(i));
});

test("only the tail of a growing wire is decoded", (t) => {
  const early = () => new Wire().step(1, 2, 1).cell(5, FRESH).cell(6, REFINED);
  const decoded = [];
  const whole = globalThis.atob;
  t.mock.method(globalThis, "atob", (text) => {
    decoded.push(text.length);
    return whole(text);
  });
  const first = readRace(snapshot([early()]), null);
  first.lanes[0].row(1);
  decoded.length = 0;
  const late = early().step(2, 1, 1).cell(7, RESAMPLED);
  late.state = "finished";
  const second = readRace(snapshot([late], { seq: 2 }), first);
  const [lane] = second.lanes;
  assert.equal(second.fresh, false);
  assert.equal(lane, first.lanes[0]);
  assert.deepEqual([lane.count, lane.state], [2, "finished"]);
  lane.row(1);
  assert.deepEqual(decoded, [40, 76]); // a step of 30 bytes, a position of 57
});

for (const change of [
  { id: "another" },
  { cells: [0, 1, 2, 3, 5, 4] }, // known once it has begun
]) {
  test(`another race begins afresh: ${JSON.stringify(change)}`, () => {
    const first = readRace(snapshot([threeSteps()], { seq: 5 }), null);
    const later = snapshot([threeSteps()], { seq: 0 }); // the recording of the race
    assert.equal(first.fresh, true);
    for (const [shot, afresh] of [
      [later, false],
      [{ ...later, ...change }, true],
    ]) {
      const { fresh, lanes } = readRace(shot, first);
      assert.deepEqual([fresh, lanes[0].count], [afresh, 3]);
    }
  });
}

test("a race whose lanes have lost steps begins afresh", () => {
  const first = readRace(snapshot([threeSteps()], { seq: 5 }), null);
  const shorter = new Wire().step(1, 1, 1).cell(5, FRESH);
  assert.equal(readRace(snapshot([shorter], { seq: 6 }), first).fresh, true);
});
