// Forks in words and in the list of races.

import assert from "node:assert/strict";
import test from "node:test";

import { belowParents, forkInWords } from "../../../static/board/fork.js";

const PARENT = { race: "a", seed: 25, lane: "SJD", cell: 9, instead: 12, p: 0.04 };
const known = Array.from({ length: 16 }, (_, cell) => (cell < 10 ? 70 + cell : -1));

test("a fork says from which token it was taken", () => {
  const inWords = (parent) => forkInWords({ known, parent }, 4);
  const from = "seed 25, SJD, row 3, column 2";
  assert.equal(inWords(PARENT), `${from}: token 79 instead of 12, p 0.04`);
  assert.equal(inWords({ ...PARENT, p: null }), `${from}: token 79 instead of 12`);
  assert.equal(inWords({ ...PARENT, instead: 79 }), `${from}: token 79, as it was drawn, p 0.04`);
  assert.equal(inWords({ ...PARENT, instead: null, p: null }), `${from}: other noise`);
  assert.equal(inWords(null), "");
});

test("a fork stands below its parent in the list, wherever both were", () => {
  const list = ["d", "c a", "b", "e c", "a", "f gone"].map((text) => {
    const [id, parent] = text.split(" ");
    return { id, parent };
  });
  const ids = belowParents(list).map(({ id }) => id);
  assert.deepEqual(ids, ["d", "b", "a", "c", "e", "f"]);
});
