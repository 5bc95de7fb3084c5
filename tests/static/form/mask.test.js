// Painting a mask.

import assert from "node:assert/strict";
import test from "node:test";

import * as masks from "../../../static/form/mask.js";
import { range } from "../wire.js";

const { boxBetween, painted, rowsFrom, scattered, strokeBetween } = masks;

const sorted = (cells) => [...cells].sort((a, b) => a - b);

test("a box has the cells between any two of its corners", () => {
  const opposite = { 7: 14, 14: 7, 9: 12, 12: 9 };
  for (const [one, other] of Object.entries(opposite))
    assert.deepEqual(boxBetween(Number(one), other, 5), [7, 8, 9, 12, 13, 14]);
  assert.deepEqual(boxBetween(3, 3, 5), [3]);
});

test("a row and all rows below it", () => {
  for (const cell of [10, 12, 14]) assert.deepEqual(rowsFrom(cell, [4, 5]), range(20).slice(10));
  assert.deepEqual(rowsFrom(3, [4, 5]), range(20));
});

test("a stroke has no gaps, however fast it was drawn, and stays on the grid", () => {
  assert.deepEqual(sorted(strokeBetween(0, 0, [4, 5])), [0, 1, 5, 6]);
  assert.deepEqual(sorted(strokeBetween(0, 3, [4, 5])), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(strokeBetween(19, 19, [4, 5]), [19]);
  const diagonal = new Set(strokeBetween(0, 18, [4, 5]));
  assert.ok([0, 6, 12, 18].every((cell) => diagonal.has(cell)));
});

test("what is scattered was known before, and each cell as likely", () => {
  const mask = new Set([0, 1]);
  const more = scattered(mask, 6, 2, () => 0);
  assert.deepEqual(sorted(more), [0, 1, 2, 3]);
  assert.deepEqual(sorted(scattered(mask, 6, 2, () => 0.999)), [0, 1, 4, 5]);
  assert.deepEqual(sorted(scattered(mask, 6, 100)), range(6));
  assert.deepEqual(sorted(mask), [0, 1]);
});

test("painting masks cells or takes the mask off", () => {
  const mask = new Set([1, 2]);
  assert.deepEqual(sorted(painted(mask, [2, 3], true)), [1, 2, 3]);
  assert.deepEqual(sorted(painted(mask, [2, 3], false)), [1]);
});
