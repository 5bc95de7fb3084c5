// The instants that the transport leads to, and the speed to watch a race at.

import {
  clockAt,
  clockOf,
  finishers,
  isOver,
  lengthOf,
  nextStep,
  shownLanes,
  stepsShown,
} from "../trace/replay.js";

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];
const SEEN = 8; // seconds that a recording is to last, roughly

/** Return the speed at which a recording lasts about eight seconds. @param {number} seconds */
export function watchable(seconds) {
  /** @param {number} speed */
  const off = (speed) => Math.abs(Math.log(seconds / speed / SEEN));
  return SPEEDS.filter((speed) => speed <= 1).reduce((a, b) => (off(b) < off(a) ? b : a));
}

/**
 * Return the instant that a step forward or back leads to: the next step of one lane, or of any
 * shown lane. By passes, all lanes move one pass.
 * @param {Raced} state @param {boolean} back
 */
export function stepTarget(state, back) {
  const { race, clock, t, stepping } = state;
  if (stepping === null && clock === "passes") {
    return back ? Math.max(0, Math.ceil(t) - 1) : Math.floor(t) + 1;
  }
  const lanes = stepping === null ? shownLanes(state) : [race.lanes[stepping]];
  return nextStep(lanes.length ? lanes : race.lanes, clock, t, back);
}

/**
 * Return the instant of the next or previous finish. Without one, return the end or the start of
 * the race so far.
 * @param {Raced} state @param {boolean} back
 */
export function finishTarget(state, back) {
  const { race, clock, t } = state;
  const lanes = shownLanes(state);
  const times = finishers(lanes, clock).map((i) => clockOf(lanes[i], clock));
  if (back) return times.findLast((time) => time < t) ?? 0;
  return times.find((time) => time > t) ?? lengthOf(race, clock);
}

/** Test whether the end of a race that is over is shown. @param {Raced} state */
export const isAtEnd = ({ race, clock, t }) => isOver(race) && t >= lengthOf(race, clock);

/**
 * Return the lane that is pointed at, or else the slowest, and the number of steps that this lane
 * has made at the board's instant.
 * @param {Raced} state
 */
export function stepOf(state) {
  const { race, clock, cell } = state;
  const ends = race.lanes.map((lane) => clockOf(lane, clock));
  const lane = cell?.lane ?? ends.indexOf(Math.max(...ends));
  return { lane, step: stepsShown(state)[lane] };
}

/**
 * Return the same instant on another clock. The end of a race that is over maps to its end. Any
 * earlier instant maps to the one at which `stepOf`'s lane has made as many steps.
 * @param {Raced} state @param {Clock} other
 */
export function sameInstant(state, other) {
  if (isAtEnd(state)) return lengthOf(state.race, other);
  const { lane, step } = stepOf(state);
  return clockAt(state.race.lanes[lane], other, step);
}

/** Test whether the board moves through time. @param {State} state */
export const isMoving = ({ playing, live, race }) =>
  playing || (live && race?.snapshot.state === "racing");
