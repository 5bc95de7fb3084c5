// What codes look like decoded alone.

import { make } from "../dom.js";
import { swatchAt } from "../lanes/marks.js";
import look from "../look.json" with { type: "json" };
import { isKnown } from "../numbers.js";

const atlas = { text: "", url: "" }; // the image of all swatches, and its address for styles

// Takes in the image of all swatches, and gives back the memory of the one before.
/** @param {string} text */
export function takeAtlas(text) {
  if (atlas.text === text) return;
  if (atlas.url) URL.revokeObjectURL(atlas.url);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const image = new Blob([bytes], { type: "image/webp" });
  atlas.text = text;
  atlas.url = text && URL.createObjectURL(image);
}

// What a code looks like decoded alone, `side` pixels wide; an empty square where there is no
// token.
/** @param {number | null | undefined} token @param {number} codes @param {number} side */
export function swatchOf(token, codes, side, mark = "") {
  const swatch = make("i.swatch", { style: `width: ${side}px; height: ${side}px` });
  if (mark) swatch.classList.add(mark);
  if (!isKnown(token)) swatch.classList.add("nothing");
  else if (atlas.url) {
    const [column, row] = swatchAt(token);
    const across = look.swatches.columns;
    swatch.style.backgroundImage = `url("${atlas.url}")`;
    swatch.style.backgroundSize = `${across * side}px ${Math.ceil(codes / across) * side}px`;
    swatch.style.backgroundPosition = `${-column * side}px ${-row * side}px`;
  }
  swatch.title = isKnown(token) ? `token ${token}` : "no token";
  return swatch;
}
