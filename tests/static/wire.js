// Step tables written by hand, row by row, and what tests say of numbers.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { env } from "node:process";

import { DID } from "../../static/trace/explain.js";
import { readRace } from "../../static/trace/step_table.js";

const dtypes = JSON.parse(env.DTYPES); // the engine's layout of the tables: test_node.py
const NONE = 65535;
const { ACCEPTED, RESAMPLED, FRESH, FORCED, REFINED, REJECTED } = DID;

const padded = (values, length, filler) => range(length).map((i) => values[i] ?? filler);
const share = (value) => (value === null ? NONE : Math.round(65534 * value));

// A row's bytes: each field's numbers where the layout has them.
function bytesOf(name, values) {
  const { size, fields } = dtypes.tables[name];
  const view = new DataView(new ArrayBuffer(size));
  for (const [field, given] of Object.entries(values)) {
    const [type, offset] = fields[field];
    [given].flat().forEach((value, i) => {
      view[`set${type}`](offset + (i * Number(type.match(/\d+/)[0])) / 8, value, true);
    });
  }
  return Buffer.from(view.buffer);
}

/** The likeliest tokens of a distribution: pairs of a token and its probability. */
export function top(...pairs) {
  const [tokens, shares] = [fieldOf(pairs, 0), fieldOf(pairs, 1).map(share)];
  return { top: padded(tokens, 8, NONE), top_shares: padded(shares, 8, 0) };
}

/**
 * A lane's step table. `cells`: of every position, -1 where one is forced; `own`: of a lane with an
 * order of its own.
 */
export class Wire {
  tables = Object.fromEntries(Object.keys(dtypes.tables).map((name) => [name, []]));

  constructor(decoder = "sjd", state = "racing", cells = [0, 1, 2, 3, 4, 5], own = []) {
    Object.assign(this, { decoder, state, cells, own });
  }

  #add(name, values) {
    this.tables[name].push(bytesOf(name, values));
    return this;
  }

  step(nfe, positions, committed, known = {}) {
    const { rows = positions, drafter = 0, micros = [1000, 0, 0, 0] } = known;
    const [forward, verify, cache, draft] = micros;
    const counts = { nfe, rows, positions, committed, drafter_passes: drafter };
    return this.#add("steps", { ...counts, forward, verify, cache, draft });
  }

  /**
   * `shares` in the order of `dtypes`; those left out are none. `tops`: p's, and q's own. `place`:
   * the position, of a lane whose rows advance each at its own pace.
   */
  cell(token, status, { draft = null, kind = 0, shares = [0.5], tops = [top()], place } = {}) {
    if (place !== undefined) this.#add("places", { position: place });
    const numbers = dtypes.shares.map((name, i) => [name, share(shares[i] ?? null)]);
    const [p, ...own] = tops;
    for (const q of own) this.#add("distributions", q);
    const what = { draft: draft ?? NONE, token, status, refs: kind };
    return this.#add("positions", { ...what, ...Object.fromEntries(numbers), ...p });
  }

  group(count, p, q, draft, ...others) {
    return this.#add("groups", { count, p, q, neighbours: padded(others, 7, NONE) });
  }

  candidate(token, p, q, acceptance, uniform) {
    const shares = Object.entries({ p, q, acceptance, uniform }).map(([k, x]) => [k, share(x)]);
    return this.#add("candidates", { token, ...Object.fromEntries(shares) });
  }

  prices(...shifts) {
    for (const shift of shifts) this.#add("prices", { shift: share(shift) });
    return this;
  }

  lane() {
    const text = (rows) => Buffer.concat(rows).toString("base64");
    const tables = Object.entries(this.tables).map(([name, rows]) => [name, text(rows)]);
    const { decoder, state, own } = this;
    const badge = `${["gsd", "lantern"].includes(decoder) ? "changed" : "same"} distribution`;
    const names = { decoder, rule: decoder, title: decoder.toUpperCase(), badge };
    const table = Object.fromEntries(tables);
    return { ...names, state, own_cells: own, picture: "", table };
  }
}

export function snapshot(lanes, facts = {}) {
  const named = { id: "a", seq: 1, recorded: false, prompt: "a prompt", seed: 7, model: "toy" };
  const picture = { codes: 16, grid: [2, 3], cells: lanes[0].cells, dtypes };
  const shown = lanes.map((lane) => lane.lane());
  return { ...named, machine: "here", ...picture, lanes: shown, ...facts };
}

export const raceOf = (...lanes) => readRace(snapshot(lanes), null);
export const laneOf = (wire) => raceOf(wire).lanes[0];

/**
 * Two cells and a draft; one that was resampled and a forced position, with two drafts behind it;
 * and the two left.
 */
export function threeSteps(state = "racing", cells = [0, 1, 2, -1, 3, 4, 5]) {
  const wire = new Wire("sjd", state, cells);
  wire.step(1, 3, 2, { drafter: 2, micros: [1000, 200, 30, 4] });
  wire.cell(5, FRESH).cell(6, ACCEPTED, { draft: 6 }).cell(7, REFINED, { draft: 7 });
  wire.step(3, 4, 2, { micros: [500, 0, 0, 0] });
  wire.cell(9, RESAMPLED, { draft: 7, shares: [0.25, 0.5, 0.75, 0.125] }).cell(21, FORCED);
  wire.cell(1, REJECTED, { draft: 2 }).cell(2, REFINED, { draft: 2 });
  wire.step(4, 3, 3);
  return wire.cell(1, ACCEPTED, { draft: 1 }).cell(2, ACCEPTED, { draft: 2 }).cell(3, FRESH);
}

/**
 * 2 x 3 tokens whose rows have a window each: the second begins before the first has ended, and the
 * last step commits in both. `forced`: a mark ends each row.
 */
export function rolling(state = "finished", forced = false) {
  const cells = forced ? [0, 1, 2, -1, 3, 4, 5, -1] : range(6);
  const wire = new Wire("rows", state, cells);
  const rolled = (cell, token, status, known = {}) =>
    wire.cell(token, status, { place: cells.indexOf(cell), tops: [top([token, 0.5])], ...known });
  const drafted = (draft, kind, uniform = null) => {
    const shares = [0.5, 0.5, 0.25, 0.75, uniform, 0.45, 0.6, uniform === null ? null : 0];
    return { draft, kind, shares };
  };
  wire.step(1, 3, 2);
  rolled(0, 10, ACCEPTED, drafted(10, 1, 0.1));
  rolled(1, 11, RESAMPLED, drafted(9, 1, 0.9));
  rolled(2, 12, REFINED);
  wire.step(2, 4, 1);
  rolled(3, 13, ACCEPTED, drafted(13, 1, 0.1));
  rolled(2, 17, REFINED, drafted(12, 2));
  rolled(4, 14, REFINED, drafted(8, 1));
  rolled(5, 15, REFINED);
  wire.step(3, forced ? 5 : 3, forced ? 5 : 3);
  rolled(2, 22, RESAMPLED, drafted(17, 2, 0.9));
  if (forced) wire.cell(99, FORCED, { place: 3 });
  rolled(4, 14, ACCEPTED, drafted(14, 2, 0.1));
  rolled(5, 25, FRESH);
  if (forced) wire.cell(99, FORCED, { place: 7 });
  return wire;
}

/** A picture of 2 x 3 tokens of which three are filled in: two, then the last one. */
export function filledIn(decoder = "assd") {
  const wire = new Wire(decoder, "finished", [4, 0, 2]);
  wire.step(1, 2, 1).cell(8, FRESH).cell(9, REFINED);
  wire.step(2, 2, 2).cell(9, ACCEPTED, { draft: 9 }).cell(10, FRESH);
  const infilling = { known: [-1, 11, -1, 13, -1, 15], order: "spread" };
  return readRace(snapshot([wire], { infilling }), null);
}

/** Asserts that two values are equal, their numbers but for a share's 16 bits. */
export function near(actual, expected, tolerance = 1e-5) {
  if (expected !== null && typeof expected === "object") {
    assert.deepEqual(Object.keys(actual), Object.keys(expected));
    for (const key of Object.keys(expected)) near(actual[key], expected[key], tolerance);
  } else assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not near ${expected}`);
}

/** A text whose comparisons have plain spaces; on the page they are kept in one piece. */
export const plain = (text) => text.replaceAll("\u00a0", " ");
export const range = (length) => Array.from({ length }, (_, i) => i);

/** One field of each thing, and several. */
export const fieldOf = (things, name) => things.map((one) => one[name]);
export const fieldsOf = (things, ...names) => things.map((one) => names.map((name) => one[name]));

/** Vanilla AR and SJD draw the last two tokens of 2 x 3 on: the token before them is another. */
export function forked() {
  const ar = new Wire("ar", "finished", [4, 5]).step(1, 1, 1).cell(8, FRESH);
  const sjd = new Wire("sjd", "finished", [4, 5]).step(1, 2, 2);
  sjd.cell(8, ACCEPTED, { draft: 8 }).cell(9, RESAMPLED, { draft: 8 });
  const parent = { race: "b", seed: 7, lane: "AR", cell: 3, instead: 4, p: 0.125 };
  const infilling = { known: [3, 7, 8, 2, -1, -1], order: "fork", parent };
  return readRace(snapshot([ar.step(2, 1, 1).cell(9, FRESH), sjd], { infilling }), null);
}
