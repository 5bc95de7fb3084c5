// A draft's test as a picture: what q and p give the draft, and the number that was drawn along q.

import { make } from "../dom.js";
import { chance } from "../numbers.js";

/** @param {DraftOdds} odds @returns {HTMLElement} */
export function draftPicture({ p, q, uniform }) {
  const widest = Math.max(p, q);
  /** @param {string} name @param {string} words @param {number} share */
  const bar = (name, words, share) =>
    make(
      "div.draft-bar",
      make("i", { style: `width: ${(100 * share) / widest}%` }),
      make("span", `${name}, ${words}: ${chance(share)}`),
    );
  const tick = make("i.draft-tick", { style: `left: ${(100 * uniform * q) / widest}%` });
  const kept = uniform * q < p;
  return make(
    "figure.draft-test",
    make("div", bar("q", "it was drawn with", q), bar("p", "the model has now", p), tick),
    make(
      "figcaption",
      `One draft. A number is drawn along q's bar, the red line: the draft stays if p's bar reaches it. Here it does${kept ? "" : " not"}.`,
    ),
  );
}
