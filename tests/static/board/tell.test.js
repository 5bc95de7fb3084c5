// The blind pair: which lanes it shows, and what a hall's answers mean.

import assert from "node:assert/strict";
import test from "node:test";

import { coinInterval, pairToTell, tallyOf } from "../../../static/board/tell.js";
import { DID } from "../../../static/trace/explain.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, range, snapshot } from "../wire.js";

const BADGES = { a: "identical image", s: "same distribution", c: "changed distribution" };

/** A race of lanes "badge tokens state": the badge's letter, and the code of each cell. */
function raceOf(lanes, facts = {}) {
  const wires = lanes.map((text) => {
    const [, tokens, state = "finished"] = text.split(" ");
    const wire = new Wire("sjd", state).step(1, 6, 6);
    for (const code of tokens) wire.cell(Number(code), DID.FRESH);
    return wire;
  });
  const shot = snapshot(wires, { state: "finished", ...facts });
  shot.lanes = shot.lanes.map((lane, i) => ({ ...lane, badge: BADGES[lanes[i][0]] }));
  return readRace(shot, null);
}
const LANES = ["a 111111", "s 111112", "c 222222"];

test("a pair is of a lossless lane and a changed one, the same for all who see the race", () => {
  const pairs = range(50).map((i) => pairToTell(raceOf(LANES, { id: `race ${i}` })));
  for (const { lanes, changed } of pairs) {
    assert.equal(changed, 2);
    assert.ok(lanes.includes(2) && (lanes.includes(0) || lanes.includes(1)));
  }
  const seen = new Set(pairs.map(({ lanes }) => String(lanes)));
  assert.deepEqual([...seen].sort(), ["0,2", "1,2", "2,0", "2,1"]);
  assert.deepEqual(pairToTell(raceOf(LANES, { id: "race 0" })), pairs[0]);
});

test("what fills in, failed, draws the same or is of two races takes no part", () => {
  const none = [
    [["a 111111", "s 111112"]],
    [["a 111111", "c 111111"]],
    [["a 111111", "c 222222 failed"]],
    [["a 111111 stopped", "c 222222"]],
    [LANES, { state: "stopped" }],
    [LANES, { id: "a+b" }],
    [LANES, { infilling: { known: [1, -1, -1, -1, -1, -1], order: "raster" } }],
  ];
  for (const [lanes, facts] of none) assert.equal(pairToTell(raceOf(lanes, facts)), null, lanes);
  const fork = { known: [1, -1, -1, -1, -1, -1], order: "fork", parent: null };
  assert.notEqual(pairToTell(raceOf(LANES, { infilling: fork })), null);
});

test("a tally says what a coin would do", () => {
  assert.deepEqual(coinInterval(1000), [469, 531]);
  assert.deepEqual(coinInterval(10_000), [4902, 5098]);
  // By the binomial distribution: P(X < 3) = 0.0112 and P(X < 4) = 0.0461 of 13 throws.
  assert.deepEqual(coinInterval(13), [3, 10]);
  assert.deepEqual(
    [coinInterval(5), coinInterval(6), coinInterval(100)],
    [
      [0, 5],
      [1, 5],
      [40, 60],
    ],
  );
  assert.match(
    tallyOf({ votes: 13, right: 10 }),
    /^Right so far: 10 of 13 answers\..*3 to 10 times/,
  );
  assert.match(tallyOf({ votes: 13, right: 10 }), /nothing shows that it is seen/);
  assert.match(tallyOf({ votes: 13, right: 11 }), /so the change is seen/);
  assert.match(tallyOf({ votes: 1, right: 1 }), /^Right so far: 1 of 1 answer\. .*too few/);
  assert.equal(tallyOf({ votes: 0, right: 0 }), "Nobody has answered yet.");
});
