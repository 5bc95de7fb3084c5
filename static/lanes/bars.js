// The first screen's bars: one for each lane, since only a few have their pictures there.

import { attribute, make, query, say } from "../dom.js";
import { ordinal } from "../numbers.js";
import { lanesShown } from "../stage/stage.js";
import { lanesOn } from "../trace/replay.js";

/**
 * Draws a bar for each lane that is shown: its name, how far it is, and its place. A press brings a
 * lane's picture. The bars are built again only when other lanes are shown.
 * @param {HTMLElement} panel @param {Raced} state @param {View[]} views
 * @param {(number | null)[]} places now @param {Places[]} ends at the finish
 * @param {(change: Change) => void} go
 */
export function drawBars(panel, state, views, places, ends, go) {
  const { race, clock } = state;
  const shown = lanesOn(state);
  const large = lanesShown(state, false);
  const all = panel.querySelector(".bars-all") ?? make("button.bars-all", { type: "button" });
  if (all instanceof HTMLElement) {
    all.onclick = () => go({ spread: !state.spread });
    say(all, state.spread ? "Show fewer" : `Show all ${shown.length}`);
    all.hidden = shown.length <= large.length && !state.spread;
  }
  const key = shown.map((i) => `${i} ${race.lanes[i].title}`).join();
  if (panel.dataset.lanes !== key) {
    panel.dataset.lanes = key;
    const bars = shown.map((i) =>
      make(
        "button.bar-lane",
        { type: "button", "data-lane": i, onclick: () => go({ front: i }) },
        make("span.bar-name", make("b", i + 1), ` ${race.lanes[i].title}`),
        make("span.bar-place"),
        make("span.bar-course", make("i")),
      ),
    );
    panel.replaceChildren(...bars, all);
  }
  shown.forEach((i, at) => {
    const bar = panel.children[at];
    if (!(bar instanceof HTMLElement)) return;
    const { n, state: stands } = views[i];
    const place = stands === "finished" ? ends[i][clock] : places[i];
    bar.style.setProperty("--share", String(n / race.lanes[i].total));
    attribute(bar, "aria-current", large.includes(i));
    say(query(bar, ".bar-place"), place ? ordinal(place) : "");
  });
}
