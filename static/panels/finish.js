// The finish: the lanes in the order of each clock, and what results.js says of them.

import { finder, penOf, query, queryAll } from "../dom.js";
import { onClock } from "../numbers.js";
import { CLOCKS, finishers, isOver, placesOf } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";
import { tableOf, whySentence } from "./results.js";
import { saveButtons } from "./save.js";

/**
 * Draw the panel, which is shown once the race is over.
 * @param {HTMLElement} panel @param {Raced} state @param {Card[]} cards
 */
export function drawFinish(panel, state, cards) {
  const { snapshot } = state.race;
  panel.hidden = !isOver(state.race) || !snapshot.results.length;
  if (panel.hidden) return;
  const where = snapshot.recorded ? "the machine named above" : "this device";
  const part = finder(panel);
  part("seconds-where").textContent = `By seconds on ${where}`;
  part("modelled-order").hidden = state.clock !== "modelled";
  for (const clock of CLOCKS) render(orderOf(state, clock), part(`by-${clock}`));
  for (const picture of queryAll(panel, ".runner")) {
    const { canvas } = cards[Number(picture.dataset.lane)].picture;
    penOf(query(picture, "canvas", HTMLCanvasElement)).drawImage(canvas, 0, 0, 96, 96);
  }
  part("why").textContent = whySentence(state);
  render(tableOf(state), part("results"));
  if (!panel.querySelector(".save")) part("scroll").after(saveButtons("results"));
}

/**
 * List the shown lanes in the order of a clock. A lane's place on its track stands for its time.
 * @param {Raced} state @param {Clock} clock
 */
function orderOf(state, clock) {
  const { lanes } = state.race;
  const shown = finishers(lanes, clock).filter((i) => !state.hidden.has(i));
  const furthest = Math.max(...shown.map((i) => lanes[i][clock])) || 1;
  return shown.map((i) => {
    const lane = lanes[i];
    const left = `left: ${(100 * lane[clock]) / furthest}%`;
    const value = onClock(lane[clock], clock) + (clock === "passes" ? "" : " s");
    return html`<li>
      <b class="rank">${placesOf(state, lane)[clock] ?? ""}</b>
      <span class="name" title=${lane.title}>${lane.title}</span>
      <span class="track">
        <span class="runner" data-lane=${i} style=${left}
          ><canvas width="96" height="96"></canvas
        ></span>
      </span>
      <span class="value">${value}</span>
    </li>`;
  });
}
