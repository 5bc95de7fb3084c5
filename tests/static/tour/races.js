// Races over one row of six cells, written by hand, for the tour's chapters.

import { tourOf } from "../../../static/tour/chapters.js";
import { DID } from "../../../static/trace/explain.js";
import { readRace } from "../../../static/trace/step_table.js";
import { Wire, plain, snapshot, top } from "../wire.js";

const { ACCEPTED, RESAMPLED, FRESH, REFINED, REJECTED } = DID;
const [OWN, GROUP] = [3, 4];
const FLAT = top([1, 0.1], [2, 0.05]);
const TITLES = { ar: "Vanilla AR", sjd: "SJD" };

/** The tour of a race of these lanes. */
export function tour(...wires) {
  const shot = snapshot(wires, { grid: [1, 6], codes: 1024 });
  for (const lane of shot.lanes) {
    Object.assign(lane, { title: TITLES[lane.decoder] ?? lane.title, drafter: 0 });
  }
  const found = tourOf(readRace(shot, null));
  for (const chapter of found.chapters) chapter.lines = chapter.lines.map(plain);
  return found;
}

export function ar() {
  const wire = new Wire("ar", "finished");
  [0.5, 0.5, 0.1, 0.5, 0.4, 0.5].forEach((share, i) => {
    wire.step(i + 1, 1, 1, { micros: [500_000, 0, 0, 0] });
    wire.cell(7, FRESH, { shares: [share], tops: [top([7, share])] });
  });
  return wire;
}

/** Pass 1 repeats nothing, pass 2 two guesses and then another, pass 3 one. */
export function jacobi() {
  const wire = new Wire("jacobi", "finished").step(1, 3, 1);
  wire.cell(1, RESAMPLED, { draft: 9 }).cell(2, REFINED, { draft: 9 }).cell(3, REFINED);
  wire.step(2, 4, 3).cell(2, ACCEPTED, { draft: 2 }).cell(3, ACCEPTED, { draft: 3 });
  wire.cell(4, RESAMPLED, { draft: 9 }).cell(5, REFINED);
  return wire.step(3, 2, 2).cell(5, ACCEPTED, { draft: 5 }).cell(6, FRESH);
}

/** Vanilla AR's tokens; but the last where it is `other`. */
export function fpi(other = 7) {
  const wire = new Wire("fpi", "finished").step(1, 6, 2);
  wire.cell(7, ACCEPTED, { draft: 7 }).cell(7, RESAMPLED, { draft: 9 });
  for (let i = 2; i < 6; i++) wire.cell(7, REFINED, { draft: 9 });
  wire.step(2, 4, 4);
  for (let i = 2; i < 5; i++) wire.cell(7, ACCEPTED, { draft: 7 });
  return wire.cell(other, ACCEPTED, { draft: other });
}

/** Pass 1 accepts one draft and keeps one of two behind it; pass 2 accepts the rest. */
export function scd() {
  const wire = new Wire("scd", "finished").step(1, 4, 2);
  wire.cell(1, ACCEPTED, { draft: 1 }).cell(2, RESAMPLED, { draft: 9 });
  wire.cell(3, REFINED, { draft: 3 }).cell(4, REFINED, { draft: 9 }).step(2, 4, 4);
  wire.cell(3, ACCEPTED, { draft: 3 }).cell(4, ACCEPTED, { draft: 4 });
  return wire.cell(5, ACCEPTED, { draft: 5 }).cell(6, FRESH);
}

/** A draft weighed: top-1 of p 0.1, of q 0.2, TV 0.75 unless `more` says otherwise. */
export function verified(wire, token, status, draft, [p, q, uniform], more = {}) {
  const { top1 = 0.1, top1Draft = 0.2, tv = 0.75, kind = OWN } = more;
  const shares = [top1, top1Draft, tv, more.acceptance ?? Math.min(1, p / q), uniform, p, q];
  const tops = (kind & 3) === OWN ? [FLAT, FLAT] : [FLAT];
  return wire.cell(token, status, { draft, kind, shares, tops });
}

/**
 * Pass 1: two accepted, the third rejected. Pass 2: one accepted, the next rejected. Pass 3: the
 * last.
 */
export function sjd() {
  const wire = new Wire("sjd", "finished").step(1, 3, 3);
  verified(wire, 1, ACCEPTED, 1, [0.5, 0.25, 0.9]);
  verified(wire, 2, ACCEPTED, 2, [0.25, 0.5, 0.1], { tv: 0.25 });
  verified(wire, 8, RESAMPLED, 3, [0.125, 0.25, 0.75]);
  wire.step(2, 2, 2);
  verified(wire, 4, ACCEPTED, 4, [0.25, 0.25, 0.3], { tv: 0.5 });
  const flat = { top1: 0.05, top1Draft: 0.05, tv: 0.9 };
  verified(wire, 5, RESAMPLED, 6, [0.01, 0.5, 0.4], flat);
  return wire.step(3, 1, 1).cell(6, FRESH);
}

/**
 * An acceptance that p / q would have allowed, one that needed its group though p and q can hardly
 * be read, and a plain one.
 */
export function relaxed(decoder) {
  const wire = new Wire(decoder, "finished").step(1, 3, 3);
  const kind = OWN | GROUP;
  verified(wire, 1, ACCEPTED, 1, [0.5, 0.5, 0.3], { kind }).group(2, 0.6, 0.6, 1, 2);
  const unread = { acceptance: 1, kind };
  verified(wire, 2, ACCEPTED, 2, [0.0, 0.0005, 0.1], unread).group(5, 0.2, 0.1, 2, 3);
  const clear = { acceptance: 0.75, kind };
  verified(wire, 3, ACCEPTED, 3, [0.05, 0.25, 0.5], clear).group(4, 0.1875, 0.25, 3, 5, 6, 7);
  return wire.step(2, 3, 3).cell(4, FRESH).cell(5, FRESH).cell(6, FRESH);
}

/**
 * Pass 1: a second candidate taken, no rejection. Pass 2: a third one taken, then a rejection with
 * three tested behind it.
 */
export function pac() {
  const wire = new Wire("sjd-pac", "finished").step(1, 1, 1);
  wire.cell(1, ACCEPTED, { draft: 1, kind: 2 << 4 });
  wire.candidate(9, 0, 0.5, 0, 0.2).candidate(1, 0.2, 0.25, 0.8, 0.1);
  wire.step(2, 5, 2);
  const shares = [0.5, 0.5, 0.5, 0.5, 0.25, 0.1, 0.2];
  wire.cell(2, ACCEPTED, { draft: 2, kind: 3 << 4, shares });
  wire.candidate(8, 0, 0.5, 0, 0.2).candidate(9, 0, 0.5, 0, 0.3).candidate(2, 0.25, 0.5, 0.5, 0.25);
  verified(wire, 3, RESAMPLED, 7, [0.1, 0.2, 0.9]);
  verified(wire, 4, REFINED, 4, [0.2, 0.2, 0.5]);
  verified(wire, 5, REFINED, 5, [0.2, 0.2, 0.5]);
  verified(wire, 6, REJECTED, 9, [0.0, 0.2, 0.5]);
  wire.step(3, 3, 3).cell(4, ACCEPTED, { draft: 4 });
  return wire.cell(5, ACCEPTED, { draft: 5 }).cell(6, FRESH);
}

/** Two rows of three, the second `lag` tokens behind the first. */
export function front(lag, counts, own) {
  const wire = new Wire("zipar", "finished", [0, 1, 2, 3, 4, 5], own);
  for (const [i, tokens] of counts.entries()) {
    wire.step(i + 1, tokens, tokens);
    for (let k = 0; k < tokens; k++) wire.cell(7, FRESH);
  }
  return wire.prices(...own.map(() => 0.5 / lag));
}

/** A guess from nothing, certain of itself, was rejected, and a draft accepted. */
export function freshGuess() {
  const wire = new Wire("sjd", "finished").step(1, 2, 2);
  wire.cell(1, RESAMPLED, { draft: 3, kind: 1, shares: [0.1, 1, 1, 0, 0.5, 0, 1] });
  return verified(wire, 2, ACCEPTED, 2, [0.25, 0.5, 0.1], { tv: 0.25 });
}
