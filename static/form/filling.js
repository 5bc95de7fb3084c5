// "Fill in" on the board: a button on each finished picture, which hands it to the form.

import { committedToken } from "../trace/layers.js";
import { isOver } from "../trace/replay.js";

/**
 * Shows the buttons (class `fill`) of the lanes whose pictures can be filled in here, and hands the
 * one that is pressed on, as an event of the document.
 * @param {HTMLElement} root @param {Board} board
 * @param {typeof props.fillable} fillable by model: the grid and the codes of its pictures
 * @param {() => void} began
 */
export function mountFilling(root, { onChange, pictureOf, state }, fillable, began) {
  onChange(({ race }) => {
    const { model, grid, codes } = race.snapshot;
    const fits = String(fillable[model]) === String([...grid, codes]);
    for (const lane of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".lane"))) {
      const shown = fits && isOver(race) && lane.dataset.state === "finished";
      lane.querySelector(".fill").toggleAttribute("hidden", !shown);
    }
  });
  root.addEventListener("click", ({ target }) => {
    const button = /** @type {Element} */ (target).closest(".fill");
    if (!button) return;
    const { lanes, grid, cells } = state.race;
    const i = [...root.querySelectorAll(".lane .fill")].indexOf(button);
    const tokenAt = (_, cell) => lanes[i].knownToken(cell) ?? committedToken(lanes[i], cell);
    const codes = Array.from({ length: cells }, tokenAt);
    /** @type {Canvas} */
    const detail = { codes, grid, picture: pictureOf(i) };
    document.dispatchEvent(new CustomEvent("photo-finish-fill", { detail }));
    began();
  });
}
