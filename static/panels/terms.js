// The glossary: the help's rows, and the terms in the board's sentences that open it.

import { html } from "../vendor/lit-html.js";
import glossary from "./glossary.json" with { type: "json" };

// The forms of each entry that sentences link. Words such as "token" and "pass" would be marked in
// every sentence; the tour explains them where they first stand.
/** @type {Record<string, string>} */
const LINKED = {
  "acceptance length": "acceptance length",
  acceptance: "acceptance",
  "candidate, tree": "candidates?|trees?",
  coupled: "coupled",
  distribution: "distributions?",
  EAGLE: "EAGLE",
  frontier: "frontier",
  group: "group",
  guidance: "guidance",
  "log p, nats": "nats?",
  lossless: "lossless",
  "n-gram": "n-grams?",
  neighbourhood: "neighbourhoods?",
  noise: "noise",
  "rejected, resampled": "resampled",
  residual: "residual",
  shift: "shift",
  "spread, raster": "raster",
  "top-1": "top-1",
  "TV(p, q)": "TV\\(p, q\\)|TV",
  window: "windows?",
};
const ENTRIES = Object.keys(LINKED);
const FORMS = Object.values(LINKED).map((forms) => `(${forms})`);
const TERM = new RegExp(`(?<![\\w-])(?:${FORMS.join("|")})(?![\\w-])`, "g");

/**
 * Turn the first occurrence of each term in a sentence into a button that opens the glossary at
 * that term. Terms in `seen` stay plain. Terms that become buttons are added to `seen`.
 * @param {string} text @param {Set<string>} [seen]
 */
export function withTerms(text, seen = new Set()) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TERM)) {
    const entry = ENTRIES[match.slice(1).findIndex(Boolean)];
    if (seen.has(entry)) continue;
    seen.add(entry);
    const [term] = match;
    const button = html`<button type="button" class="term" data-entry=${entry}>${term}</button>`;
    parts.push(text.slice(end, match.index), button);
    end = match.index + term.length;
  }
  return [...parts, text.slice(end)];
}

/** Draw the glossary's rows. */
export const glossaryRows = () =>
  Object.entries(glossary).map(([entry, words]) => helpRow(entry, words));

/** Draw a row of the help. @param {string} name @param {string} words */
export const helpRow = (name, words) =>
  html`<tr data-entry=${name}>
    <th scope="row">${name}</th>
    <td>${words}</td>
  </tr>`;
