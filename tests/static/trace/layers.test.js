// What each layer shows of each cell, in which colour and on which range.

import assert from "node:assert/strict";
import test from "node:test";

import { rectangles } from "../../../static/lanes/draw.js";
import look from "../../../static/look.json" with { type: "json" };
import { ticksOf } from "../../../static/panels/legend.js";
import { DID } from "../../../static/trace/explain.js";
import * as layers from "../../../static/trace/layers.js";
import { laneAt } from "../../../static/trace/replay.js";
import { Wire, filledIn, laneOf, near, raceOf, range, threeSteps } from "../wire.js";

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

test("what differs is compared with the reference lane's committed token", () => {
  const [one, other] = [new Wire("sjd"), new Wire("ar")];
  one.step(1, 3, 2).cell(4, FRESH).cell(5, ACCEPTED, { draft: 5 }).cell(6, REFINED, { draft: 6 });
  one.step(2, 1, 1).cell(7, RESAMPLED, { draft: 6 });
  other.step(1, 1, 1).cell(4, FRESH).step(2, 1, 1).cell(8, FRESH);
  const race = raceOf(one, other);
  assert.deepEqual(
    [null, 0, 1].map((chosen) => layers.referenceOf(race, chosen)),
    [1, 0, 1],
  );
  assert.equal(layers.referenceOf(raceOf(one), null), 0);
  const [lane, against] = race.lanes;
  const shown = [0, 1, 2].map((k) =>
    range(6).map((cell) => layers.layerValue(lane, laneAt(lane, k), cell, "differs", against)),
  );
  // The third cell is not committed in the other lane, then a draft here.
  assert.deepEqual(shown, [
    [null, null, null, null, null, null],
    [0, 1, null, null, null, null],
    [0, 1, null, null, null, null],
  ]);
  assert.deepEqual(layers.differing(lane, laneAt(lane, 2), against), [1, 2]);
  assert.deepEqual(layers.differing(against, laneAt(against, 2), against), [0, 2]);
  assert.deepEqual(layers.differing(lane, laneAt(lane, 0), against), [0, 0]);
});

test("a share's scale may end before 1", () => {
  const race = raceOf(threeSteps());
  assert.deepEqual(layers.rangeOf(race, layers.layerOf("shift")), [0, 0.5]);
  assert.deepEqual(layers.rangeOf(race, layers.layerOf("tv")), [0, 1]);
});

test("a lane's shift is the mean of the tests so far", () => {
  const shares = (shift) => [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, shift];
  const wire = new Wire("gsd").step(1, 1, 1).cell(1, FRESH).step(2, 2, 2);
  wire.cell(1, ACCEPTED, { draft: 1, shares: shares(0.25) });
  wire.cell(1, RESAMPLED, { draft: 2, shares: shares(0) });
  const lane = laneOf(wire);
  near(
    [0, 1, 2].map((k) => laneAt(lane, k).shift),
    [null, null, 0.125],
  );
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
    assert.equal(new Set(layers.STATUSES.map((status) => status[what])).size, 7);
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

test("the order says in which pass each token became final, up to one a pass", () => {
  const order = layers.layerOf("order");
  const race = filledIn();
  const [lane] = race.lanes;
  const shown = (k) =>
    range(6).map((cell) => layers.layerValue(lane, laneAt(lane, k), cell, "order"));
  assert.deepEqual(shown(1), [null, null, null, null, 1, null]);
  assert.deepEqual(shown(2), [2, null, 2, null, 1, null]);
  assert.deepEqual(layers.rangeOf(race, order), [1, 3]);
});

test("no layer shows a cell that was known, and a race says what stood there", () => {
  const { lanes } = filledIn();
  const [lane] = lanes;
  const view = laneAt(lane, lane.count);
  for (const { name } of layers.LAYERS)
    assert.equal(layers.layerValue(lane, view, 1, name, lane), null, name);
  assert.deepEqual(
    range(6).map((cell) => lane.knownToken(cell)),
    [null, 11, null, 13, null, 15],
  );
  assert.deepEqual(
    range(6).map((cell) => layers.committedToken(lane, cell)),
    [9, null, 10, null, 8, null],
  );
});
