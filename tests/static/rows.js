// Rows of a cell's life as `lifeOf` gives them, of a token that is nobody's: 77, drafted as 77.

import { DID } from "../../static/trace/explain.js";
import { range } from "./wire.js";

const { REFINED, REJECTED, DROPPED } = DID;

/** A row, committed unless its status says otherwise. */
export function row(status, { at = 14, ...known } = {}) {
  return {
    status,
    pass: at + 1,
    at,
    ahead: 0,
    committed: ![REFINED, REJECTED, DROPPED].includes(status),
    draft: 77,
    token: 77,
    top1: 0.4,
    top1Draft: null,
    tv: null,
    acceptance: null,
    uniform: null,
    p: null,
    q: null,
    top: [],
    topDraft: [],
    group: null,
    candidates: [],
    ...known,
  };
}

/** A row whose draft was tested by p / q. */
export const weighed = (status, p, q, uniform, known = {}) =>
  row(status, { p, q, acceptance: Math.min(1, p / q), uniform, ...known });

/** The rows of a draft that was made at pass 12 and refined so often. */
export const refined = (passes) => [
  row(REFINED, { at: 11, draft: null }),
  ...range(passes).map((i) => row(REFINED, { at: 12 + i, draft: 50 + i })),
];

/** Candidates that were tried: p, q and the number drawn of each. */
export const candidates = (...tried) =>
  tried.map(([p, q, uniform], i) => ({
    token: 70 + i,
    p,
    q,
    acceptance: Math.min(1, p / q),
    uniform,
  }));
