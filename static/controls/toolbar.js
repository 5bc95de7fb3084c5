// Rows of buttons.

import { queryAll } from "../dom.js";
import { MOVES } from "./moves.js";

// Make a row of buttons one stop of the Tab key, within which arrows move (WAI-ARIA's toolbar). A
// click takes no focus, so that arrows stay the board's.
/** @param {HTMLElement} bar */
export function bindBar(bar) {
  stopAt(bar, bar.firstElementChild);
  bar.addEventListener("mousedown", (event) => {
    event.preventDefault();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  bar.addEventListener("focusin", ({ target }) => stopAt(bar, target));
  bar.addEventListener("keydown", (event) => {
    const move = MOVES[event.key]?.[1];
    if (!move || event.shiftKey) return;
    const buttons = queryAll(bar, "button");
    const at = buttons.findIndex((button) => button === event.target);
    buttons.at((at + move) % buttons.length)?.focus();
    event.preventDefault();
  });
}

/** @param {HTMLElement} bar @param {EventTarget | null} stop */
export function stopAt(bar, stop) {
  for (const button of queryAll(bar, "button")) button.tabIndex = button === stop ? 0 : -1;
}
