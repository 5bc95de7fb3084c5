// A race put together from what a page is sent of it.

import assert from "node:assert/strict";
import test from "node:test";

import { readRace } from "../../../static/trace/step_table.js";
import { advance, beginRace, patchesOf, picturesOf } from "../../../static/trace/updates.js";
import { range, snapshot, threeSteps } from "../wire.js";

const whole = threeSteps("finished");
const text = whole.lane().table;
const nothing = Object.fromEntries(Object.keys(text).map((name) => [name, ""]));

/** The race before it begins, of so many lanes. */
function first(count = 2) {
  const lanes = range(count).map(() => threeSteps("waiting"));
  const shown = snapshot(lanes, { seq: 0, state: "waiting" });
  for (const lane of shown.lanes) lane.table = { ...nothing };
  return beginRace(shown, null);
}

const update = (seq, lanes, facts = {}) => ({ seq, state: "racing", note: "", lanes, ...facts });
const change = (lane, facts = {}) => ({ lane, table: {}, cells: [], picture: "", ...facts });

test("updates add up to the step tables, whatever each of them holds", () => {
  let race = first();
  const cuts = Object.fromEntries(
    Object.entries(text).map(([name, all]) => [name, all.length / 2]),
  );
  for (const half of [0, 1]) {
    const table = Object.fromEntries(
      Object.entries(text).map(([name, all]) => [
        name,
        all.slice(half * cuts[name]).slice(0, cuts[name]),
      ]),
    );
    race = advance(race, update(half + 1, [change(1, { table, n: half })], { note: `${half}` }));
  }
  assert.deepEqual(race.lanes[1].table, text);
  assert.deepEqual(race.lanes[0].table, nothing);
  assert.equal(race.lanes[1].title, "SJD");
  assert.deepEqual([race.seq, race.state, race.note, race.lanes[1].n], [2, "racing", "1", 1]);
  const lane = readRace(race, null).lanes[1];
  assert.equal(lane.count, 3);
});

test("what is painted comes in its order, and in one list", () => {
  let race = first();
  const list = race.paintings;
  const known = change(0, { picture: "known" });
  race = advance(race, update(1, [known, change(1, { cells: [0, 1] })], { patches: "two" }));
  race = advance(race, update(2, [change(0, { cells: [3] })], { patches: "one" }));
  race = advance(race, update(3, [change(1, { picture: "last" })], { patches: "" }));
  assert.equal(race.paintings, list);
  assert.deepEqual(list, [
    { image: "known", parts: [{ lane: 0 }] },
    { image: "two", parts: [{ lane: 1, cells: [0, 1] }] },
    { image: "one", parts: [{ lane: 0, cells: [3] }] },
    { image: "last", parts: [{ lane: 1 }] },
  ]);
  assert.deepEqual(picturesOf(race), [
    { image: "known", parts: [{ lane: 0 }] },
    { image: "last", parts: [{ lane: 1 }] },
  ]);
});

test("a snapshot in the middle keeps what was painted, one at the end paints it all", () => {
  let race = advance(first(1), update(1, [change(0, { cells: [0] })], { patches: "one" }));
  const later = { ...race, seq: 2, state: "racing" };
  assert.equal(beginRace(later, race).paintings, race.paintings);
  assert.deepEqual(beginRace({ ...later, id: "b" }, race).paintings, []);
  race = advance(race, update(3, [change(0, { picture: "last" })]));
  const over = beginRace({ ...race, state: "finished" }, race);
  assert.deepEqual(over.paintings, [{ image: "last", parts: [{ lane: 0 }] }]);
});

test("patches lie one after another, in rows as long as the swatches'", () => {
  const parts = [
    { lane: 0, cells: [4, 5] },
    { lane: 2, cells: range(31) },
  ];
  const { places, side } = patchesOf({ image: "", parts }, 32 * 8);
  assert.equal(side, 8);
  assert.deepEqual(places[0], { lane: 0, cell: 4, left: 0, top: 0 });
  assert.deepEqual(places[2], { lane: 2, cell: 0, left: 16, top: 0 });
  assert.deepEqual(places[32], { lane: 2, cell: 30, left: 0, top: 8 });
  assert.equal(patchesOf({ image: "", parts: [{ lane: 0, cells: [1, 2, 3] }] }, 48).side, 16);
});
