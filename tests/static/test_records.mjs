// The board's pure parts, under node: `node --test tests/static/test_records.mjs`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import test from "node:test";

const require = createRequire(import.meta.url);
const records = require("../../static/records.js");
const { runs } = require("../../static/draw.js");

const lane = (changes) => ({
  n: 0, passes: 0, drafter: 0, seconds: 0, compression: 0, state: "racing", window: { top1: "", tv: "", status: "" },
  strips: [], ...changes,
});
const snapshot = (seq, ...lanes) => ({ seq, lanes: lanes.map(lane) });

test("numbers and shares are read cell by cell", () => {
  assert.equal(records.numberAt("000a03ff", 1, 4), 1023);
  assert.equal(records.shareAt("007ffeff", 0), 0);
  assert.equal(records.shareAt("007ffeff", 1), 0.5);
  assert.equal(records.shareAt("007ffeff", 2), 1);
  assert.equal(records.shareAt("007ffeff", 3), null);
  assert.equal(records.shareAt("00", 5), null);
});

test("colours run from the first stop of a scale to the last", () => {
  assert.deepEqual(records.colourOf("top1", 0), [0x44, 0x01, 0x54]);
  assert.deepEqual(records.colourOf("top1", 1), [0xfd, 0xe7, 0x25]);
  assert.deepEqual(records.colourOf("tv", 2), [0xfe, 0xe8, 0x38]);
  const lightness = [0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => {
    const [r, g, b] = records.colourOf("tv", share);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  });
  assert.deepEqual([...lightness].sort((a, b) => a - b), lightness);
});

test("every status has a shape and a colour of its own", () => {
  assert.equal(new Set(records.STATUSES.map((status) => status.shape)).size, 6);
  assert.equal(new Set(records.STATUSES.map((status) => status.colour)).size, 6);
});

test("a race is remembered entry by entry, and a new one begins afresh", () => {
  const race = { seq: -1, lanes: [] };
  assert.equal(records.remember(race, snapshot(0, {}, {})), true);
  assert.equal(records.remember(race, snapshot(1, { passes: 1, n: 2 }, {})), false);
  records.remember(race, snapshot(2, { passes: 1, n: 2, state: "finished" }, { passes: 1 }));
  assert.deepEqual(race.lanes.map((history) => history.length), [3, 2]);
  assert.equal(records.remember(race, snapshot(2, { passes: 1, n: 2, state: "finished" }, { passes: 1 })), false);
  assert.deepEqual(race.lanes.map((history) => history.length), [3, 2]);
  assert.equal(records.remember(race, snapshot(0, {}, {})), true);
  assert.deepEqual(race.lanes.map((history) => history.length), [1, 1]);
  assert.equal(records.remember(race, snapshot(1, {})), true);
});

test("the board knows where a lane stood at any instant", () => {
  const history = [0, 0.5, 1.25, 4].map((seconds, passes) => ({ seconds, passes }));
  assert.equal(records.entryAt(history, "seconds", -1).passes, 0);
  assert.equal(records.entryAt(history, "seconds", 0.5).passes, 1);
  assert.equal(records.entryAt(history, "seconds", 3.99).passes, 2);
  assert.equal(records.entryAt(history, "seconds", 99).passes, 3);
  assert.equal(records.entryAt(history, "passes", 2.5).passes, 2);
  assert.equal(records.lengthOf({ lanes: [history, [{ seconds: 5 }]] }, "seconds"), 5);
});

test("the race's clock is the running lane furthest behind, or the last to finish", () => {
  const lanes = [{ state: "racing", seconds: 2 }, { state: "finished", seconds: 1 }, { state: "racing", seconds: 3 }];
  assert.equal(records.raceClock(lanes, "seconds"), 2);
  assert.equal(records.raceClock(lanes.map((x) => ({ ...x, state: "finished" })), "seconds"), 3);
  assert.equal(records.raceClock([], "seconds"), 0);
});

test("finishers come in the order of a clock", () => {
  const lanes = [[3, 9], [1, 12], [2, 4]].map(([seconds, passes]) => ({ state: "finished", seconds, passes }));
  lanes.push({ state: "failed", seconds: 0, passes: 0 });
  assert.deepEqual(records.finishers(lanes, "seconds"), [1, 2, 0]);
  assert.deepEqual(records.finishers(lanes, "passes"), [2, 0, 1]);
});

test("places are written as people say them", () => {
  assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21].map(records.ordinal),
    ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st"]);
});

test("cells in raster order are few rectangles", () => {
  assert.deepEqual(runs(0, 0, 4), []);
  assert.deepEqual(runs(0, 8, 4), [[0, 0, 4, 2]]);
  assert.deepEqual(runs(2, 14, 4), [[2, 0, 2, 1], [0, 1, 4, 2], [0, 3, 2, 1]]);
  assert.deepEqual(runs(1, 3, 4), [[1, 0, 2, 1]]);
});
