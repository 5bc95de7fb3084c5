import assert from "node:assert/strict";
import test from "node:test";

import { isPair, pairOf, whyApart } from "../../../static/board/pair.js";
import { DID } from "../../../static/trace/explain.js";
import { layerValue } from "../../../static/trace/layers.js";
import { laneAt, placesOf } from "../../../static/trace/replay.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, fieldsOf, range, snapshot, threeSteps } from "../wire.js";

/** A race of lanes "title state seconds passes". */
function raceOf(id, facts, ...lanes) {
  const race = snapshot(
    lanes.map(() => threeSteps("finished")),
    { id, prompt: id, ...facts },
  );
  race.lanes = race.lanes.map((lane, i) => {
    const [title, state, seconds, passes] = lanes[i].split(" ");
    return { ...lane, title, state, seconds: Number(seconds), passes: Number(passes) };
  });
  return race;
}
const a = raceOf("a", { seed: 1 }, "AR finished 4 9", "SJD finished 2 5", "GSD failed 0 0");
const b = raceOf("b", { seed: 2 }, "AR finished 3 9", "SJD finished 2 6", "SCD finished 1 7");

test("two races are one board's, and have no verdict", () => {
  const pair = pairOf(a, b, ["SJD", "AR", "GSD"]);
  assert.deepEqual(fieldsOf(pair.lanes, "title"), [["A AR"], ["A SJD"], ["B AR"], ["B SJD"]]);
  assert.deepEqual([pair.results, pair.link, pair.paintings], [[], "", []]);
  assert.equal(pair.prompt, "A: a, seed 1. B: b, seed 2.");
  assert.deepEqual([pair, a, b].map(isPair), [true, false, false]);
  const race = readRace(pair, null);
  assert.deepEqual(fieldsOf(race.lanes, "count"), [[3], [3], [3], [3]]);
});

test("of each race four lanes at most, the first where none is wanted", () => {
  const many = raceOf("c", {}, ...[1, 2, 3, 4, 5].map((n) => `L${n} finished ${n} ${n}`));
  const titles = (pair) => pair.lanes.map(({ title }) => title);
  const all = titles(pairOf(many, a, ["L1", "L2", "L3", "L4", "L5"]));
  assert.deepEqual(all, ["A L1", "A L2", "A L3", "A L4", "B AR", "B SJD"]);
});

test("what cannot be compared shares no board, and says why", () => {
  assert.equal(whyApart(a, b), "");
  assert.equal(whyApart(a, { ...b, model: "x" }), "Different model");
  for (const facts of [{ grid: [1, 4] }, { codes: 7 }])
    assert.equal(whyApart(a, { ...b, ...facts }), "Different tokens drawn", JSON.stringify(facts));
  assert.equal(whyApart(a, raceOf("d", {}, "AR stopped 1 1")), "No lane finished");
});

test("races of two machines compare by passes alone", () => {
  const pair = pairOf(a, { ...b, machine: "x" }, ["AR"]);
  assert.equal(whyApart(a, { ...b, machine: "x" }), "");
  assert.match(pair.note, /not their seconds/);
  assert.equal(pair.machine, "two machines");
  assert.deepEqual([pair.untimed, pairOf(a, b, ["AR"]).untimed], [true, false]);
  assert.equal(pairOf(a, { ...b, apart: !a.apart }, ["AR"]).untimed, true, "timed in another way");
  const race = readRace(pair, null);
  const places = placesOf({ race, hidden: new Set() }, race.lanes[0]);
  assert.deepEqual([places.seconds, places.passes], [null, 1]);
  assert.equal(pairOf(a, b, ["AR"]).note, "");
});

test("a fork stands beside its parent, each lane with its own beginning", () => {
  const whole = snapshot([threeSteps("finished")], { id: "whole", seed: 1 });
  const rest = new Wire("sjd", "finished", [4, 5]).step(1, 2, 2);
  rest.cell(8, DID.ACCEPTED, { draft: 8 }).cell(9, DID.RESAMPLED, { draft: 8 });
  const infilling = { known: [3, 6, 8, 2, -1, -1], order: "fork", parent: { cell: 3 } };
  const fork = snapshot([rest], { id: "fork", seed: 1, infilling });
  assert.equal(whyApart(whole, fork), "");
  const part = { ...infilling, order: "raster" };
  assert.equal(whyApart(whole, { ...fork, infilling: part }), "Different tokens drawn");
  for (const pair of [pairOf(whole, fork, []), pairOf(fork, whole, [])]) {
    assert.match(pair.prompt, /(A|B): a prompt, seed 1, a fork\./);
    const { lanes } = readRace(pair, null);
    const facts = Object.fromEntries(lanes.map((lane) => [lane.title[0], lane]));
    const [a, b] = pair.id === "whole+fork" ? [facts.A, facts.B] : [facts.B, facts.A];
    assert.deepEqual([a.total, a.fork, a.knownToken(0)], [6, null, null]);
    assert.deepEqual([b.total, b.fork, b.knownToken(0), b.knownToken(4)], [2, 3, 3, null]);
    assert.deepEqual(b.order, [4, 5]);
    // Known tokens are compared, too: the parent's are 5, 6, 9, 1, 2, 3.
    const view = laneAt(a, a.count);
    const differs = range(6).map((cell) => layerValue(a, view, cell, "differs", b));
    assert.deepEqual(differs, [1, 0, 1, 1, 1, 1]);
    const back = range(6).map((cell) => layerValue(b, laneAt(b, b.count), cell, "differs", a));
    assert.deepEqual(back, [null, null, null, null, 1, 1]);
  }
});
