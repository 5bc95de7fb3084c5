// Forks: the race and the token from which each was taken, in words, and their place in a list.

import { cellInWords, chance } from "../numbers.js";

/** @param {Infilling | null} infilling */
export const isFork = (infilling) => infilling?.order === "fork";

/**
 * Name the race and the token from which a fork was taken, and what is different from there on. Say
 * nothing where that is not known.
 * @param {Infilling} infilling @param {number} columns
 */
export function forkInWords({ known, parent }, columns) {
  if (!parent) return "";
  const { lane, seed, cell, instead, p } = parent;
  const place = `seed ${seed}, ${lane}, ${cellInWords(cell, columns)}`;
  if (instead === null) return `${place}: other noise`;
  const share = p === null ? "" : `, p ${chance(p)}`;
  if (known[cell] === instead) return `${place}: token ${instead}, as it was drawn${share}`;
  return `${place}: token ${known[cell]} instead of ${instead}${share}`;
}

/**
 * Put each fork below its parent, where the list has both.
 * @param {Listed[]} list @returns {Listed[]}
 */
export function belowParents(list) {
  /** @param {Listed} race @returns {Listed[]} */
  const withForks = (race) => [race, ...list.filter(isForkOf(race)).flatMap(withForks)];
  const isOwn = (/** @type {Listed} */ one) => !list.some((race) => isForkOf(race)(one));
  return list.filter(isOwn).flatMap(withForks);
}

/** @param {Listed} race */
const isForkOf = (race) => (/** @type {Listed} */ one) => one.parent === race.id;
