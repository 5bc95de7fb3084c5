// "Draw on": the buttons beside p that draw a picture on from a token of the panel, as if another
// token had been drawn. form/filling.js answers them; where nothing does, they are not shown.

import { html, nothing } from "../vendor/lit-html.js";
import { atlasOf } from "./swatch.js";

const HINT = "Race again from here with this token, every lane by its own rule";

/** @param {number} token */
export const forkButton = (token) =>
  html`<button class="fork" type="button" data-token=${token} title=${HINT}>Draw on</button>`;

/**
 * Draw what else a picture can be drawn on with: any token of the codebook, chosen by its number or
 * in the picture of all swatches; or other noise.
 * @param {number} codes @param {boolean} isFirst whether the cell is the picture's first
 */
export function forkOthers(codes, isFirst) {
  /** @param {MouseEvent} event @param {number} token */
  function choose({ target }, token) {
    const field = target instanceof Element && target.parentElement?.querySelector("input");
    if (field) field.value = String(token);
  }
  const noise = html`<button
    class="fork"
    type="button"
    data-token="noise"
    title="Race again from here with another seed: the tokens before this one stay"
  >
    Other noise from here
  </button>`;
  return html`<details class="fork-others">
    <summary>Draw on with another token, or other noise</summary>
    <label>
      Token
      <input class="fork-token" type="number" min="0" max=${codes - 1} step="1" required />
    </label>
    <button class="fork" type="button" title=${HINT}>Draw on</button>
    ${isFirst ? nothing : noise}${atlasOf(codes, choose)}
  </details>`;
}

/**
 * Return the token that a button draws on with: a number; null for other noise; undefined where the
 * visitor has yet to choose one.
 * @param {HTMLElement} button
 */
export function forkToken(button) {
  const { token } = button.dataset;
  if (token === "noise") return null;
  if (token) return Number(token);
  const field = button.parentElement?.querySelector("input");
  return field?.reportValidity() ? Number(field.value) : undefined;
}
