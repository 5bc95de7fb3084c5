// The stage: the board alone on the screen, for a talk; with a strip of controls that hides itself,
// and taps and swipes for those who have no keys.

import { stepTarget } from "../controls/instants.js";
import { addressQuery, closest, query } from "../dom.js";
import { hasRace, lanesOn } from "../trace/replay.js";

const SHOWN = 3000; // milliseconds for which the strip stays when nothing moves
// A swipe is at least so many pixels long, and takes at most so many milliseconds.
const SWIPE = { pixels: 60, milliseconds: 800 };
const OWN = "button, a, input, select, label, dialog, .strip"; // elements with clicks of their own
const narrow = "(max-width: 700px)"; // a phone
const slim = "(max-width: 640px)"; // where two lanes stand beside each other
const FIRST = ["ar", "scd", "gsd"]; // decoders that the first screen shows, if they race

/** Test whether the stage has room for one lane only. @param {State} state */
export const isPhone = ({ present }) => present && matchMedia(narrow).matches;

/**
 * List the lanes whose pictures are on the screen: one lane on a phone's stage, a few on the first
 * screen. The lane chosen last is always among them.
 * @param {Raced} state @param {boolean} phone
 */
export function lanesShown(state, phone) {
  const shown = lanesOn(state);
  const { front, inside, spread, present, race } = state;
  const all = inside || spread || present ? shown.length : matchMedia(slim).matches ? 2 : 3;
  const most = phone ? 1 : all;
  if (shown.length <= most) return shown;
  if (most === 1) return [shown.includes(front) ? front : shown[0]];
  const first = shown.filter((i) => FIRST.includes(race.lanes[i].decoder));
  const large = [...new Set([...first, ...shown])].slice(0, most);
  if (shown.includes(front) && !large.includes(front)) large[most - 1] = front;
  return large.sort((a, b) => a - b);
}

/**
 * Return the shown lane `by` places after the present one, or before it if `by` is negative.
 * @param {Raced} state @param {number} by
 */
export function nextLane(state, by) {
  const shown = lanesShown(state, false);
  const [front] = lanesShown(state, true);
  return shown[(shown.indexOf(front) + by + shown.length) % shown.length];
}

/**
 * Wire the stage's strip, taps and swipes.
 * @param {HTMLElement} root @param {Board} board @param {{ move(by: number): boolean }} tour
 */
export function mountStage(root, { state, go, onChange }, tour) {
  const strip = query(root, ".strip");
  let timer = 0;
  let wasPresent = false;
  /** @type {PointerEvent | null} */
  let down = null;

  function reveal() {
    if (!state.present) return;
    strip.dataset.shown = "1";
    clearTimeout(timer);
    timer = setTimeout(() => delete strip.dataset.shown, SHOWN);
  }

  // Turn to another chapter of the tour, or outside the tour step through the race.
  /** @param {number} by */
  function turn(by) {
    if (!hasRace(state) || tour.move(by)) return;
    const t = stepTarget(state, by < 0);
    if (t !== null) go({ t, playing: false });
  }

  /** @param {MouseEvent} event */
  function tapped(event) {
    if (!state.present || closest(event, OWN)) return;
    const touch = event instanceof PointerEvent && event.pointerType === "touch";
    const touring = touch && root.dataset.tour;
    if (closest(event, "canvas") && !touring) return; // it chooses a token
    const third = Math.floor((3 * event.clientX) / innerWidth);
    if (third === 1) return;
    event.stopPropagation();
    turn(third - 1);
  }

  /** @param {PointerEvent} event */
  function swiped({ clientX, clientY, timeStamp, pointerId }) {
    if (!down || down.pointerId !== pointerId) return;
    const across = clientX - down.clientX;
    const along = clientY - down.clientY;
    const quick = timeStamp - down.timeStamp < SWIPE.milliseconds;
    down = null;
    if (!quick || Math.abs(across) < Math.max(SWIPE.pixels, 2 * Math.abs(along))) return;
    const by = across < 0 ? 1 : -1;
    if (hasRace(state) && isPhone(state) && !root.dataset.tour)
      go({ front: nextLane(state, by), cell: null });
    else turn(by);
  }

  root.addEventListener("pointermove", reveal);
  root.addEventListener("pointerdown", (event) => {
    reveal();
    const one = event.pointerType === "touch" && event.isPrimary && state.present;
    down = one && !closest(event, OWN) ? event : null;
  });
  root.addEventListener("pointerup", swiped);
  root.addEventListener("pointercancel", () => (down = null));
  root.addEventListener("click", tapped, true);
  onChange(({ present }) => {
    if (present && !wasPresent) reveal();
    wasPresent = present;
  });
  if (new URLSearchParams(addressQuery()).get("present") === "1") go({ present: true });
}
