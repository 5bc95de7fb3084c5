// The life of a token: its rows, and what is said of them whatever they lack. The sentences
// themselves are in tests/prose.txt.

import assert from "node:assert/strict";
import test from "node:test";

import { DID, lifeOf, neededGroup, stepInWords, whyToken } from "../../../static/trace/explain.js";
import { row, weighed } from "../rows.js";
import { Wire, fieldsOf, filledIn, laneOf, near, threeSteps, top } from "../wire.js";

const { ACCEPTED, REFINED, REJECTED } = DID;

test("a life is every row of the cell up to a step", () => {
  const lane = laneOf(threeSteps());
  const names = ["pass", "at", "ahead", "committed", "status", "token"];
  assert.deepEqual(fieldsOf(lifeOf(lane, 3, 3), ...names), [
    [3, 1, 1, false, REJECTED, 1],
    [4, 2, 0, true, ACCEPTED, 1],
  ]);
  assert.equal(lifeOf(lane, 3, 2).length, 1);
  assert.equal(lifeOf(lane, 0, 3)[0].pass, 1);
  assert.deepEqual(lifeOf(lane, 5, 2), []);
});

test("a life keeps the diagnostics that came over the wire", () => {
  const wire = new Wire("gsd").step(1, 1, 1);
  const shares = [0.5, 1, 0.5, 0.9, 0.8, 0.25, 1];
  wire.cell(4, ACCEPTED, { draft: 4, kind: 0b101, shares, tops: [top([4, 0.25], [2, 0.125])] });
  wire.group(3, 0.9, 1.0, 4, 2);
  const [one] = lifeOf(laneOf(wire), 0, 1);
  assert.deepEqual(one.group.tokens, [4, 2]);
  near(one.uniform, 0.8, 1e-4);
  assert.deepEqual(one.topDraft, [[4, 1]]);
  assert.equal(neededGroup(one), true);
});

test("missing diagnostics leave words out and never a hole", () => {
  const rows = Object.values(DID).flatMap((did) => [null, 5].map((draft) => row(did, { draft })));
  const lives = rows.flatMap((last) => [[last], [row(REFINED, { at: 11 }), last]]);
  for (const decoder of ["ar", "jacobi", "fpi", "sjd", "scd", "gsd", "lantern", "sjd-pac"]) {
    for (const life of lives) {
      for (const text of [whyToken(decoder, life), stepInWords(decoder, life.at(-1))]) {
        assert.ok(text, `${decoder} ${JSON.stringify(life)}`);
        assert.doesNotMatch(text, /undefined|null|NaN|–/, decoder);
      }
    }
  }
});

test("rounding on the wire never makes a draft needy", () => {
  // p and q are known to half a share; only what no rounding could have turned is said.
  const close = weighed(ACCEPTED, 3 / 65534, 4 / 65534, 0.76, { acceptance: 1 });
  const clear = weighed(ACCEPTED, 3 / 65534, 400 / 65534, 0.76, { acceptance: 1 });
  assert.deepEqual([close, clear].map(neededGroup), [false, true]);
});

test("a cell that was known has no life", () => {
  const [lane] = filledIn().lanes;
  assert.deepEqual(lifeOf(lane, 1, lane.count), []);
});
