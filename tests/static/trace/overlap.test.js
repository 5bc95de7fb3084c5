// What p and q share, token by token.

import test from "node:test";
import assert from "node:assert/strict";

import { overlapInWords } from "../../../static/tour/overlap_picture.js";
import { overlapOf, partsOf } from "../../../static/trace/overlap.js";
import { near } from "../wire.js";

// Seven tokens; of the step table's lists each lacks some that the other has.
const P = [0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05];
const Q = [0.1, 0.3, 0.15, 0.1, 0.05, 0.2, 0.1];
const tv = P.reduce((sum, share, i) => sum + Math.abs(share - Q[i]) / 2, 0);
const listed = (shares, tokens) => tokens.map((token) => [token, shares[token]]);
const row = {
  draft: 6,
  p: P[6],
  q: Q[6],
  tv,
  top: listed(P, [0, 1, 2, 3]),
  topDraft: listed(Q, [1, 5, 2, 0]),
};
const sum = (rows, name) => rows.reduce((all, one) => all + one[name], 0);

test("tokens that both lists have stand alone, and what the others share is exact", () => {
  const { tokens, others } = overlapOf(row);
  assert.deepEqual(
    tokens.map(({ token }) => token),
    [0, 1, 2, 6],
  );
  const rest = [3, 4, 5];
  near(others, {
    p: rest.reduce((all, i) => all + P[i], 0),
    q: rest.reduce((all, i) => all + Q[i], 0),
    shared: rest.reduce((all, i) => all + Math.min(P[i], Q[i]), 0),
  });
});

test("kept and redrawn make p, kept and rejected the q that was moved, wherever that is", () => {
  const { tokens, others } = overlapOf(row);
  const all = [...tokens, others];
  for (const share of [0, 0.3, 1]) {
    const parts = all.map((one) => partsOf(one, share));
    all.forEach(({ p, q }, i) => {
      near(parts[i].kept + parts[i].redrawn, p);
      near(parts[i].kept + parts[i].rejected, q + share * (p - q));
    });
    near(sum(parts, "kept"), 1 - (1 - share) * tv);
  }
});

test("a token's part is what the test does to it", () => {
  near(partsOf({ p: 0.1, q: 0.4, shared: 0.1 }, 0), { kept: 0.1, rejected: 0.3, redrawn: 0 });
  near(partsOf({ p: 0.4, q: 0.1, shared: 0.1 }, 0.5), { kept: 0.25, rejected: 0, redrawn: 0.15 });
});

test("a draft that was certain, or was not tested, has no picture", () => {
  assert.equal(overlapOf({ ...row, topDraft: [[6, 1]] }), null);
  assert.equal(overlapOf({ ...row, draft: null, p: null, q: null }), null);
});

test("its sentence says where q is and what that keeps", () => {
  assert.match(overlapInWords(0.5, 0), /^With this race's q, 0.5 is kept/);
  const moved = /50% of the way to p, 0.75 is kept.* 0.25 is redrawn/;
  assert.match(overlapInWords(0.5, 0.5), moved);
});
