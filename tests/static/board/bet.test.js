// Until when bets can be placed.

import assert from "node:assert/strict";
import test from "node:test";

import { isOpen } from "../../../static/board/bet.js";

test("bets are open while a race is on and no lane is half way", () => {
  /** @returns {any} */
  const race = (state, n) => ({
    lanes: [9, n].map((each) => ({ n: each, order: Array(20) })),
    snapshot: { state, prompt: "a" },
  });
  assert.ok(isOpen(race("racing", 3)));
  assert.ok(!isOpen(race("finished", 3)));
  assert.ok(!isOpen(race("racing", 10)));
});
