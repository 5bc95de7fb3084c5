// What came of a bet, in words.

import assert from "node:assert/strict";
import test from "node:test";

import { betInWords, isOpen, tallyInWords } from "../../../static/board/bet.js";

const lane = (title, passes, seconds) => ({ title, places: { passes, seconds, modelled: null } });
const lanes = [lane("SJD-PAC", 1, 6), lane("GSD", null, null)];
const say = (lane, facts = {}) => {
  const snapshot = { id: "a", state: "finished", ...facts };
  const bet = lane === null ? null : { race: "a", lane };
  return betInWords(/** @type {any} */ ({ lanes, snapshot }), bet);
};

test("a bet is judged by both clocks once its race is over", () => {
  assert.equal(say(0), "You bet on SJD-PAC: 1st by passes, 6th by seconds.");
  assert.equal(say(1, { state: "stopped" }), "You bet on GSD: it did not finish.");
});

test("nothing is said without a bet, before the end, and of a race that was not bet on", () => {
  for (const words of [say(null), say(2), say(0, { state: "racing" }), say(0, { id: "b" })])
    assert.equal(words, "");
});

test("the bets of all who watch are counted, and judged by seconds", () => {
  const lanes = [
    { title: "SJD", places: { passes: 2, seconds: 1 }, n: 9, order: Array(20) },
    { title: "GSD", places: { passes: 1, seconds: 2 }, n: 3, order: Array(20) },
  ];
  const race = (bets, state) =>
    /** @type {any} */ ({ lanes, snapshot: { bets, state, prompt: "a" } });
  assert.equal(tallyInWords(race([], "finished")), "");
  assert.equal(tallyInWords(race(undefined, "racing")), "");
  assert.equal(tallyInWords(race([0, 0], "racing")), "");
  assert.match(tallyInWords(race([1, 0], "racing")), /^1.bet so far\.$/);
  assert.equal(
    tallyInWords(race([2, 5], "finished")),
    "Bets: 5 on GSD, 2 on SJD; 2 of 7 right by seconds.",
  );
  assert.ok(isOpen(race([], "racing")));
  assert.ok(!isOpen(race([], "finished")));
  lanes[0].n = 10;
  assert.ok(!isOpen(race([], "racing")));
});
