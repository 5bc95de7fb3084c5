// What each layer shows of each cell, in which colour and on which range.

import assert from "node:assert/strict";
import test from "node:test";

import { rectangles } from "../../../static/lanes/draw.js";
import look from "../../../static/look.json" with { type: "json" };
import { ticksOf } from "../../../static/panels/legend.js";
import { DID } from "../../../static/trace/explain.js";
import * as layers from "../../../static/trace/layers.js";
import { laneAt } from "../../../static/trace/replay.js";
import { Wire, fieldOf, filledIn, laneOf, near, raceOf, range, threeSteps } from "../wire.js";

test("layers say what became of each cell", () => {
  const lane = laneOf(threeSteps());
  const shown = (layer) =>
    [1, 2, 3].map((k) => {
      const view = laneAt(lane, k);
      return range(6).map((cell) => layers.layerValue(lane, view, cell, layer));
    });
  // The third cell was refined once before it was committed, as were the fourth and the fifth; a
  // draft counts this pass.
  assert.deepEqual(shown("waiting"), [
    [0, 0, 1, null, null, null],
    [0, 0, 1, 1, 1, null],
    [0, 0, 1, 1, 1, 0],
  ]);
  // A run is as long as the tokens that the step committed, a forced one included.
  assert.deepEqual(shown("runs"), [
    [2, 2, null, null, null, null],
    [2, 2, 2, null, null, null],
    [2, 2, 2, 3, 3, 3],
  ]);
  const values = { top1: 0.25, top1_draft: 0.5, tv: 0.75, acceptance: 0.125 };
  for (const [layer, value] of Object.entries(values)) near(shown(layer)[1][2], value);
  assert.equal(shown("tv")[1][0], null);
  assert.deepEqual(shown("picture")[2], Array(6).fill(null));
});

test("a lane is held against the one that is chosen, or vanilla AR, or the first", () => {
  const race = raceOf(new Wire("sjd"), new Wire("ar"));
  const references = [null, 0, 1].map((chosen) => layers.referenceOf(race, chosen));
  assert.deepEqual(references, [1, 0, 1]);
  assert.equal(layers.referenceOf(raceOf(new Wire("sjd")), null), 0);
});

test("a share's scale may end before 1", () => {
  const race = raceOf(threeSteps());
  assert.deepEqual(layers.rangeOf(race, layers.layerOf("shift")), [0, 0.5]);
  assert.deepEqual(layers.rangeOf(race, layers.layerOf("tv")), [0, 1]);
});

test("a count's place on a range is by its logarithm", () => {
  const [least, two, most] = [1, 2, 5].map((count) => layers.countShare(count, [1, 5]));
  assert.deepEqual([least, most], [0, 1]);
  assert.ok(0 < two && two < 0.5);
});

for (const scale of Object.keys(look.scales)) {
  test(`colours run from dark to light: ${scale}`, () => {
    const shares = [-1, 0, 0.2, 0.4, 0.6, 0.8, 1, 2];
    const colours = shares.map((share) => layers.colourOf(scale, share));
    assert.deepEqual(colours[0], colours[1]);
    assert.deepEqual(colours.at(-1), colours.at(-2));
    const light = colours.slice(1, -1).map(([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b);
    const ascending = [...light].sort((a, b) => a - b);
    assert.deepEqual(light, ascending);
  });
}

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
