// The finish: the lanes in the order of each clock, and what results.js says of them.

import { finder, make, penOf, sized } from "../dom.js";
import { onClock } from "../numbers.js";
import { CLOCKS, finishers, isOver } from "../trace/replay.js";
import { tableOf, whySentence } from "./results.js";
import { saveButtons } from "./save.js";

/**
 * Draws the panel, which is shown once the race is over. It is built once a race and, on the
 * modelled clock, again whenever that changes.
 * @param {HTMLElement} panel @param {Raced} state @param {Card[]} cards
 */
export function drawFinish(panel, { race, clock: shown }, cards) {
  const { snapshot, lanes } = race;
  panel.hidden = !isOver(race) || !snapshot.results.length;
  if (panel.hidden) return void delete panel.dataset.built;
  const modelled = shown === "modelled";
  const key = modelled ? lanes.map((lane) => lane.modelled).join() : "measured";
  if (panel.dataset.built === key) return;
  panel.dataset.built = key;
  const where = snapshot.recorded ? "the machine named above" : "this device";
  const part = finder(panel);
  part("seconds-where").textContent = `By seconds on ${where}`;
  part("modelled-order").hidden = !modelled;
  for (const clock of CLOCKS) {
    const furthest = Math.max(...lanes.map((lane) => lane[clock])) || 1;
    const rows = finishers(lanes, clock).map((i) => {
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
        make("b.rank", lane.places[clock] ?? ""),
        make("span.name", { title: lane.title }, lane.title),
        make("span.track", runner),
        make("span.value", onClock(lane[clock], clock) + (clock === "passes" ? "" : " s")),
      );
    });
    part("by-" + clock).replaceChildren(...rows);
  }
  part("why").textContent = whySentence(race);
  part("results").replaceChildren(...tableOf(race));
  panel.querySelector(".save")?.remove();
  part("scroll").after(saveButtons("results"));
}
