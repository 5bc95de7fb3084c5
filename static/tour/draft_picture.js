// A draft's test as a picture: what q and p give the draft, and the number that was drawn along q.

import { chance } from "../numbers.js";
import { html } from "../vendor/lit-html.js";

/** @param {DraftOdds} odds */
export function draftPicture({ p, q, uniform }) {
  const widest = Math.max(p, q);
  /** @param {string} name @param {string} words @param {number} share */
  const bar = (name, words, share) =>
    html`<div class="draft-bar">
      <i style=${`width: ${(100 * share) / widest}%`}></i>
      <span>${name}, ${words}: ${chance(share)}</span>
    </div>`;
  const drawn = `left: ${(100 * uniform * q) / widest}%`;
  const kept = uniform * q < p;
  return html`<figure class="draft-test">
    <div>
      ${bar("q", "when it was drawn", q)}${bar("p", "now", p)}
      <i class="draft-tick" style=${drawn}></i>
    </div>
    <figcaption>
      A number is drawn along q's bar: the red line. The draft stays if p's bar reaches that line;
      here it does${kept ? "" : " not"}.
    </figcaption>
  </figure>`;
}
