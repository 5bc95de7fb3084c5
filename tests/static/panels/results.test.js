// What a finished race says of itself.

import assert from "node:assert/strict";
import test from "node:test";

import { rowsPerPass, outcomeOf, whySentence } from "../../../static/panels/results.js";
import { range } from "../wire.js";

// A lane of `passes` passes over `rows` rows, each of so many forward milliseconds; the other parts
// of its seconds are verification, and a drafter's.
function lane(title, decoder, badge, known) {
  const { passes, rows = 1, forward, verify = 0, draft = 0, drafter = 0 } = known;
  const split = [(passes * forward) / 1000, verify, 0, draft];
  const seconds = split.reduce((sum, part) => sum + part);
  const steps = range(passes).map(() => ({ rows }));
  return { title, decoder, badge, passes, split, seconds, steps, drafter };
}
const [IDENTICAL, SAME] = ["identical image", "same distribution"];
const ar = lane("Vanilla AR", "ar", IDENTICAL, { passes: 100, forward: 10 });
const sjd = lane("SJD", "sjd", SAME, { passes: 50, rows: 16, forward: 20, verify: 0.5 });
const fpi = lane("Fixed point", "fpi", IDENTICAL, { passes: 60, rows: 16, forward: 10 });

function raceOf(lanes, { recorded = false, model = "big", differs = null } = {}) {
  const results = lanes.map((_, i) => ({ lane: i, differs }));
  return { snapshot: { results, recorded, model, lanes }, lanes, cells: 256 };
}

test("the verdict names the fewest passes, the fastest, and the same picture faster", () => {
  assert.equal(
    outcomeOf(raceOf([ar, sjd, fpi])),
    "Fewest passes: SJD, 50. Fastest here: Fixed point, 0.600 s. " +
      "Same picture as Vanilla AR, faster: Fixed point.",
  );
  assert.equal(outcomeOf(raceOf([ar])), "");
  assert.match(outcomeOf(raceOf([ar, sjd], { recorded: true })), /Fastest: Vanilla AR/);
});

test("no win is claimed where another run may order the lanes otherwise", () => {
  const near = { ...fpi, title: "SCD", badge: SAME, seconds: 1.01 * fpi.seconds };
  assert.match(
    outcomeOf(raceOf([ar, fpi, near])),
    /^Fewest passes: Fixed point and SCD, 60\. Fastest here: Fixed point and SCD, too near/,
  );
  assert.ok(!outcomeOf(raceOf([ar, { ...fpi, seconds: 0.99 }])).includes("Same picture"));
  assert.ok(!outcomeOf(raceOf([ar, fpi], { differs: 9 })).includes("Same picture"));
});

test("passes are compared by their forward time and their own rows, whatever else a step does", () => {
  assert.equal(rowsPerPass(sjd), 16);
  const slow = { ...sjd, split: [1, 9, 1, 0] };
  const here = "Here a pass of SJD, over 16.0 rows on average, took 2.0 times as long as one of";
  assert.ok(whySentence(raceOf([ar, slow])).endsWith(`${here} Vanilla AR, over a single row.`));
  assert.ok(!whySentence(raceOf([sjd])).includes("Here"));
});

test("a drafter's share of its lane is said, and how small it is beside a large model", () => {
  const knobs = { passes: 50, rows: 4, forward: 12, drafter: 150, draft: 0.6 };
  const lantern = lane("LANTERN", "lantern", "changed distribution", knobs);
  const words = whySentence(raceOf([ar, lantern]));
  const own =
    "LANTERN's small network took 50% of its seconds: 150 passes, each 0.33 of one of the mod";
  assert.ok(words.includes(own));
  assert.ok(!words.includes("LlamaGen"));
  assert.match(whySentence(raceOf([ar, lantern], { model: "embedded" })), /one beside 36\.$/);
});
