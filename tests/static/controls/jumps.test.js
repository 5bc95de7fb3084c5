// Where the jumps of a talk lead: rejections, saved drafts, the largest TV.

import assert from "node:assert/strict";
import test from "node:test";

import { largestTv, outcomeTarget } from "../../../static/controls/jumps.js";
import { readRace } from "../../../static/trace/step_table.js";
import { relaxed, sjd } from "../tour/races.js";
import { snapshot } from "../wire.js";

const wires = [sjd(), relaxed("gsd")];
const race = readRace(snapshot(wires, { grid: [1, 6], codes: 1024 }), null);
const at = (t, change = {}) => ({
  race,
  clock: "passes",
  t,
  hidden: new Set(),
  cell: null,
  ...change,
});
const short = (change) => change && [change.lane, change.step, change.cell.cell];
const jump = (event, back, t, change) => short(outcomeTarget(at(t, change), event, back));

test("a jump leads to the next rejection, or the one before, and chooses its token", () => {
  assert.deepEqual(outcomeTarget(at(0), "rejected"), {
    lane: 0,
    step: 1,
    cell: { lane: 0, cell: 2, pinned: true },
    playing: false,
  });
  assert.deepEqual(jump("rejected", false, 1), [0, 2, 4]);
  assert.equal(jump("rejected", false, 2), null);
  assert.deepEqual(jump("rejected", true, 2), [0, 1, 2]);
  assert.deepEqual(jump("rejected", true, 3), [0, 2, 4]);
  assert.equal(jump("rejected", true, 1), null);
});

test("a saved draft is one that its group alone let pass", () => {
  assert.deepEqual(jump("saved", false, 0), [1, 1, 1]);
  assert.equal(jump("saved", false, 1), null);
  assert.deepEqual(jump("saved", true, 2), [1, 1, 2]); // the latest of the two in that pass
});

test("hidden lanes are left out, and a pinned token's lane is the only one looked in", () => {
  assert.equal(jump("rejected", false, 0, { hidden: new Set([0]) }), null);
  assert.equal(jump("rejected", false, 0, { cell: { lane: 1, cell: 0, pinned: true } }), null);
  const pointed = { cell: { lane: 1, cell: 0, pinned: false } };
  assert.deepEqual(jump("rejected", false, 0, pointed), [0, 1, 2]);
});

test("the largest TV is found in the whole race", () => {
  assert.deepEqual(short(largestTv(at(3))), [0, 2, 4]);
  assert.equal(largestTv(at(0, { hidden: new Set([0, 1]) })), null);
});
