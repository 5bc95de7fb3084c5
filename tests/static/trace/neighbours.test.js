// Rows at once: which neighbours a token saw, an order of a lane's own, and what its tokens cost.

import assert from "node:assert/strict";
import test from "node:test";

import { DID, lifeOf } from "../../../static/trace/explain.js";
import { seenAround } from "../../../static/trace/neighbours.js";
import { Wire, fieldsOf, laneOf, near, range } from "../wire.js";

/** 2 x 3 tokens by waves, a row one token behind the row above. */
function waves(cells = range(6)) {
  const wire = new Wire("zipar", "finished", cells, [0, 1, 3, 2, 4, 5]);
  wire.step(1, 1, 1).cell(10, DID.FRESH);
  wire.step(2, 2, 2).cell(11, DID.FRESH).cell(13, DID.FRESH);
  wire.step(3, 2, 2).cell(12, DID.FRESH).cell(14, DID.FRESH);
  return wire.step(4, 1, 1).cell(15, DID.FRESH);
}

const rowOf = (lane, cell) => ({ cell, ...lifeOf(lane, cell, lane.count).at(-1) });

test("a token's neighbours are there if an earlier pass drew them", () => {
  const lane = laneOf(waves());
  const around = (cell) => seenAround(lane, rowOf(lane, cell), 3).around;
  const seen = (cell) => Object.fromEntries(fieldsOf(around(cell), "name", "seen"));
  assert.deepEqual(seen(0), {});
  assert.deepEqual(seen(3), { above: true, "above right": false });
  const three = { left: true, "above left": true, above: true };
  assert.deepEqual(seen(4), { ...three, "above right": false });
  assert.deepEqual(seen(5), three);
});

test("a row's first token had the newest of the row above in the place of its end", () => {
  const lane = laneOf(waves());
  const stands = range(6).map((cell) => seenAround(lane, rowOf(lane, cell), 3).stand);
  assert.deepEqual(stands, [null, null, null, 0, null, null]);
});

test("a lane's tokens stand where its own order has them", () => {
  const lane = laneOf(waves());
  const tokens = range(6).map((cell) => rowOf(lane, cell).token);
  assert.deepEqual(tokens, [10, 11, 12, 13, 14, 15]);
});

test("the price of a token is its shift once the lane is done", () => {
  const lane = laneOf(waves().prices(0, 0.25, 0.5, null, 0.75, 1)); // in the lane's order
  const shifts = [0, 1, 3, 2, 4, 5].map((cell) => rowOf(lane, cell).shift);
  near(shifts, [0, 0.25, 0.5, null, 0.75, 1]);
  assert.equal(laneOf(waves()).priced, false);
});
