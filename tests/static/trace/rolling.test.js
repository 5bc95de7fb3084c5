// Lanes whose rows of the picture advance each at its own pace. What they show is compared with
// Python's, of real ones, by tests/static/test_replay.py and tests/visualize/film/test_layers.py.

import assert from "node:assert/strict";
import test from "node:test";

import { frontierOf, rowsOfCells } from "../../../static/lanes/draw.js";
import { lifeOf, shiftInWords } from "../../../static/trace/explain.js";
import { committedToken } from "../../../static/trace/layers.js";
import { seenAround } from "../../../static/trace/neighbours.js";
import { laneAt } from "../../../static/trace/replay.js";
import { readRace } from "../../../static/trace/step_table.js";
import { fieldOf, fieldsOf, laneOf, near, range, rolling, snapshot } from "../wire.js";

const newest = (lane, cell) => lifeOf(lane, cell, lane.count).at(-1);

/** The tokens that a lane shows after its k-th step, by cell. */
function shown(lane, k) {
  const { rowOf } = laneAt(lane, k);
  return range(6).map((cell) => (rowOf(cell) < 0 ? null : lane.token(rowOf(cell))));
}

for (const forced of [false, true]) {
  test(`cells come in the order in which they are committed, ${forced ? "some" : "none"} forced`, () => {
    const lane = laneOf(rolling("finished", forced));
    assert.deepEqual([lane.total, lane.isRolling, lane.isRaster], [6, true, false]);
    assert.deepEqual(lane.order, [0, 1, 3, 2, 4, 5]);
    const views = range(4).map((k) => laneAt(lane, k));
    assert.deepEqual(fieldsOf(views, "n", "drafts"), [
      [0, []],
      [2, [2]],
      [3, [2, 4, 5]],
      [6, []],
    ]);
    assert.deepEqual(
      range(4).map((k) => shown(lane, k)),
      [
        Array(6).fill(null),
        [10, 11, 12, null, null, null],
        [10, 11, 17, 13, 14, 15],
        [10, 11, 22, 13, 14, 25],
      ],
    );
    assert.deepEqual(lane.runs, [0, 2, 3, 4]); // the last step has one in each row
    assert.equal(committedToken(lane, 2), 22);
  });
}

test("a race that grows step by step is the whole one", () => {
  const whole = rolling("racing");
  const early = rolling("racing");
  early.tables.steps = whole.tables.steps.slice(0, 2);
  for (const name of ["positions", "places"]) early.tables[name] = whole.tables[name].slice(0, 7);
  const first = readRace(snapshot([early]), null);
  const [lane] = first.lanes;
  assert.deepEqual([lane.order, lane.total, lane.rank[2]], [[0, 1, 3], 6, undefined]);
  assert.equal(committedToken(lane, 2), null);
  const second = readRace(snapshot([whole], { seq: 2 }), first);
  assert.equal(second.lanes[0], lane);
  assert.deepEqual(lane.order, [0, 1, 3, 2, 4, 5]);
  assert.deepEqual(
    range(4).map((k) => shown(lane, k)),
    range(4).map((k) => shown(laneOf(whole), k)),
  );
});

test("a lane that is over shows no drafts", () => {
  const wire = rolling("stopped");
  wire.tables.steps.pop();
  for (const name of ["positions", "places"]) wire.tables[name].length = 7;
  assert.deepEqual(shown(laneOf(wire), 2), [10, 11, null, 13, null, null]);
});

test("a cell's life has the drafts of all steps that touched it", () => {
  const lane = laneOf(rolling());
  const names = ["pass", "draft", "token", "committed", "ahead"];
  assert.deepEqual(fieldsOf(lifeOf(lane, 2, 3), ...names), [
    [1, null, 12, false, 2],
    [2, 12, 17, false, 0],
    [3, 17, 22, true, 0],
  ]);
  assert.deepEqual(fieldsOf(lifeOf(lane, 5, 3), ...names), [
    [2, null, 15, false, 2],
    [3, null, 25, true, 1], // its row's drafts alone
  ]);
  assert.equal(lifeOf(lane, 2, 2).length, 2);
  const [, second, third] = lifeOf(lane, 2, 3);
  near(second.topDraft, [[12, 0.5]]); // the p of the step that touched it before
  near(third.topDraft, [[17, 0.5]]);
});

test("a lane without its prices has no shift, and what its rule shifts is known of each test", () => {
  const lane = laneOf(rolling("racing"));
  const rows = range(6).map((cell) => newest(lane, cell));
  assert.deepEqual(fieldOf(rows, "shift"), Array(6).fill(null));
  assert.deepEqual(fieldOf(rows, "ruleShift"), [0, 0, 0, 0, 0, null]);
  assert.equal(laneAt(lane, 3).shift, null);
  assert.equal(shiftInWords(lifeOf(lane, 2, 2).at(-1), lane), "");
});

for (const forced of [false, true]) {
  test(`prices are by position, ${forced ? "some" : "none"} forced`, () => {
    const prices = [0, 0.125, 0.25, 0.5, 0.75, 1];
    const wire = rolling("finished", forced);
    wire.prices(...(forced ? [...prices.slice(0, 3), null, ...prices.slice(3), null] : prices));
    const lane = laneOf(wire);
    near(
      range(6).map((cell) => newest(lane, cell).shift),
      prices,
    );
    near(laneAt(lane, 2).shift, (0 + 0.125 + 0.5) / 3);
    near(laneAt(lane, 3).shift, 2.625 / 6);
  });
}

test("a token saw drafts of its own row, and of the others what was there", () => {
  const lane = laneOf(rolling());
  const seen = (cell) => seenAround(lane, newest(lane, cell), 3);
  const around = (cell) => fieldsOf(seen(cell).around, "name", "seen", "draft");
  assert.deepEqual(around(1), [["left", true, 10]]);
  assert.deepEqual(around(4), [
    ["left", true, null],
    ["above left", true, null],
    ["above", true, null],
    ["above right", false, null],
  ]);
  assert.deepEqual(around(5).slice(0, 1), [["left", true, 14]]);
  assert.deepEqual([seen(3).stand, seen(4).stand], [1, null]);
});

test("the frontier goes around each row's tokens", () => {
  assert.deepEqual(frontierOf([0, 1, 3], 6, 3), [
    [3, 0],
    [2, 0],
    [2, 1],
    [1, 1],
    [1, 2],
    [0, 2],
  ]);
  assert.deepEqual(frontierOf([0, 1, 2], 6, 3), [
    [3, 1],
    [0, 1],
  ]);
  assert.deepEqual(frontierOf(range(6), 6, 3), []);
});

test("cells that follow one another in a row are one rectangle", () => {
  assert.deepEqual(rowsOfCells([], 3), []);
  assert.deepEqual(rowsOfCells([2, 3, 4, 7, 6], 3), [
    [2, 0, 1, 1],
    [0, 1, 2, 1],
    [1, 2, 1, 1],
    [0, 2, 1, 1],
  ]);
});
