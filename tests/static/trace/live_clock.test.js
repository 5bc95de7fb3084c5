// The instant that is shown of a race while it runs, under any order of messages and frames.

import assert from "node:assert/strict";
import test from "node:test";

import { DID } from "../../../static/trace/explain.js";
import { LiveClock, knownUntil } from "../../../static/trace/live_clock.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, range, snapshot } from "../wire.js";

/** Numbers from 0 to 1 that follow from a seed (xorshift, 32 bits). */
function randomOf(seed) {
  let x = seed * 2654435761 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}

test("it never goes back, never passes the head, and comes to it", () => {
  for (const seed of range(300)) {
    const random = randomOf(seed + 1);
    let [head, now] = [random(), 1000 * random()];
    const clock = new LiveClock(head, now);
    assert.equal(clock.seconds, head, "a race is joined at its head");
    for (let before = clock.seconds, k = 0; k < 200; k++, before = clock.seconds) {
      now += (random() < 0.1 ? 5000 : 40) * (random() - 0.1); // now and then a clock is set back
      if (random() < 0.3) clock.follow((head += random() - 0.2), now, false);
      else if (random() < 0.02) clock.catchUp();
      else clock.advance(now);
      assert.ok(clock.seconds >= before, `${seed}, ${k}`);
      assert.ok(clock.seconds <= clock.head, `${seed}, ${k}`);
      assert.ok(clock.head >= head || clock.head >= before);
    }
    clock.follow(clock.head + 1, now, true);
    const due = [now, now + 1001, now + 7000].map((at) => clock.advance(at));
    assert.equal(due.at(-1), clock.head);
    assert.equal(clock.isBehind, false);
  }
});

test("of regular messages it shows one while the next is on its way", () => {
  const clock = new LiveClock(0, 0);
  for (const k of range(20)) {
    const now = 100 * (k + 1);
    clock.follow(k + 1, now, false);
    for (const frame of range(6)) clock.advance(now + 16 * frame);
    assert.ok(clock.isBehind, "it moves until the next is there");
    assert.ok(clock.head - clock.seconds < 1, "and is less than a message behind");
  }
  clock.follow(20.5, 2100, true);
  assert.ok(clock.advance(2150) < 20.5);
  assert.equal(clock.advance(2201), 20.5, "after the last one it arrives in one interval");
});

test("messages that come at once, or long after each other, count as near and far as can be", () => {
  for (const [gap, least, most] of [
    [0, 0.04, 0.1],
    [60_000, 0.9, 2],
  ]) {
    const clock = new LiveClock(0, 0);
    clock.follow(1, gap, false);
    const seconds = 1 / clock.speed;
    assert.ok(least < seconds && seconds < most, `${gap}: ${seconds}`);
  }
});

test("all is known up to the lane furthest behind, or of lanes apart up to the furthest", () => {
  const lane = (state, micros) =>
    new Wire("ar", state).step(1, 1, 1, { micros: [micros, 0, 0, 0] }).cell(1, DID.FRESH);
  const head = (facts, ...lanes) => knownUntil(readRace(snapshot(lanes, facts), null));
  const [near, far] = [lane("racing", 100), lane("racing", 900)];
  assert.equal(head({ state: "racing", apart: false }, near, far), 0.0001);
  assert.equal(head({ state: "racing", apart: true }, near, far), 0.0009);
  const over = [lane("finished", 100), lane("finished", 900)];
  assert.equal(head({ state: "finished", apart: false }, ...over), 0.0009);
});
