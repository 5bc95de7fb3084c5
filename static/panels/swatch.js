// Swatches: codes decoded alone.

import { swatchAt } from "../lanes/marks.js";
import look from "../look.json" with { type: "json" };
import { isKnown } from "../numbers.js";
import { html } from "../vendor/lit-html.js";

const atlas = { text: "", url: "" }; // the image of all swatches, and its address for styles

// Take in the image of all swatches, and free the memory of the one before.
/** @param {string} text */
export function takeAtlas(text) {
  if (atlas.text === text) return;
  if (atlas.url) URL.revokeObjectURL(atlas.url);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const image = new Blob([bytes], { type: "image/webp" });
  atlas.text = text;
  atlas.url = text && URL.createObjectURL(image);
}

/**
 * Draw a token's swatch, `side` pixels wide: the picture of its code decoded alone. Without a
 * token, draw an empty square.
 * @param {number | null | undefined} token @param {number} codes @param {number} side
 */
export function swatchOf(token, codes, side, mark = "") {
  const known = isKnown(token);
  const size = `width: ${side}px; height: ${side}px;`;
  const style = known && atlas.url ? size + imageOf(token, codes, side) : size;
  const title = known ? `token ${token}` : "no token";
  const names = ["swatch", mark, known ? "" : "nothing"].filter(Boolean).join(" ");
  return html`<i class=${names} style=${style} title=${title}></i>`;
}

/** @param {number} token @param {number} codes @param {number} side */
function imageOf(token, codes, side) {
  const [column, row] = swatchAt(token);
  const across = look.swatches.columns;
  const size = `${across * side}px ${Math.ceil(codes / across) * side}px`;
  const place = `${-column * side}px ${-row * side}px`;
  return `background-image: url("${atlas.url}"); background-size: ${size}; background-position: ${place};`;
}

/**
 * Draw the image of all swatches, and call `choose` with the token that is clicked on.
 * @param {number} codes @param {(event: MouseEvent, token: number) => void} choose
 */
export function atlasOf(codes, choose) {
  const across = look.swatches.columns;
  /** @param {MouseEvent} event */
  function click(event) {
    const image = event.currentTarget;
    if (!(image instanceof HTMLElement)) return;
    const { width, height } = image.getBoundingClientRect();
    const column = Math.floor((across * event.offsetX) / width);
    const row = Math.floor((Math.ceil(codes / across) * event.offsetY) / height);
    if (row * across + column < codes) choose(event, row * across + column);
  }
  return html`<img
    class="atlas"
    src=${atlas.url}
    alt=""
    title="Every token, by its swatch"
    @click=${click}
  />`;
}
