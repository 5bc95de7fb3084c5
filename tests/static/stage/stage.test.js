// Moments as links, and the lanes on a stage.

import assert from "node:assert/strict";
import test from "node:test";

import { addressOf, isLinked, readMoment, writeMoment } from "../../../static/controls/moment.js";
import { lanesShown, nextLane } from "../../../static/stage/stage.js";

const lanes = ["ar", "sjd", "gsd"].map((decoder) => ({ decoder, count: 0, steps: [] }));
const race = { lanes, cells: 16, snapshot: { id: "duel", link: "?recorded=duel" } };
const live = { id: "x1-_", link: "?prompt=a&seed=1" };
const still = { race, clock: "passes", t: 3, layer: "tv", cell: null, hidden: new Set() };

test("a moment that is written is read again", () => {
  const cell = { lane: 2, cell: 7, pinned: true };
  const query = writeMoment({ ...still, cell, hidden: new Set([0]) });
  assert.equal(query, "?recorded=duel&clock=passes&t=3&layer=tv&cell=3,7&lane=2,3");
  const moment = { clock: "passes", layer: "tv", hidden: new Set([0]), cell, t: 3, playing: false };
  assert.deepEqual(readMoment(query, race), moment);
});

test("lanes are shown by their numbers or decoders, under either name of the field", () => {
  for (const query of ["lane=2,3", "lane=sjd,gsd", "lane=gsd,2", "shown=2,3"])
    assert.deepEqual(readMoment(query, race), { hidden: new Set([0]) }, query);
});

test("what cannot be is left out", () => {
  const queries = "t=-1 t=x clock=hours layer=sound cell=4,0 cell=1,16 cell=0,1 cell=1";
  for (const query of [...queries.split(" "), "lane=", "lane=9", "shown=x", ""])
    assert.deepEqual(readMoment("?" + query, race), {}, query);
});

test("a page is about the race that its address names", () => {
  assert.equal(isLinked("?recorded=duel", "?utm=1&recorded=duel&t=3"), true);
  assert.equal(isLinked("?recorded=duel", "?recorded=tour&t=3"), false);
  assert.equal(isLinked("?prompt=a&seed=1", "?go=1&seed=1&prompt=a"), true);
  assert.equal(isLinked("?prompt=a&seed=1", "?go=1&seed=2&prompt=a"), false);
  assert.equal(isLinked("", "?t=3"), false);
  assert.equal(isLinked("?recorded=duel", "?embed=1&t=3"), true);
  assert.equal(isLinked("?recorded=duel", "?embed=1&race=x&t=3"), false);
});

test("the page's address names the race on the board, and never starts one", () => {
  const before = "?prompt=b&go=1&t=3&utm=1&present=1&embed=1&__theme=dark";
  const after = "?prompt=a&seed=1&race=x1-_&present=1&embed=1&__theme=dark";
  assert.equal(addressOf(live, before), after);
  assert.equal(addressOf(race.snapshot, "?race=x1-_&prompt=a"), "?recorded=duel");
  assert.equal(addressOf({ ...live, link: "" }, ""), "?race=x1-_");
});

test("a moment of a race that was run here is found again by its id, or by its passes", () => {
  const query = writeMoment({ ...still, race: { ...race, snapshot: live } });
  assert.equal(query, "?prompt=a&seed=1&race=x1-_&go=1&clock=passes&t=3&layer=tv");
});

test("a phone's stage shows one lane, and goes round those that are not hidden", () => {
  const state = { ...still, front: 1 };
  assert.deepEqual(lanesShown(state, false), [0, 1, 2]);
  assert.deepEqual(lanesShown(state, true), [1]);
  assert.deepEqual([nextLane(state, 1), nextLane(state, -1)], [2, 0]);
  const hidden = new Set([1]);
  assert.deepEqual(lanesShown({ ...state, hidden }, true), [0]);
  assert.deepEqual(nextLane({ ...state, hidden }, -1), 2);
  assert.deepEqual(lanesShown({ ...state, hidden: new Set([0, 1, 2]) }, true), []);
});
