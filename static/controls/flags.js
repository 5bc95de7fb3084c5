// The flags over the scrubber, which mark where the lanes finished.

import { finishers, clockOf } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";

const FLAG = 16; // pixels, the width of a flag, and on the stage by its type:
const FLAG_EMS = 1.15;

/**
 * Return the left ends of flags, in pixels and ascending. Each is as near to its place as it can be
 * if no flag covers another.
 * @param {number[]} ends where the flags belong @param {number} width of the scrubber
 * @param {number} flag the width of a flag
 */
export function sideBySide(ends, width, flag = FLAG) {
  const places = [...ends];
  for (let i = 1; i < places.length; i++) places[i] = Math.max(places[i], places[i - 1] + flag);
  let most = width - flag;
  for (let i = places.length - 1; i >= 0; i--) {
    places[i] = Math.min(places[i], most);
    most -= flag;
  }
  return places;
}

/**
 * Return a function that draws flags over the scrubber for the finished lanes that are not hidden.
 * Call `redraw` when the width of the scrubber changes.
 * @param {HTMLElement} panel @param {State} state @param {() => void} redraw
 */
export function bindFlags(panel, state, redraw) {
  // In pixels; measuring them in each frame would cost a layout.
  const room = { width: 0, flag: FLAG };
  new ResizeObserver(([{ contentRect }]) => {
    room.width = contentRect.width;
    room.flag = state.present ? FLAG_EMS * parseFloat(getComputedStyle(panel).fontSize) : FLAG;
    redraw();
  }).observe(panel);

  /**
   * @param {Raced} raced @param {number} until the instant up to which finishes are shown
   * @param {number} length of the scrubber, on the clock
   */
  return function drawFlags({ race, clock, hidden }, until, length) {
    const done = finishers(race.lanes, clock).filter(
      (i) => !hidden.has(i) && clockOf(race.lanes[i], clock) <= until,
    );
    const shares = done.map((i) => {
      const share = length ? clockOf(race.lanes[i], clock) / length : 0;
      return Math.round(1000 * Math.min(1, share)) / 1000;
    });
    const ends = shares.map((share) => share * room.width);
    const places = sideBySide(ends, room.width, room.flag);
    const flags = done.map((i, k) => {
      const nudge = `--nudge: ${(places[k] - ends[k]).toFixed(1)}px`;
      return html`<i class="flag" style=${`left: ${100 * shares[k]}%; ${nudge}`}
        ><b>${i + 1}</b></i
      >`;
    });
    render(flags, panel);
  };
}
