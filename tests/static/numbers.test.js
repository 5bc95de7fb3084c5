// Numbers as people read them.

import assert from "node:assert/strict";
import test from "node:test";

import { chance, dividing, ordinal, versus } from "../../static/numbers.js";
import { plain } from "./wire.js";

test("probabilities have two or three digits", () => {
  const values = [null, 0, 1, 0.5, 0.314159, 0.99, 0.9969, 0.9999, 0.0421, 0.00123, 0.00001];
  const texts = ["–", "0", "1", "0.5", "0.31", "0.99", "0.997", "1", "0.042", "0.0012", "1.0e-5"];
  assert.deepEqual(values.map(chance), texts);
});

test("a comparison has the digits that tell its sides apart", () => {
  for (const [a, b, text] of [
    [0.31, 0.74, "0.31 < 0.74"],
    [0.91, 0.35, "0.91 ≥ 0.35"],
    [0.5, 0.5, "0.5 ≥ 0.5"],
    [0.7751, 0.7782, "0.775 < 0.778"],
    [0.99011, 0.99002, "0.9901 ≥ 0.9900"],
  ]) {
    assert.equal(plain(versus(a, b)), text);
  }
});

test("two probabilities agree with the ratio beside them as far as it is shown", () => {
  assert.deepEqual(dividing(0.09, 0.1, 0.9), ["0.09", "0.1"]);
  assert.deepEqual(dividing(0.01239, 0.5266, 0.01239 / 0.5266), ["0.0124", "0.527"]);
  assert.deepEqual(dividing(0.5, 0.25, 1), ["0.5", "0.25"]);
  assert.deepEqual(dividing(0.00001, 0.5, 0.00002), ["1.0e-5", "0.5"]);
  // of a share that was rounded to 0, while its ratio was not
  assert.deepEqual(dividing(0, 0.03, 0.00023), ["6.9e-6", "0.03"]);
  assert.deepEqual(dividing(0, 0.03, 0), ["0", "0.03"]);
  for (let i = 1; i < 400; i++) {
    const [p, q] = [0.0011 + 0.0007 * ((i * 37) % 101), 0.12 + 0.002 * i];
    const [a, b] = dividing(p, q, p / q).map(Number);
    assert.equal(chance(a / b), chance(p / q));
  }
});

test("places are written as people say them", () => {
  const places = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st"];
  assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21].map(ordinal), places);
});
