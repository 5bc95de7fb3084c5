// Where every lane stood after any of its steps.

import assert from "node:assert/strict";
import test from "node:test";

import { DID } from "../../../static/trace/explain.js";
import * as replay from "../../../static/trace/replay.js";
import { Wire, fieldsOf, laneOf, raceOf, range, threeSteps } from "../wire.js";

const { FRESH, REFINED } = DID;

test("a lane stands where its steps left it", () => {
  const views = range(4).map((k) => replay.laneAt(laneOf(threeSteps("finished")), k));
  const names = ["k", "n", "window", "state", "passes", "drafter", "seconds", "compression"];
  assert.deepEqual(fieldsOf(views, ...names), [
    [0, 0, 0, "waiting", 0, 0, 0, 0],
    [1, 2, 1, "racing", 1, 2, 0.001234, 2],
    [2, 3, 2, "racing", 3, 2, 0.001734, 4 / 3],
    [3, 6, 0, "finished", 4, 2, 0.002734, 7 / 4],
  ]);
  const rows = views.map((view) => range(6).map(view.rowOf));
  assert.deepEqual(rows, [
    [-1, -1, -1, -1, -1, -1],
    [0, 1, 2, -1, -1, -1],
    [0, 1, 3, 4, 5, -1],
    [0, 1, 3, 6, 7, 8],
  ]);
});

test("drafts of a lane that was stopped stand no more", () => {
  const stand = (state) => {
    const wire = new Wire("sjd", state).step(1, 3, 1);
    wire.cell(5, FRESH).cell(6, REFINED).cell(7, REFINED);
    const view = replay.laneAt(laneOf(wire), 1);
    return [view.n, view.window, view.rowOf(1)];
  };
  assert.deepEqual(stand("stopped"), [1, 0, -1]);
  assert.deepEqual(stand("racing"), [1, 2, 1]);
});

for (const [clock, steps] of Object.entries({
  passes: { 0: 0, 0.99: 0, 1: 1, 2: 1, 3: 2, 3.5: 2, 4: 3, 99: 3 },
  seconds: { 0: 0, 0.001233: 0, 0.001234: 1, 0.001734: 2, 0.0027: 2, 0.002734: 3, 5: 3 },
})) {
  test(`steps done at an instant, by ${clock}`, () => {
    const lane = laneOf(threeSteps());
    for (const [t, k] of Object.entries(steps)) {
      assert.equal(replay.stepAt(lane, clock, Number(t)), k, t);
    }
  });
}

test("the clock of a race is that of the running lane furthest behind", () => {
  const clocks = (...lanes) => {
    const race = raceOf(...lanes);
    return [replay.raceClock, replay.lengthOf].flatMap((of) =>
      ["seconds", "passes"].map((clock) => of(race, clock)),
    );
  };
  const behind = (state) =>
    new Wire("ar", state).step(1, 1, 1, { micros: [100, 0, 0, 0] }).cell(5, FRESH);
  assert.deepEqual(clocks(threeSteps(), behind("racing")), [0.0001, 1, 0.002734, 4]);
  assert.deepEqual(clocks(threeSteps("finished"), behind("finished")), [0.002734, 4, 0.002734, 4]);
  assert.deepEqual(clocks(new Wire("sjd", "waiting")), [0, 0, 0, 0]);
});

test("finishers come in the order of a clock", () => {
  const lanes = [
    { state: "finished", seconds: 3, passes: 9 },
    { state: "finished", seconds: 1, passes: 12 },
    { state: "finished", seconds: 2, passes: 4 },
    { state: "failed", seconds: 0, passes: 0 },
  ];
  assert.deepEqual(replay.finishers(lanes, "seconds"), [1, 2, 0]);
  assert.deepEqual(replay.finishers(lanes, "passes"), [2, 0, 1]);
});
