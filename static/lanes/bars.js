// The first screen's bars: one for each lane, since only a few have their pictures there.

import { ordinal } from "../numbers.js";
import { lanesShown } from "../stage/stage.js";
import { lanesOn } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";

/**
 * Draw a bar for each shown lane, with the lane's name, progress and place. Pressing a bar scrolls
 * to the lane's picture.
 * @param {HTMLElement} panel @param {Raced} state @param {View[]} views
 * @param {(number | null)[]} places now @param {Places[]} ends at the finish
 * @param {(change: Change) => void} go
 */
export function drawBars(panel, state, views, places, ends, go) {
  const { race, clock, spread } = state;
  const shown = lanesOn(state);
  const large = lanesShown(state, false);
  const bars = shown.map((i) => {
    const { n, state: stands } = views[i];
    const { title, total } = race.lanes[i];
    const place = stands === "finished" ? ends[i][clock] : places[i];
    return html`<button
      class="bar-lane"
      type="button"
      data-lane=${i}
      aria-current=${large.includes(i)}
      style=${`--share: ${n / total}`}
      @click=${() => go({ front: i })}
    >
      <span class="bar-name"><b>${i + 1}</b> ${title}</span>
      <span class="bar-place">${place ? ordinal(place) : ""}</span>
      <span class="bar-course"><i></i></span>
    </button>`;
  });
  const all = html`<button
    class="bars-all"
    type="button"
    ?hidden=${shown.length <= large.length && !spread}
    @click=${() => go({ spread: !spread })}
  >
    ${spread ? "Show fewer" : `Show all ${shown.length}`}
  </button>`;
  render([bars, all], panel);
}
