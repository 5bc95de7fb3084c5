// A lane's figures in words.

import assert from "node:assert/strict";
import test from "node:test";

import { shiftWords } from "../../../static/lanes/cards.js";

test("a shift of 0 is exact where it is proved, and a claim or nothing where it is not", () => {
  const words = (badge, rule, shift) => shiftWords({ badge, rule }, shift);
  assert.equal(words("same distribution", "sjd", 0), "exactly 0");
  assert.equal(words("same distribution", "sjd", null), "exactly 0");
  assert.equal(
    words("same distribution", "outside", 0),
    "exactly 0",
    "a verdict has found no difference",
  );
  assert.equal(words("changed distribution", "gsd", 0.125), "0.13");
  assert.equal(words("changed distribution", "gsd", 0), "0");
  assert.equal(words("changed distribution", "outside", 0), "0 claimed");
  assert.equal(words("not judged", "outside", 0), "not judged");
  assert.equal(words("not judged", "outside", 0.125), "0.13");
});
