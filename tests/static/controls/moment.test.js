// A link to a moment brings back what was on the board: over clocks, lanes and instants.

import assert from "node:assert/strict";
import test from "node:test";

import { Playback } from "../../../static/board/playback.js";
import { applyChange, newState, remodel } from "../../../static/board/state.js";
import { isAtEnd, sameInstant } from "../../../static/controls/instants.js";
import { readMoment, writeMoment } from "../../../static/controls/moment.js";
import { DID } from "../../../static/trace/explain.js";
import { CLOCKS, lengthOf, stepsShown } from "../../../static/trace/replay.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, range, snapshot } from "../wire.js";

const RACES = 20;
globalThis.matchMedia ??= () => ({ matches: false }); // no phone

/** Numbers below `most` that are drawn from a seed (the generator of Numerical Recipes). */
function drawnFrom(seed) {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/**
 * Three lanes of up to eight steps. A pass takes up to 100 microseconds, of the first lane up to
 * 10, times `factor`. A step commits one cell or none.
 */
function raceOf(draw, facts = {}, factor = 1) {
  const cells = range(6);
  const lanes = ["ar", "sjd", "gsd"].map((decoder, i) => {
    const wire = new Wire(decoder, "finished", cells);
    let passes = 0;
    for (const committed of [1, 0, 1, 1, 0, 1, 1, 1].slice(draw(3))) {
      const time = factor * (1 + draw(i ? 100 : 10));
      passes += 1 + draw(2);
      wire.step(passes, committed, committed, { micros: [time, 0, 0, 0] });
      if (committed) wire.cell(1, DID.FRESH);
    }
    return wire;
  });
  const link = "?prompt=a&lanes=ar,sjd,gsd";
  return readRace({ ...snapshot(lanes, { link, ...facts }), state: "finished" }, null);
}

// Machines of the modelled clock: two that have a name, and one of one's own.
const MACHINES = [
  ...["fitted", "large"].map((preset) => ({ preset, pass: 0, row: 0, drafter: 0 })),
  { preset: null, pass: 1 / 300, row: 1 / 7000, drafter: 0 },
];

/** A board with a race that is over. */
function boardOf(race, costs = MACHINES[0]) {
  const state = newState();
  const playback = new Playback(state);
  playback.follow(race, true);
  remodel(state, race.lanes, costs);
  playback.begin(false);
  const go = (change) => {
    applyChange(state, playback, change);
    playback.settle();
  };
  return { state, go };
}

/** A board on which a link has been opened. */
function opened(link, race) {
  const board = boardOf(race);
  board.go(readMoment(link, race));
  return board.state;
}

/** Instants of a race on a clock: before and at each step of any lane, and between them. */
function instantsOf({ lanes }, clock) {
  const steps = lanes.flatMap((lane) => lane.steps.map((step) => step[clock]));
  const times = [0, ...new Set(steps)].sort((a, b) => a - b);
  return times.flatMap((time, i) => [time, (time + (times[i + 1] ?? time)) / 2]);
}

/** Calls `check` at each instant of RACES races: each clock, each lane pointed at or none. */
function everywhere(facts, check) {
  for (const seed of range(RACES)) {
    const race = raceOf(drawnFrom(seed), facts);
    for (const clock of CLOCKS) {
      for (const cell of [null, ...range(3).map((lane) => ({ lane, cell: 0, pinned: true }))]) {
        const { state, go } = boardOf(race, MACHINES[seed % MACHINES.length]);
        go({ clock, cell });
        for (const t of instantsOf(race, clock)) {
          go({ t });
          check(state, seed, `race ${seed}, ${clock}, ${t}, lane ${cell?.lane}`);
        }
      }
    }
  }
}

for (const facts of [{ id: "kept" }, { id: "duel", link: "?recorded=duel" }])
  test(`a link to a race that is here shows the same steps: ${facts.id}`, () => {
    everywhere(facts, (state, _, where) => {
      const found = opened(writeMoment(state), state.race);
      if (isAtEnd(state)) assert.ok(isAtEnd(found), where);
      assert.equal(found.live, isAtEnd(found), where); // so that the verdict is shown
      assert.equal(found.clock, state.clock, where);
      assert.deepEqual(stepsShown(found), stepsShown(state), where);
      if (state.clock !== "modelled") return;
      assert.deepEqual([found.t, found.costs], [state.t, state.costs], where);
    });
  });

test("a link names the modelled clock's machine only once the race that it is fitted to is over", () => {
  const race = raceOf(drawnFrom(3), { id: "kept" });
  const { state, go } = boardOf(race);
  go({ clock: "modelled", t: race.lanes[2].steps[1].modelled });
  assert.match(writeMoment(state), /&costs=fitted&/);
  const { pass, row, drafter } = state.costs;
  state.race = { ...race, snapshot: { ...race.snapshot, state: "racing" } };
  const found = opened(writeMoment(state), race);
  assert.deepEqual(found.costs, { pass, row, drafter, preset: null });
  assert.deepEqual(stepsShown(found), stepsShown(state));
});

test("costs that no machine has are left out of a link", () => {
  const race = raceOf(drawnFrom(4), { id: "kept" });
  for (const costs of ["nonsense", "0,0,0", "1,2", "0.1,-1,0", "0.1,0.1,1e9", "a,b,c", ""])
    assert.equal(readMoment(`?clock=modelled&costs=${costs}&t=1`, race).costs, undefined, costs);
});

test("a link to a race that is run again shows as many passes of the lane pointed at", () => {
  const slower = range(RACES).map((seed) => raceOf(drawnFrom(seed), { id: "again" }, 3));
  everywhere({ id: "gone" }, (state, seed, where) => {
    const found = opened(writeMoment(state), slower[seed]);
    if (isAtEnd(state)) return assert.ok(isAtEnd(found), where);
    if (!state.cell) return;
    const { lane } = state.cell;
    assert.equal(stepsShown(found)[lane], stepsShown(state)[lane], where);
  });
});

test("on every clock the start is the start, the end is the end, and time does not go back", () => {
  const latest = new Map();
  everywhere({}, (state, seed, where) => {
    for (const other of CLOCKS) {
      const at = sameInstant(state, other);
      if (state.t === 0) assert.equal(at, 0, where);
      assert.equal(at === lengthOf(state.race, other) || !isAtEnd(state), true, where);
      if (state.t > 0) assert.ok(at >= latest.get(other), where);
      latest.set(other, at);
    }
  });
});

test("an older link, to passes alone, still says the same", () => {
  const race = raceOf(drawnFrom(2), { id: "kept" });
  const found = opened("?prompt=a&race=gone&go=1&clock=passes&t=2&layer=tv", race);
  assert.deepEqual([found.clock, found.t, found.layer], ["passes", 2, "tv"]);
});
