// What surrounds the layers. What each shows of each cell, in which colour and on which range, is
// compared with Python's by tests/visualize/film/test_layers.py.

import assert from "node:assert/strict";
import test from "node:test";

import { rectangles } from "../../../static/lanes/draw.js";
import look from "../../../static/look.json" with { type: "json" };
import { ticksOf } from "../../../static/panels/legend.js";
import { DID } from "../../../static/trace/explain.js";
import * as layers from "../../../static/trace/layers.js";
import { laneAt } from "../../../static/trace/replay.js";
import { Wire, fieldOf, filledIn, raceOf, range } from "../wire.js";

test("a lane is held against the one that is chosen, or vanilla AR, or the first", () => {
  const race = raceOf(new Wire("sjd"), new Wire("ar"));
  const references = [null, 0, 1].map((chosen) => layers.referenceOf(race, chosen));
  assert.deepEqual(references, [1, 0, 1]);
  assert.equal(layers.referenceOf(raceOf(new Wire("sjd")), null), 0);
});

test("every status has a shape and a colour of its own", () => {
  for (const what of ["shape", "colour"]) {
    assert.equal(new Set(layers.STATUSES.map((status) => status[what])).size, 7);
  }
  const [shapes, names] = ["shape", "name"].map((what) => fieldOf(layers.STATUSES, what));
  assert.deepEqual(Object.keys(look.marks.shapes).sort(), shapes.sort());
  assert.deepEqual(Object.keys(DID), names.join(" ").toUpperCase().split(" "));
});

test("cells in raster order are few rectangles", () => {
  assert.deepEqual(rectangles(0, 0, 4), []);
  assert.deepEqual(rectangles(0, 8, 4), [[0, 0, 4, 2]]);
  assert.deepEqual(rectangles(2, 14, 4), [
    [2, 0, 2, 1],
    [0, 1, 4, 2],
    [0, 3, 2, 1],
  ]);
  assert.deepEqual(rectangles(1, 3, 4), [[1, 0, 2, 1]]);
});

test("legends of counts name integers from the least to the greatest", () => {
  assert.deepEqual(ticksOf([1, 5]), [1, 2, 3, 4, 5]);
  assert.deepEqual(ticksOf([1, 2]), [1, 2]);
  const many = ticksOf([0, 60]);
  assert.deepEqual([many[0], many.at(-1)], [0, 60]);
  assert.ok(many.length <= 9);
  const ascending = [...new Set(many)].sort((a, b) => a - b);
  assert.deepEqual(many, ascending);
});

test("no layer shows a cell that was known, and a race says what stood there", () => {
  const { lanes } = filledIn();
  const [lane] = lanes;
  const view = laneAt(lane, lane.count);
  for (const { name } of layers.LAYERS)
    assert.equal(layers.layerValue(lane, view, 1, name, lane), null, name);
  const known = range(6).map((cell) => lane.knownToken(cell));
  assert.deepEqual(known, [null, 11, null, 13, null, 15]);
  const committed = range(6).map((cell) => layers.committedToken(lane, cell));
  assert.deepEqual(committed, [9, null, 10, null, 8, null]);
});
