// The modelled clock: the costs that explain a race, and the race on other costs.

import assert from "node:assert/strict";
import test from "node:test";

import { placeOf, secondsAt } from "../../../static/panels/modelled_panel.js";
import { DID } from "../../../static/trace/explain.js";
import * as clock from "../../../static/trace/modelled_clock.js";
import * as replay from "../../../static/trace/replay.js";
import { Wire, fieldOf, fieldsOf, near, raceOf } from "../wire.js";

const { fitCosts, modelLanes, presetsOf } = clock;

/** A lane of these passes: [rows, tokens, drafter's passes, microseconds by part]. */
function lane(decoder, state, ...passes) {
  const cells = passes.reduce((sum, [, tokens]) => sum + tokens, 0);
  const wire = new Wire(decoder, state, [...Array(6).keys()]);
  assert.ok(cells <= 6);
  passes.forEach(([rows, tokens, drafter = 0, micros = [1000, 0, 0, 0]], i) => {
    wire.step(i + 1, tokens, tokens, { rows, drafter, micros });
    for (let n = 0; n < tokens; n++) wire.cell(1, DID.FRESH);
  });
  return wire;
}

const repeated = (n, pass) => Array(n).fill(pass);
const ar = (state = "finished") => lane("ar", state, ...repeated(6, [1, 1]));
const sjd = (state = "finished") => lane("sjd", state, ...repeated(3, [8, 2]));
const pac = (state = "finished") => lane("sjd-pac", state, ...repeated(2, [24, 3]));
const costs = (pass, row, drafter = 0) => ({ pass, row, drafter });

/** A race on these costs. */
function modelled(lanes, values) {
  const race = raceOf(...lanes);
  modelLanes(race.lanes, values);
  return race.lanes;
}

test("the fit finds the costs that a race was made of", () => {
  const micros = (rows, drafter) => [2000 + 300 * rows, 100, 40, 500 * drafter];
  const at = (rows, drafter = 0) => [rows, 1, drafter, micros(rows, drafter)];
  const lantern = lane("lantern", "racing", at(4, 3), at(16, 1));
  const fit = fitCosts(raceOf(lane("ar", "racing", at(1), at(1)), lantern).lanes);
  near(fit.costs, costs(0.00214, 0.0003, 0.0005), 1e-12);
  assert.deepEqual([fit.passes, fit.windows], [4, true]);
  near([fit.explained, fit.error], [1, 0], 1e-9);
});

/** Of passes of these rows and microseconds. */
function fitOf(...pairs) {
  const passes = pairs.map(([rows, t]) => [rows, 1, 0, [t, 0, 0, 0]]);
  return fitCosts(raceOf(lane("sjd", "racing", ...passes)).lanes);
}

test("the fit is that of least squares", () => {
  const times = [
    [1, 5000],
    [4, 3000],
    [9, 9000],
    [16, 8000],
    [16, 12000],
  ];
  const missed = ({ pass, row }) =>
    times.reduce((sum, [rows, t]) => sum + (t / 1e6 - pass - row * rows) ** 2, 0);
  const { costs: found, explained } = fitOf(...times);
  for (const sign of [1, -1]) {
    assert.ok(missed({ ...found, pass: found.pass + sign * 1e-5 }) > missed(found));
    assert.ok(missed({ ...found, row: found.row + sign * 1e-6 }) > missed(found));
  }
  const mean = times.reduce((sum, [, t]) => sum + t / 5e6, 0);
  near(explained, 1 - missed(found) / missed({ pass: mean, row: 0 }), 1e-12);
});

test("no cost is negative", () => {
  near(fitOf([1, 900], [9, 100]).costs, costs(0.0005, 0), 1e-12);
  near(fitOf([1, 100], [2, 1000]).costs, costs(0, 0.00042), 1e-12); // (100 + 2 x 1000) / (1 + 4)
});

test("a race of one window says that b is unknown, and one of no passes nothing", () => {
  const fit = fitCosts(raceOf(ar()).lanes);
  near(fit.costs, costs(0.001, 0), 1e-12);
  assert.equal(fit.windows, false);
  const none = fitCosts(raceOf(new Wire("ar", "waiting")).lanes);
  assert.deepEqual([none.costs, none.explained, none.error], [costs(0, 0, 0), null, null]);
});

test("a step costs a, b for each row and d for each of the drafter's passes", () => {
  const lantern = lane("lantern", "racing", [1, 1, 0], [4, 2, 3]);
  const [one] = modelled([lantern], costs(0.01, 0.002, 0.005));
  near(fieldOf(one.steps, "modelled"), [0.012, 0.045], 1e-12);
  near(one.modelled, 0.045, 1e-12);
  const steps = [0, 0.012, 0.02, 0.045].map((t) => replay.stepAt(one, "modelled", t));
  assert.deepEqual(steps, [0, 1, 1, 2]);
  near(replay.laneAt(one, 2).modelled, 0.045, 1e-12);
});

test("the cost of a row changes the order", () => {
  const order = (row) => {
    const lanes = modelled([ar(), sjd(), pac()], costs(0.01, row));
    const finishers = replay.finishers(lanes, "modelled").map((i) => lanes[i]);
    return fieldOf(finishers, "decoder");
  };
  assert.deepEqual(order(0), ["sjd-pac", "sjd", "ar"]);
  assert.deepEqual(order(0.0006), ["sjd", "sjd-pac", "ar"]);
  assert.deepEqual(order(0.01), ["ar", "sjd", "sjd-pac"]);
});

test("the machines: the fitted one, two by their peak figures, and one whose rows are free", () => {
  const passes = [
    [1, 1, 0, [4300, 0, 0, 0]],
    [4, 1, 2, [5200, 0, 0, 2000]],
  ];
  const fit = fitCosts(raceOf(lane("lantern", "racing", ...passes)).lanes);
  const presets = Object.fromEntries(fieldsOf(presetsOf(fit), "name", "costs"));
  near(presets.fitted, costs(0.004, 0.0003, 0.001), 1e-12);
  near(presets.free, costs(0.004, 0, 0.001), 1e-12);
  near(presets.laptop, costs(0.01016, 0.000226, 0.00254), 1e-5);
  near(presets.large, costs(0.01233, 0.001788, 0.00308), 1e-5);
});

test("a slider's places are evenly spaced in the logarithm, and its first is nothing", () => {
  const scale = { least: 1e-6, most: 0.1 };
  const places = [0, 1e-6, 0.1, 1].map((seconds) => placeOf(seconds, scale));
  assert.deepEqual(places, [0, 1, 1000, 1000]);
  const seconds = [0, 1, 1000].map((place) => secondsAt(place, scale));
  near(seconds, [0, 1e-6, 0.1], 1e-12);
  const step = (place) => secondsAt(place + 1, scale) / secondsAt(place, scale);
  near(step(299), step(8), 1e-9);
  for (const place of [0, 1, 2, 500, 999, 1000]) {
    assert.equal(placeOf(secondsAt(place, scale), scale), place);
  }
});
