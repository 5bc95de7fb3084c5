// The finish: the lanes in the order of each clock, and what results.js says of them.

import { finder, make, penOf, sized } from "../dom.js";
import { onClock } from "../numbers.js";
import { CLOCKS, finishers, isOver, placesOf } from "../trace/replay.js";
import { tableOf, whySentence } from "./results.js";
import { saveButtons } from "./save.js";

/**
 * Draws the panel, which is shown once the race is over. It is built once a race, and again when
 * other lanes are hidden or the modelled clock changes.
 * @param {HTMLElement} panel @param {Raced} state @param {Card[]} cards
 */
export function drawFinish(panel, state, cards) {
  const { race, hidden } = state;
  const { snapshot, lanes } = race;
  panel.hidden = !isOver(race) || !snapshot.results.length;
  if (panel.hidden) return void delete panel.dataset.built;
  const modelled = state.clock === "modelled";
  const key = [modelled ? lanes.map((lane) => lane.modelled) : "measured", ...hidden].join();
  if (panel.dataset.built === key) return;
  panel.dataset.built = key;
  const where = snapshot.recorded ? "the machine named above" : "this device";
  const part = finder(panel);
  part("seconds-where").textContent = `By seconds on ${where}`;
  part("modelled-order").hidden = !modelled;
  for (const clock of CLOCKS) {
    const shown = finishers(lanes, clock).filter((i) => !hidden.has(i));
    const furthest = Math.max(...shown.map((i) => lanes[i][clock])) || 1;
    const rows = shown.map((i) => {
      const lane = lanes[i];
      const picture = sized(make("canvas"), 96, 96);
      penOf(picture).drawImage(cards[i].picture.canvas, 0, 0, 96, 96);
      const runner = make(
        "span.runner",
        { style: `left: ${(100 * lane[clock]) / furthest}%` },
        picture,
      );
      return make(
        "li",
        make("b.rank", placesOf(state, lane)[clock] ?? ""),
        make("span.name", { title: lane.title }, lane.title),
        make("span.track", runner),
        make("span.value", onClock(lane[clock], clock) + (clock === "passes" ? "" : " s")),
      );
    });
    part("by-" + clock).replaceChildren(...rows);
  }
  part("why").textContent = whySentence(state);
  part("results").replaceChildren(...tableOf(state));
  panel.querySelector(".save")?.remove();
  part("scroll").after(saveButtons("results"));
}
