// What came of a bet, in words.

import assert from "node:assert/strict";
import test from "node:test";

import { betInWords } from "../../../static/board/bet.js";

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
