// "Fill in" and "Draw on" on the board: a button on each finished picture, which hands it to the
// form, and buttons in the token panel, which race on from a token.

import { isPair } from "../board/pair.js";
import { attribute, closest, query, queryAll } from "../dom.js";
import { forkToken } from "../panels/fork.js";
import { tokenAt } from "../trace/layers.js";
import { isOver } from "../trace/replay.js";

/**
 * Mount the Fill in buttons (class `fill`) of the lanes whose pictures can be filled in here, and
 * the Draw on buttons (class `fork`). A pressed Fill in button hands its lane's picture on in an
 * event of the document.
 * @param {HTMLElement} root @param {Board} board
 * @param {Fillable} fillable
 * @param {() => void} began is called when Fill in was pressed
 * @param {(fork: { lane: number, cell: number, token: number | null }) => void} fork
 */
export function mountFilling(root, { onChange, pictureOf, state }, fillable, began, fork) {
  onChange(({ race }) => {
    const { model, grid, codes } = race.snapshot;
    const known = !isPair(race.snapshot); // the form takes over the settings of one race
    const fits = known && String(fillable[model]?.slice(0, 3)) === String([...grid, codes]);
    attribute(root, "data-forks", Number(fits && isOver(race)));
    for (const lane of queryAll(root, ".lane")) {
      const shown = fits && isOver(race) && lane.dataset.state === "finished";
      query(lane, ".fill").hidden = !shown;
    }
  });
  root.addEventListener("click", (event) => {
    const button = closest(event, ".fork");
    const token = button instanceof HTMLElement ? forkToken(button) : undefined;
    if (token !== undefined && state.cell) fork({ ...state.cell, token });
  });
  root.addEventListener("click", (event) => {
    const button = closest(event, ".fill");
    if (!button || !state.race) return;
    const { lanes, grid, cells, snapshot } = state.race;
    const i = queryAll(root, ".lane .fill").findIndex((one) => one === button);
    const codes = Array.from({ length: cells }, (_, cell) => tokenAt(lanes[i], cell) ?? -1);
    /** @type {Canvas} */
    const detail = { model: snapshot.model, codes, grid, picture: pictureOf(i) };
    document.dispatchEvent(new CustomEvent("photo-finish-fill", { detail }));
    began();
  });
}
