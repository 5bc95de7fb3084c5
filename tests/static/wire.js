// Wires written by hand, row by row as visualize/wire.py describes them, and what tests say of
// numbers.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";

import { DID } from "../../static/explain.js";
import { readRace } from "../../static/step_table.js";

const NONE = 65535;
const { ACCEPTED, RESAMPLED, FRESH, REFINED, REJECTED } = DID;

const u8 = (...values) => Buffer.from(values);
const u16 = (...values) =>
  Buffer.concat(values.map((value) => Buffer.from([value & 255, value >> 8])));
const u32 = (...values) => u16(...values.flatMap((value) => [value & 65535, value >>> 16]));
const padded = (values, length, filler) => [
  ...values,
  ...Array(length - values.length).fill(filler),
];
const share = (value) => (value === null ? NONE : Math.round(65534 * value));

/** The likeliest tokens of a distribution: pairs of a token and its probability. */
export function top(...pairs) {
  const flat = pairs.flatMap(([token, probability]) => [token, share(probability)]);
  return Buffer.concat([u8(pairs.length), u16(...padded(flat, 16, 0))]);
}

/** A lane's columns. */
export class Wire {
  columns = { steps: [], cells: [], laws: [], kin: [], siblings: [] };

  constructor(decoder = "sjd", state = "racing") {
    Object.assign(this, { decoder, state });
  }

  #add(column, ...bytes) {
    this.columns[column].push(...bytes);
    return this;
  }

  step(
    nfe,
    touched,
    committed,
    { tokens = committed, drafter = 0, micros = [1000, 0, 0, 0] } = {},
  ) {
    const counts = u16(touched, committed, tokens, drafter);
    return this.#add("steps", u32(nfe), counts, u32(...micros), u8(0, 0));
  }

  /** `shares`: top1, top1_draft, tv, acceptance, uniform, p, q; those left out are none. */
  cell(token, status, { draft = null, kind = 0, shares = [0.5], tops = [top()] } = {}) {
    const numbers = padded(shares, 7, null).map(share);
    this.#add("laws", ...tops);
    return this.#add("cells", u16(draft ?? NONE, token), u8(status, kind), u16(...numbers), u8(0));
  }

  group(count, p, q, ...tokens) {
    return this.#add("kin", u16(count, share(p), share(q), ...padded(tokens, 8, NONE)), u8(0, 0));
  }

  candidate(token, ...shares) {
    return this.#add("siblings", u16(token, ...shares.map(share)), u8(0, 0));
  }

  lane() {
    const columns = Object.entries(this.columns).map(([name, bytes]) => [
      name,
      Buffer.concat(bytes).toString("base64"),
    ]);
    const { decoder, state } = this;
    const title = decoder.toUpperCase();
    return { decoder, title, state, strips: [], ...Object.fromEntries(columns) };
  }
}

export function snapshot(lanes, facts = {}) {
  return {
    ...{ seq: 1, recorded: false, prompt: "a prompt", seed: 7, model: "toy", machine: "here" },
    ...{ codes: 16, grid: [2, 3], lanes: lanes.map((lane) => lane.lane()), ...facts },
  };
}

export const raceOf = (...lanes) => readRace(snapshot(lanes), null);
export const laneOf = (wire) => raceOf(wire).lanes[0];

/** Two cells and a draft; one that was resampled, with two drafts behind it; and the two left. */
export function threeSteps(state = "racing") {
  const wire = new Wire("sjd", state);
  wire.step(1, 3, 2, { drafter: 2, micros: [1000, 200, 30, 4] });
  wire.cell(5, FRESH).cell(6, ACCEPTED, { draft: 6 }).cell(7, REFINED, { draft: 7 });
  wire.step(3, 3, 1, { tokens: 2, micros: [500, 0, 0, 0] });
  wire.cell(9, RESAMPLED, { draft: 7, shares: [0.25, 0.5, 0.75, 0.125] });
  wire.cell(1, REJECTED, { draft: 2 }).cell(2, REFINED, { draft: 2 });
  wire.step(4, 3, 3);
  return wire.cell(1, ACCEPTED, { draft: 1 }).cell(2, ACCEPTED, { draft: 2 }).cell(3, FRESH);
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
