// The choice between a page with all controls and its first screen, which has three large lanes and
// a bar for each lane. The browser remembers what its visitor chose.

import { keep, kept } from "../dom.js";

const KEPT_INSIDE = "photo-finish-inside";
// Fields of an address that show more than the first screen has.
const INSIDE = ["layer", "clock", "cell", "lane", "embed", "present", "speaker"];

/** @param {string} address a query */
export function opensInside(address) {
  const fields = new URLSearchParams(address);
  return INSIDE.some((name) => fields.has(name)) || kept(() => localStorage, KEPT_INSIDE) === "1";
}

/** @param {boolean} inside */
export const keepInside = (inside) => keep(() => localStorage, KEPT_INSIDE, inside ? "1" : "0");
