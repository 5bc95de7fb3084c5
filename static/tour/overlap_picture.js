// p and q of one draft as bars: the share of each token that is kept, rejected or redrawn. q can be
// moved towards p.

import { chance } from "../numbers.js";
import { partsOf } from "../trace/overlap.js";
import { html } from "../vendor/lit-html.js";

/** @type {("kept" | "rejected" | "redrawn")[]} */
const PARTS_OF_DRAFT = ["kept", "rejected", "redrawn"];

/**
 * Draw the bars with q moved by `share` of the way to p. `move` sets another share.
 * @param {Overlap} overlap @param {number} share @param {(share: number) => void} move
 */
export function overlapPicture({ tokens, others, tv }, share, move) {
  const widest = Math.max(...[...tokens, others].flatMap(({ p, q }) => [p, q]));
  const words = overlapInWords(tv, share);
  const names = PARTS_OF_DRAFT.map(
    (part) => html`<th scope="col"><i class="overlap-${part}"></i>${part}</th>`,
  );
  /** @param {string} name @param {Shared} token @param {number} whole bar's probability */
  const row = (name, token, whole) => overlapRow(name, partsOf(token, share), whole);
  /** @param {Event} event */
  const drag = ({ target }) => target instanceof HTMLInputElement && move(Number(target.value));
  return html`<figure class="overlap">
    <table>
      <tr>
        <td></td>
        <td></td>
        ${names}
      </tr>
      ${row("all of q", { p: 1 - tv, q: 1, shared: 1 - tv }, 1)}
      ${row("all of p", { p: 1, q: 1 - tv, shared: 1 - tv }, 1)}
      ${tokens.map((token) => row(`token ${token.token}`, token, widest))}
      ${row("others", others, widest)}
    </table>
    <label>
      <span>Move q towards p</span>
      <input
        class="overlap-q"
        type="range"
        min="0"
        max="1"
        step="0.01"
        .value=${String(share)}
        aria-label="Move q towards p"
        aria-valuetext=${words}
        @input=${drag}
      />
    </label>
    <figcaption role="status">${words}</figcaption>
  </figure>`;
}

/**
 * Draw a token's row. The token's parts lie end to end in the row's bar.
 * @param {string} name @param {ReturnType<typeof partsOf>} parts
 * @param {number} whole the probability of a whole bar
 */
function overlapRow(name, parts, whole) {
  const shown = PARTS_OF_DRAFT.map((part) => {
    const hidden = parts[part] < 0.0005; // a part below is rounding
    const width = `width: ${(100 * parts[part]) / whole}%`;
    return {
      bar: html`<i class="overlap-${part}" style=${width} ?hidden=${hidden}></i>`,
      number: html`<td>${hidden ? "" : parts[part].toFixed(3)}</td>`,
    };
  });
  return html`<tr>
    <th scope="row">${name}</th>
    <td class="overlap-track"><div>${shown.map(({ bar }) => bar)}</div></td>
    ${shown.map(({ number }) => number)}
  </tr>`;
}

/**
 * Say what the bars show, with q moved by `share` of the way to p.
 * @param {number} tv of the race's own q @param {number} share
 */
export function overlapInWords(tv, share) {
  const apart = (1 - share) * tv;
  const whose = share
    ? `With q moved ${Math.round(100 * share)}% of the way to p`
    : "With this race's q";
  return `${whose}, ${chance(1 - apart)} is kept (1 − TV) and ${chance(apart)} is redrawn: together they give p.`;
}
