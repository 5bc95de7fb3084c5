// The chapters on rules that give up the model's distribution for longer acceptances.

import { asTokens, chance, countOf, dividing, lastOf, versus } from "../numbers.js";
import { DID, neededGroup } from "../trace/explain.js";
import {
  against,
  best,
  bestStep,
  isInside,
  isReadable,
  lastCell,
  rowsOf,
  summary,
} from "./examples.js";

/** @param {Lane} lane @param {Race} race */
export function acceptAGroup(lane, race) {
  const rule =
    "GSD sorts the codes by p and groups the draft with codes of similar probability. It " +
    "accepts the draft with probability min(1, p(C) / q(C)), where C is the whole group.";
  /** @param {Group} group @param {number} ratio */
  const masses = ({ count, p, q }, ratio) => {
    const [ofP, ofQ] = dividing(p, q, ratio);
    return `Its group of ${count} tokens held ${ofP} of p and ${ofQ} of q`;
  };
  return relaxed(lane, race, rule, masses, "the group");
}

/** @param {Lane} lane @param {Race} race */
export function acceptANeighbour(lane, race) {
  const rule =
    `${lane.drafter ? "A small network drafts" : "The model drafts for itself"}. LANTERN lets a draft x borrow the ` +
    "probability of the codes nearest to it, up to δ in total. It accepts x with probability min(1, p(A) / q(x)); A is x and those codes.";
  /** @param {Group} group */
  const masses = ({ count, p }) =>
    `With ${countOf(count - 1, "neighbour")} it held ${chance(p)} of p`;
  return relaxed(lane, race, rule, masses, "a neighbour");
}

// Say what a relaxed rule gave up, by its mean shift.
/** @param {number} tests @param {number} shifts their sum */
function priceInWords(tests, shifts) {
  const price = "The price: the picture's distribution is no longer the model's own";
  if (!tests) return `${price}.`;
  if (!shifts)
    return "The rule may change the distribution, but no test of this race did: the shift is 0.";
  const shift = shifts / tests;
  return `${price}. The mean shift is ${chance(shift)} (TV from p; 0 for exact rules), ${asTokens(shift)}.`;
}

// Return the chapter of a relaxed rule. It shows the plainest acceptance that p(x) / q(x) alone
// would have rejected, and says how many there were.
/**
 * @param {Lane} lane @param {Race} race @param {string} rule
 * @param {(group: Group, ratio: number) => string} masses @param {string} whom
 */
function relaxed(lane, race, rule, masses, whom) {
  const accepted = rowsOf(lane).filter(({ status }) => status === DID.ACCEPTED);
  const saved = accepted.flatMap((row) => {
    const { group, p, q, uniform, acceptance } = row;
    if (!group || p === null || q === null || uniform === null || acceptance === null) return [];
    return neededGroup(row) ? [{ row, group, p, q, uniform, acceptance }] : [];
  });
  const { tests, shifts } = lastOf(lane.steps);
  const total = `In total: ${summary(lane)}${against(race, "sjd")}. ${priceInWords(tests, shifts)}`;
  if (!saved.length) {
    const none = `This race has no record of an acceptance that needed ${whom}.`;
    const at = bestStep(lane, (i) => lane.steps[i].tokens);
    return { step: at + 1, cell: lastCell(lane, at), lines: [rule, none, total] };
  }
  const shown = best(saved, ({ row, group, p, q, acceptance }) => {
    const plain = (isReadable(row) && group.count > 2 ? 2 : 0) + (isInside(row, race) ? 1 : 0);
    return acceptance - p / q + plain;
  });
  const { row, p, q, uniform, acceptance, group } = shown ?? saved[0];
  const { at, cell, pass, draft } = row;
  const odds = Math.min(1, p / q);
  const alone = versus(uniform, odds);
  const together = versus(uniform, acceptance);
  const [ofP, ofQ] = dividing(p, q, odds);
  const lines = [
    rule,
    `At pass ${pass} token ${draft} alone had ${ofP} of p and ${ofQ} of q, and would have been rejected: ` +
      `${alone}. ${masses(group, acceptance)}, so it was accepted: ${together}.`,
    `${saved.length} of ${lane.title}'s ${countOf(accepted.length, "acceptance")} needed ${whom}. ${total}`,
  ];
  return { step: at + 1, cell, lines };
}
