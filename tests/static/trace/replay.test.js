// Clocks, places and steps. Where each lane stood after each of its steps is compared with Python's
// by tests/visualize/film/test_layers.py.

import assert from "node:assert/strict";
import test from "node:test";

import { DID } from "../../../static/trace/explain.js";
import * as replay from "../../../static/trace/replay.js";
import { Wire, laneOf, raceOf, threeSteps } from "../wire.js";

const { FRESH } = DID;

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
  const first = [behind("racing"), new Wire("sjd", "racing")];
  assert.deepEqual(clocks(...first), [0.0001, 1, 0.0001, 1], "none waits for a lane's first step");
});

test("the first finish is seen at once, and the last where no lane goes on", () => {
  const lanes = [9, 12, 4].map((passes) => ({ count: 1, steps: [{ passes }] }));
  const of = (hidden, ...states) => {
    const race = { lanes: lanes.slice(0, states.length) };
    const views = states.map((state) => ({ state }));
    return replay.finishesAt({ race, clock: "passes", hidden: new Set(hidden) }, views);
  };
  const at = (...states) => of([], ...states);
  assert.deepEqual(at("racing", "racing", "waiting"), ["", "", ""]);
  assert.deepEqual(at("finished", "racing", "racing"), ["first", "", ""]);
  assert.deepEqual(at("finished", "racing", "finished"), ["", "", "first"]);
  assert.deepEqual(at("finished", "finished", "finished"), ["", "last", "first"]);
  assert.deepEqual(at("finished", "failed", "stopped"), ["first", "", ""]);
  assert.deepEqual(at("failed", "stopped", "failed"), ["", "", ""]);
  assert.deepEqual(at("finished"), [""], "a lane alone has no race");
  assert.deepEqual(
    of([2], "finished", "finished", "racing"),
    ["first", "last", ""],
    "of the shown",
  );
  assert.deepEqual(of([0, 2], "finished", "finished", "racing"), ["", "", ""], "one is shown");
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

/** Lanes that commit a cell a step, each after so many microseconds; the last is on its way. */
function laneAfter(state, ...times) {
  const wire = new Wire("ar", state);
  times.forEach((time, i) => {
    wire.step(i + 1, 1, 1, { micros: [time, 0, 0, 0] }).cell(1, FRESH);
  });
  return wire;
}

test("a race that is followed stands at one instant of its clock", () => {
  const race = raceOf(laneAfter("racing", 40, 40, 40, 40), laneAfter("finished", 70, 70));
  const shown = (clock, seconds, of = race) => {
    const t = replay.instantAt(of, clock, seconds);
    return [t, replay.stepsShown({ race: of, clock, t })];
  };
  assert.deepEqual(shown("seconds", 0.0001), [0.0001, [2, 1]]);
  assert.deepEqual(shown("passes", 0.0001), [1, [1, 1]], "at equal passes, though one made two");
  assert.deepEqual(shown("passes", 0.00014), [3, [3, 2]], "of the lanes that still run");
  const apart = { ...race, snapshot: { ...race.snapshot, apart: true } };
  assert.deepEqual(shown("passes", 0.0001, apart), [2, [2, 2]], "on devices of their own");
  const over = raceOf(laneAfter("finished", 40, 40, 40), laneAfter("finished", 70, 70));
  assert.equal(replay.instantAt(over, "passes", 0.00014), 3, "at the end the slowest lane's");
});

test("what a step did is marked in the first half of the time to the next", () => {
  const lane = laneOf(laneAfter("racing", 100, 100, 1));
  const marked = (t, least = 0.00005) => {
    const k = replay.stepAt(lane, "seconds", t);
    return replay.isJustAfter(lane, "seconds", t, k, least);
  };
  const times = [0.00005, 0.0001, 0.00014, 0.00016, 0.0002, 0.000201];
  assert.deepEqual(
    times.map((t) => marked(t)),
    [false, true, true, false, false, false],
  );
  assert.equal(marked(0.0001, 0.0002), false, "not where steps follow too fast");
});

test("places by tokens are shared, and those of finished lanes are by the finish", () => {
  const lanes = [
    laneAfter("finished", 30, 30, 30),
    laneAfter("finished", 10, 10, 10),
    laneAfter("finished", 30, 60, 60),
    laneAfter("stopped", 10),
  ].map(laneOf);
  const of = (hidden, ...ks) => {
    const views = lanes.map((lane, i) => replay.laneAt(lane, ks[i]));
    return replay.placesAt({ race: { lanes }, clock: "seconds", hidden: new Set(hidden) }, views);
  };
  const places = (...ks) => of([], ...ks);
  assert.deepEqual(places(0, 0, 0, 0), [null, null, null, null]);
  assert.deepEqual(places(1, 2, 1, 0), [2, 1, 2, null]);
  assert.deepEqual(places(2, 3, 2, 1), [2, 1, 2, null]);
  assert.deepEqual(places(3, 3, 2, 1), [2, 1, 3, null]);
  assert.deepEqual(places(3, 3, 3, 1), [2, 1, 3, null]);
  assert.deepEqual(of([1], 3, 3, 3, 1), [1, 1, 2, null], "among the lanes that are shown");
});

test("a lane's place at the finish is among the lanes that are shown, once it is certain", () => {
  const lanes = [
    { state: "finished", seconds: 3, passes: 9, modelled: 1 },
    { state: "racing", seconds: 2, passes: 9, modelled: 2 },
    { state: "finished", seconds: 1, passes: 12, modelled: 3 },
    { state: "failed", seconds: 0, passes: 0, modelled: 0 },
  ];
  const at = (...hidden) =>
    lanes.map((lane) => {
      const { seconds, passes, modelled } = replay.placesOf(
        { race: { lanes, snapshot: {} }, hidden: new Set(hidden) },
        lane,
      );
      return [seconds, passes, modelled];
    });
  const none = [null, null, null];
  assert.deepEqual(at(), [[null, 1, 1], none, [1, null, null], none]);
  assert.deepEqual(at(1), [[2, 1, 1], none, [1, 2, 2], none]);
  assert.deepEqual(at(1, 2), [[1, 1, 1], none, [1, 2, 2], none]);
});
