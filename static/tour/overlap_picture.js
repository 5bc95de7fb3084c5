// p and q of one draft as bars: what both give a token, what is rejected, what is redrawn. q can be
// moved towards p.

import { make } from "../dom.js";
import { chance } from "../numbers.js";
import { partsOf } from "../trace/overlap.js";

/** @type {("kept" | "rejected" | "redrawn")[]} */
const PARTS_OF_DRAFT = ["kept", "rejected", "redrawn"];

/** @param {Overlap} overlap @returns {HTMLElement} */
export function overlapPicture({ tokens, others, tv }) {
  const widest = Math.max(...[...tokens, others].flatMap(({ p, q }) => [p, q]));
  const rows = [
    overlapRow("all of q", { p: 1 - tv, q: 1, shared: 1 - tv }, 1),
    overlapRow("all of p", { p: 1, q: 1 - tv, shared: 1 - tv }, 1),
    ...tokens.map((token) => overlapRow(`token ${token.token}`, token, widest)),
    overlapRow("others", others, widest),
  ];
  const names = PARTS_OF_DRAFT.map((part) =>
    make("th", { scope: "col" }, make(`i.overlap-${part}`), part),
  );
  const words = make("figcaption", { role: "status" });
  const slider = make("input.overlap-q", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.01,
    value: 0,
    ariaLabel: "Move q towards p",
  });
  function draw() {
    const share = Number(slider.value);
    for (const { move } of rows) move(share);
    const said = overlapInWords(tv, share);
    words.textContent = said;
    slider.setAttribute("aria-valuetext", said);
  }
  slider.addEventListener("input", draw);
  draw();
  return make(
    "figure.overlap",
    make(
      "table",
      make("tr", make("td"), make("td"), ...names),
      ...rows.map(({ element }) => element),
    ),
    make("label", make("span", "Move q towards p"), slider),
    words,
  );
}

/**
 * A token's row in the picture, whose bar has its parts end to end, and what moves it.
 * @param {string} name @param {Shared} token @param {number} widest the probability of a whole bar
 */
function overlapRow(name, token, widest) {
  const shown = PARTS_OF_DRAFT.map((part) => ({
    part,
    bar: make(`i.overlap-${part}`),
    number: make("td"),
  }));
  const track = make("td.overlap-track", make("div", ...shown.map(({ bar }) => bar)));
  const numbers = shown.map(({ number }) => number);
  const element = make("tr", make("th", { scope: "row" }, name), track, ...numbers);
  /** @param {number} share */
  function move(share) {
    const parts = partsOf(token, share);
    for (const { part, bar, number } of shown) {
      bar.hidden = parts[part] < 0.0005; // a part below is rounding
      bar.style.width = `${(100 * parts[part]) / widest}%`;
      number.textContent = bar.hidden ? "" : parts[part].toFixed(3);
    }
  }
  return { element, move };
}

/**
 * What the bars show, with q moved by this share of the way to p.
 * @param {number} tv of the race's own q @param {number} share
 */
export function overlapInWords(tv, share) {
  const apart = (1 - share) * tv;
  const whose = share
    ? `With q moved ${Math.round(100 * share)}% of the way to p`
    : "With this race's q";
  return `${whose}, ${chance(1 - apart)} is kept, 1 − TV, and ${chance(apart)} redrawn: together p.`;
}
