// The terms that the board's sentences mark, and the glossary that they open.

import assert from "node:assert/strict";
import test from "node:test";
import glossary from "../../../static/panels/glossary.json" with { type: "json" };
import { glossaryRows, withTerms } from "../../../static/panels/terms.js";

/** What a reader sees, marked terms in brackets. */
const read = (text, seen) =>
  withTerms(text, seen)
    .map((part) => (typeof part === "string" ? part : `[${part.values.join("|")}]`))
    .join("");

test("the first of each term is marked with its entry, in any of its forms", () => {
  const text = "Two distributions differ by TV(p, q); a distribution and its residual.";
  assert.equal(
    read(text),
    "Two [distribution|distributions] differ by [TV(p, q)|TV(p, q)]; a distribution and its " +
      "[residual|residual].",
  );
});

test("a word that only contains a term is none, and a longer term goes first", () => {
  assert.equal(read("grouped, shifted, non-lossless, TVs"), "grouped, shifted, non-lossless, TVs");
  assert.equal(read("an acceptance length"), "an [acceptance length|acceptance length]");
});

test("sentences that share a text mark a term once", () => {
  const seen = new Set();
  assert.equal(read("noise", seen), "[noise|noise]");
  assert.equal(read("noise", seen), "noise");
});

test("every term that can be marked has an entry, and every entry a row", () => {
  const all = Object.keys(glossary).join("; ");
  const marked = withTerms(all).filter((part) => typeof part !== "string");
  assert.ok(marked.length > 15);
  for (const { values } of marked) assert.ok(values[0] in glossary, values[0]);
  assert.equal(glossaryRows().length, Object.keys(glossary).length);
});
