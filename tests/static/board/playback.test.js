// How fast a race is played again, and the instant that is shown of it.

import assert from "node:assert/strict";
import test from "node:test";

import { Playback } from "../../../static/board/playback.js";
import { newState } from "../../../static/board/state.js";
import { DID } from "../../../static/trace/explain.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, snapshot } from "../wire.js";

/** A race of one lane whose only pass takes two seconds. */
function raceOf(state, facts = {}) {
  const lane = new Wire("ar", state, [0]);
  lane.step(1, 1, 1, { micros: [2e6, 0, 0, 0] }).cell(1, DID.FRESH);
  return readRace({ ...snapshot([lane], facts), state }, null);
}

test("a race that is over is played at a speed at which it can be watched, whoever ran it", () => {
  for (const recorded of [false, true]) {
    const state = newState();
    new Playback(state).follow(raceOf("finished", { recorded }), true);
    assert.equal(state.speed, 0.25);
  }
});

test("a race that is on plays as fast as its clocks, and slower once its end has been shown", () => {
  const state = newState();
  const playback = new Playback(state);
  playback.follow(raceOf("racing", { seq: 1 }), true);
  assert.equal(state.speed, 1);
  playback.follow(raceOf("finished", { seq: 2 }), false);
  playback.catchUp();
  playback.end();
  assert.equal(state.speed, 0.25);
  state.speed = 1; // by the visitor
  playback.follow(raceOf("finished", { seq: 3 }), false);
  assert.equal(state.speed, 1);
});

test("a speed that was chosen while the race was on is kept at its end, not for the next", () => {
  const state = newState();
  const playback = new Playback(state);
  playback.follow(raceOf("racing"), true);
  state.speed = 4;
  playback.follow(raceOf("finished"), false);
  assert.equal(state.speed, 4);
  playback.follow(raceOf("racing", { id: "b" }), true);
  assert.equal(state.speed, 1);
});

test("a board stands at the newest instant at once, before a frame is drawn", () => {
  const state = newState();
  const playback = new Playback(state);
  playback.follow(raceOf("finished"), true);
  playback.begin(false);
  assert.equal(state.t, 2);
  playback.moveTo(0);
  assert.equal(state.t, 0);
  playback.catchUp();
  assert.equal(state.t, 2);
});
