// What each layer shows of each cell, in which colour and on which range.

import assert from "node:assert/strict";
import test from "node:test";

import { rectangles } from "../../static/draw.js";
import { DID } from "../../static/explain.js";
import * as layers from "../../static/layers.js";
import { ticksOf } from "../../static/legend.js";
import look from "../../static/look.json" with { type: "json" };
import { laneAt } from "../../static/replay.js";
import { Wire, laneOf, near, raceOf, range, threeSteps } from "./wire.js";

const { ACCEPTED, RESAMPLED, FRESH, REFINED, REJECTED } = DID;

test("layers say what became of each cell", () => {
  const lane = laneOf(threeSteps());
  const shown = (layer) =>
    [1, 2, 3].map((k) => {
      const view = laneAt(lane, k);
      return range(6).map((cell) => layers.layerValue(lane, view, cell, layer));
    });
  assert.deepEqual(shown("status"), [
    [FRESH, ACCEPTED, REFINED, null, null, null],
    [FRESH, ACCEPTED, RESAMPLED, REJECTED, REFINED, null],
    [FRESH, ACCEPTED, RESAMPLED, ACCEPTED, ACCEPTED, FRESH],
  ]);
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

test("counts stand on the race's own range", () => {
  const ranges = (race) =>
    ["waiting", "runs"].map((name) => layers.rangeOf(race, layers.layerOf(name)));
  assert.deepEqual(ranges(raceOf(threeSteps())), [
    [0, 1],
    [1, 3],
  ]);
  const longer = new Wire("gsd").step(1, 6, 6);
  range(6).forEach(() => longer.cell(1, FRESH));
  assert.deepEqual(ranges(raceOf(threeSteps(), longer)), [
    [0, 1],
    [1, 6],
  ]);
  const shares = [1, 2, 5].map((count) => layers.countShare(count, [1, 5]));
  assert.equal(shares[0], 0);
  assert.equal(shares[2], 1);
  assert.ok(0 < shares[1] && shares[1] < 0.5);
});

for (const scale of Object.keys(look.scales)) {
  test(`colours run from dark to light: ${scale}`, () => {
    const shares = [-1, 0, 0.2, 0.4, 0.6, 0.8, 1, 2];
    const colours = shares.map((share) => layers.colourOf(scale, share));
    assert.deepEqual(colours[0], colours[1]);
    assert.deepEqual(colours.at(-1), colours.at(-2));
    const light = colours.slice(1, -1).map(([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b);
    assert.deepEqual(
      light,
      [...light].sort((a, b) => a - b),
    );
  });
}

test("every status has a shape and a colour of its own", () => {
  for (const what of ["shape", "colour"]) {
    assert.equal(new Set(layers.STATUSES.map((status) => status[what])).size, 6);
  }
  assert.deepEqual(
    Object.keys(look.marks.shapes).sort(),
    layers.STATUSES.map(({ shape }) => shape).sort(),
  );
  assert.deepEqual(
    layers.STATUSES.map(({ name }) => name.toUpperCase()),
    Object.keys(DID),
  );
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
  assert.deepEqual(
    many,
    [...new Set(many)].sort((a, b) => a - b),
  );
});
