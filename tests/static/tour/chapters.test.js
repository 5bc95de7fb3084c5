// The tour over several recorded races, each of which has its own chapters. What a chapter shows
// and says of a race is in tests/prose.txt.

import assert from "node:assert/strict";
import test from "node:test";

import { tourOf } from "../../../static/tour/chapters.js";
import { CHAPTERS, chapterAbout } from "../../../static/tour/outline.js";
import { DID } from "../../../static/trace/explain.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, fieldsOf, filledIn, plain, snapshot } from "../wire.js";
import { ar, scd, tour, verified } from "./races.js";

const { ACCEPTED, FRESH, REFINED } = DID;

/** Numbers from 0 to 1 that follow from a seed (Park and Miller's generator). */
function* uniforms(seed) {
  for (let state = seed; ;) yield (state = (state * 48271) % 2147483647) / 2147483647;
}

/** The lines of a race's chapter, and the first number behind some words of it. */
const linesOf = (title, ...wires) =>
  tour(...wires).chapters.find((one) => one.title === title).lines;
const numberIn = (line, words) => Number(line.split(words)[1].match(/[0-9.]*[0-9]/)[0]);

test("each of the tour's recorded races has a place for the others' chapters", () => {
  const places = (race, races) => fieldsOf(tourOf(race, races).chapters, "number", "elsewhere");
  const filled = filledIn();
  filled.snapshot.id = "part";
  const expected = [
    ...Array(11).fill("tour"),
    "front",
    "front",
    undefined,
    "other",
    "tour",
    undefined,
  ];
  assert.deepEqual(
    places(filled, { whole: "tour", rows: "front", filling: "part", fork: "other" }),
    expected.map((home, i) => [i + 1, home]),
  );
  const race = readRace(snapshot([ar()], { id: "tour", grid: [1, 6] }), null);
  assert.deepEqual(places(race, { whole: "tour", filling: "part" }), [
    [1, undefined],
    [14, "part"],
    [15, undefined],
  ]);
});

test("chapter 7 chooses its words by the numbers beside them", () => {
  const random = uniforms(7);
  const next = () => random.next().value;
  const said = new Set();
  for (let race = 0; race < 200; race++) {
    const sure = next(); // of this race's distributions
    const apart = next();
    const around = (middle) => Math.min(0.998, Math.max(0.001, middle + 0.2 * (next() - 0.5)));
    const wire = new Wire("sjd", "finished");
    for (let pass = 1; pass <= 6; pass++) {
      wire.step(pass, 1, 1);
      const known = { top1: around(sure), top1Draft: around(sure), tv: around(apart) };
      verified(wire, pass, ACCEPTED, pass, [0.5, 0.5, 0.1], known);
    }
    const [flat, far, chosen] = linesOf("Why image tokens are hard", wire);
    const top1 = numberIn(flat, "has probability");
    assert.ok(flat.includes("mostly wrong") ? top1 <= 0.5 : top1 >= 0.5, flat);
    assert.equal(flat.includes("or less"), flat.includes("mostly wrong"));
    const tv = numberIn(far, "a median TV of");
    assert.ok(far.includes("TV of only") ? tv <= 0.5 : tv >= 0.5, far);
    if (far.includes("share little")) assert.ok(top1 <= 0.5 && tv >= 0.5, flat + far);
    const mean = numberIn(far, "The mean of that over all tested drafts is");
    const [, fate] = far.match(/: ([a-z ]+)\.$/);
    const fates = { "-1": "most drafts fail", 0: "half of the drafts pass", 1: "most drafts pass" };
    assert.equal(fate, fates[Math.sign(mean - 0.5)], far);
    if (chosen.includes("yet")) {
      assert.ok(
        numberIn(chosen, "TV is") >= 0.5 && numberIn(chosen, "top-1 of p is") <= 0.5,
        chosen,
      );
      assert.ok(numberIn(chosen, "that of q is") <= 0.5, chosen);
    }
    said.add(flat.includes("less")).add(fate);
  }
  assert.ok(said.size >= 4, "races of every kind were made");
});

/** A lane that redrew so many guesses and kept so many of them. */
function redrawing(decoder, kept, all) {
  const wire = new Wire(decoder, "finished").step(1, all + 1, 1).cell(1, FRESH);
  for (let i = 0; i < all; i++) wire.cell(7, REFINED, { draft: i < kept ? 7 : 9 });
  wire.step(2, 5, 5);
  for (let i = 0; i < 5; i++) wire.cell(7, ACCEPTED, { draft: 7 });
  return wire;
}

test("chapter 5 says that more guesses stay only where more did", () => {
  for (let scd = 0; scd <= 5; scd++)
    for (let sjd = 0; sjd <= 5; sjd++) {
      const lanes = [redrawing("scd", scd, 5), redrawing("sjd", sjd, 5)];
      const [line] = linesOf("Redraw with the same noise", ...lanes);
      assert.equal(line.includes("Not in this race"), scd <= sjd, line);
      assert.ok(line.endsWith(`${20 * scd}% stayed, and ${20 * sjd}% in SJD.`), line);
    }
});

test("a relaxed rule's chapter names a price only where its tests shifted something", () => {
  for (const shift of [0, 0.125]) {
    const wire = new Wire("gsd", "finished");
    const shares = [0.5, 0.5, 0.5, 0.5, 0.25, 0.5, 0.5, shift];
    for (let pass = 1; pass <= 6; pass++)
      wire.step(pass, 1, 1).cell(1, ACCEPTED, { draft: 1, shares });
    const line = plain(linesOf("Accept a group", wire).at(-1));
    assert.equal(line.includes("no longer the model's own"), shift > 0, line);
    assert.equal(line.includes("as if 13 in 100 tokens"), shift > 0, line);
  }
});

test("a decoder has the chapter that is named for its rule", () => {
  const about = (decoder) => CHAPTERS[chapterAbout(decoder) - 1]?.title;
  assert.equal(about("sjd"), "Guess with a distribution");
  assert.equal(about("scd"), "Redraw with the same noise");
  assert.equal(about("lantern"), "Accept a neighbour");
  assert.equal(about("rows"), "Guess in every row");
  assert.equal(about("sjd-plus-plus"), "Redraw with the same noise");
  assert.equal(about("sjd-relaxed"), "Accept a group");
  assert.equal(about("auto-correct"), "Guess in every row");
  assert.equal(chapterAbout("an author's own"), 0);
});

test("a chapter says something of a further decoder that raced, and shows its lane", () => {
  const threshold = scd();
  const title = "Redraw with the same noise";
  const without = tour(ar(), threshold).chapters.find((chapter) => chapter.title === title);
  const other = new Wire("sjd-plus-plus", "finished").step(1, 6, 6);
  for (let i = 0; i < 6; i++) other.cell(i, ACCEPTED, { draft: i });
  const beside = tour(ar(), threshold, other).chapters.find((chapter) => chapter.title === title);
  assert.deepEqual(beside.lines.slice(0, -1), without.lines);
  assert.match(beside.lines.at(-1), /^SJD\+\+ keeps a draft/);
  assert.deepEqual([...without.view.hidden], [0]);
  assert.deepEqual([...beside.view.hidden], [0]);
});
