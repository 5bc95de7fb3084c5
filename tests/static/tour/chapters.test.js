// The tour over several recorded races, each of which has its own chapters. What a chapter shows
// and says of a race is in tests/prose.txt.

import assert from "node:assert/strict";
import test from "node:test";

import { tourOf } from "../../../static/tour/chapters.js";
import { readRace } from "../../../static/trace/step_table.js";
import { fieldsOf, filledIn, range, snapshot } from "../wire.js";
import { ar } from "./races.js";

test("each of the tour's recorded races has a place for the others' chapters", () => {
  const places = (race, races) => fieldsOf(tourOf(race, races).chapters, "number", "elsewhere");
  const filled = filledIn();
  filled.snapshot.id = "part";
  const expected = range(14).map((i) => [i + 1, i < 10 ? "tour" : i < 12 ? "front" : undefined]);
  assert.deepEqual(places(filled, { whole: "tour", rows: "front", filling: "part" }), expected);
  const race = readRace(snapshot([ar()], { id: "tour", grid: [1, 6] }), null);
  assert.deepEqual(places(race, { whole: "tour", filling: "part" }), [
    [1, undefined],
    [13, "part"],
    [14, undefined],
  ]);
});
