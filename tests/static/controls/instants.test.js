// What a visitor's moves come to: steps, finishes, clocks, and a way over the cells.

import assert from "node:assert/strict";
import test from "node:test";

import { sideBySide } from "../../../static/controls/flags.js";
import * as instants from "../../../static/controls/instants.js";
import { isTyped } from "../../../static/controls/keys.js";
import { MOVES, neighbour } from "../../../static/controls/moves.js";
import { DID } from "../../../static/trace/explain.js";
import { clockOf } from "../../../static/trace/replay.js";
import { Wire, raceOf } from "../wire.js";

/** A lane that commits one cell a step, each after so many microseconds. */
function lane(decoder, ...times) {
  const wire = new Wire(decoder, "finished");
  times.forEach((time, i) => {
    wire.step(i + 1, 1, 1, { micros: [time, 0, 0, 0] }).cell(1, DID.FRESH);
  });
  return wire;
}

/** Two lanes: one at 40, 80, 120, 160 microseconds, and one at 70, 140. */
function stateOf({ hidden = [], ...change } = {}) {
  const race = raceOf(lane("ar", 40, 40, 40, 40), lane("sjd", 70, 70));
  for (const one of race.lanes)
    for (const clock of ["seconds", "passes"]) one[clock] = clockOf(one, clock);
  const still = { race, clock: "seconds", t: 0, stepping: null, cell: null };
  return { ...still, ...change, hidden: new Set(hidden) };
}

const walk = (back, times, change) =>
  times.map((t) => instants.stepTarget({ ...stateOf(change), t }, back));

test("a step goes to the next event of any lane", () => {
  const times = [0, 0.00004, 0.00005, 0.00007, 0.00014, 0.00016];
  assert.deepEqual(walk(false, times), [0.00004, 0.00007, 0.00007, 0.00008, 0.00016, null]);
  assert.deepEqual(walk(true, times), [null, 0, 0.00004, 0.00004, 0.00012, 0.00014]);
});

test("hidden lanes are not stepped through", () => {
  assert.deepEqual(walk(false, [0, 0.00007], { hidden: [0] }), [0.00007, 0.00014]);
  assert.deepEqual(walk(false, [0], { hidden: [0, 1] }), [0.00004]); // there is still a race
});

test("a step of one lane goes to its own next step", () => {
  assert.deepEqual(walk(false, [0, 0.0001], { stepping: 1 }), [0.00007, 0.00014]);
  assert.deepEqual(walk(true, [0.0001], { stepping: 1 }), [0.00007]);
  assert.deepEqual(walk(false, [1, 2], { stepping: 1, clock: "passes" }), [2, null]);
});

test("by passes all lanes go to the next pass", () => {
  assert.deepEqual(walk(false, [0, 0.4, 1, 3], { clock: "passes" }), [1, 1, 2, 4]);
  assert.deepEqual(walk(true, [0, 0.4, 1, 3], { clock: "passes" }), [0, 0, 0, 2]);
});

test("finishes are gone to one by one", () => {
  const targets = (back) =>
    [0, 0.00014, 0.00016].map((t) => instants.finishTarget({ ...stateOf(), t }, back));
  assert.deepEqual(targets(false), [0.00014, 0.00016, 0.00016]);
  assert.deepEqual(targets(true), [0, 0, 0.00014]);
  const alone = { hidden: [1], t: 0 };
  assert.equal(
    instants.finishTarget(stateOf(alone), false),
    0.00016,
    "of the lanes that are shown",
  );
});

test("the other clock shows the same instant of the lane in question", () => {
  for (const [t, cell, passes] of [
    [0, null, 0],
    [0.0001, null, 2],
    [0.0001, { lane: 1, cell: 0 }, 1],
    [0.00016, null, 4],
  ]) {
    assert.equal(instants.sameInstant(stateOf({ t, cell }), "passes"), passes);
  }
});

test("arrows stay on the grid", () => {
  const moved = (cell) =>
    Object.values(MOVES).map((move) => neighbour({ lane: 1, cell }, move, [2, 3]).cell);
  // Left, right, up, down of the first cell, of one in the middle, and of the last.
  assert.deepEqual(moved(0), [0, 1, 0, 3]);
  assert.deepEqual(moved(4), [3, 5, 1, 4]);
  assert.deepEqual(moved(5), [4, 5, 2, 5]);
  const right = neighbour({ lane: 1, cell: 0 }, [0, 1], [2, 3]);
  assert.deepEqual(right, { lane: 1, cell: 1, pinned: true });
});

const Element = (globalThis.Element ??= class {});

test("keys typed into a field are not the board's", () => {
  const [scrub, field] = [{}, {}];
  const inside = (name, found, key) => {
    const closest = (selector) => (selector.includes(name) ? found : null);
    const target = Object.assign(new Element(), { closest });
    return isTyped({ key, target }, scrub);
  };
  for (const name of ["input", "textarea", "select", "[contenteditable]"]) {
    assert.equal(inside(name, field, "l"), true, name);
  }
  const pressed = [" ", "Enter", "l"].map((key) => inside("button", field, key));
  assert.deepEqual(pressed, [true, true, false]);
  assert.equal(inside("body", field, " "), false);
  const scrubbed = ["Home", "ArrowLeft", " "].map((key) => inside("input", scrub, key));
  assert.deepEqual(scrubbed, [true, false, false]);
});

test("a recording lasts about eight seconds, and never runs faster than it did", () => {
  const speeds = [0.5, 1.6, 2.3, 4, 9, 90].map(instants.watchable);
  assert.deepEqual(speeds, [0.05, 0.25, 0.25, 0.5, 1, 1]);
});

test("flags stand side by side, near their places and inside the scrubber", () => {
  assert.deepEqual(sideBySide([0, 100, 200], 400), [0, 100, 200]);
  assert.deepEqual(sideBySide([100, 101, 103, 300], 400), [100, 116, 132, 300]);
  assert.deepEqual(sideBySide([390, 399, 400], 400), [352, 368, 384]);
  assert.deepEqual(sideBySide([100, 101, 399], 400, 25), [100, 125, 375]);
});
