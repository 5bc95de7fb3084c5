// Where every lane of a race stood at any instant of any clock.

import { isKnown } from "../numbers.js";

/** @type {Clock[]} */
export const CLOCKS = ["seconds", "passes", "modelled"];

/**
 * Return how many steps of a lane were done at time t on a clock.
 * @param {Lane} lane @param {Clock} clock @param {number} t
 */
export function stepAt(lane, clock, t) {
  let low = 0;
  let high = lane.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.steps[middle][clock] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Return the lane after its k-th step; k = 0 is before the first.
 * @param {Lane} lane @param {number} k @returns {View}
 */
export function laneAt(lane, k) {
  const step = lane.steps[k - 1];
  if (!step) {
    return {
      k,
      n: 0,
      drafts: [],
      state: lane.count ? "waiting" : lane.state,
      passes: 0,
      drafter: 0,
      seconds: 0,
      modelled: 0,
      compression: 0,
      shift: null,
      rowOf: () => -1,
    };
  }
  const state = k === lane.count ? lane.state : "racing";
  const { after: n, before, first, touched } = step;
  const over = ["stopped", "failed"].includes(state); // no step will verify its drafts
  const end = first + touched;
  /** @type {number[]} */
  const drafts = [];
  for (let row = first + n - before; row < end && !over; row++) drafts.push(lane.cellOf(row));
  /** @param {number} cell */
  const rowOf = (cell) => {
    const rank = lane.rank[cell];
    if (rank < n) return lane.committedBy[rank];
    const row = over ? -1 : lane.touches[cell]?.findLast((each) => each < end);
    return isKnown(row) && row >= first ? row : -1;
  };
  const { passes, drafted: drafter, seconds, modelled, reached } = step;
  return {
    k,
    n,
    drafts,
    state,
    passes,
    drafter,
    seconds,
    modelled,
    compression: reached / passes,
    shift: step.tests ? step.shifts / step.tests : null,
    rowOf,
  };
}

/**
 * Return the FNV-1a hash (32 bits, in hexadecimal) of numbers, each as 4 bytes, little-endian.
 * @param {number[]} numbers
 */
export function hashOf(numbers) {
  let hash = 0x811c9dc5;
  for (const number of numbers) {
    for (let shift = 0; shift < 32; shift += 8) {
      hash = Math.imul(hash ^ ((number >>> shift) & 255), 0x01000193) >>> 0;
    }
  }
  return hash.toString(16).padStart(8, "0");
}

/**
 * Return the hashes of the tokens and of the statuses that a lane shows.
 * @param {Lane} lane @param {View} view
 */
export function hashesOf(lane, view) {
  const rows = [...lane.order.slice(0, view.n), ...view.drafts].map(view.rowOf);
  return [hashOf(rows.map((row) => lane.token(row))), hashOf(rows.map((row) => lane.status(row)))];
}

/**
 * Return a lane's clock after its k-th step or, if the lane has fewer steps, after its last.
 * @param {Lane} lane @param {Clock} clock @param {number} k
 */
export const clockAt = (lane, clock, k) => lane.steps[Math.min(k, lane.count) - 1]?.[clock] ?? 0;
/** @param {Lane} lane @param {Clock} clock */
export const clockOf = (lane, clock) => clockAt(lane, clock, lane.count);
/** Return a race's length: the slowest lane's clock. @param {Race} race @param {Clock} clock */
export const lengthOf = (race, clock) =>
  Math.max(0, ...race.lanes.map((lane) => clockOf(lane, clock)));

/**
 * Return the race's clock. While the race runs, it is the clock of the running lane furthest
 * behind. Lanes without a step are left out, because other lanes do not wait for them. After the
 * race, it is the slowest lane's clock.
 * @param {Race} race @param {Clock} clock
 */
export function raceClock(race, clock) {
  const running = race.lanes.filter((lane) => lane.state === "racing" && lane.count > 0);
  if (!running.length) return lengthOf(race, clock);
  return Math.min(...running.map((lane) => clockOf(lane, clock)));
}

/**
 * Count the steps that each lane has made by the board's instant.
 * @param {Raced} state
 */
export const stepsShown = ({ race, clock, t }) => race.lanes.map((lane) => stepAt(lane, clock, t));

/**
 * Return what a clock shows once the lanes have raced for a number of seconds. It is the least
 * value that any running lane has reached or, if each lane has its own device, the greatest.
 * @param {Race} race @param {Clock} clock @param {number} seconds
 */
export function instantAt({ lanes, snapshot: { apart } }, clock, seconds) {
  if (clock === "seconds") return seconds;
  const at = lanes.map((lane) => ({ lane, k: stepAt(lane, "seconds", seconds) }));
  const running = at.filter(({ lane, k }) => k < lane.count || lane.state === "racing");
  const times = (running.length ? running : at).map(({ lane, k }) => clockAt(lane, clock, k));
  return running.length && !apart ? Math.min(...times) : Math.max(0, ...times);
}

/**
 * Return the indices of the lanes that are not hidden.
 * @param {Pick<Raced, "race" | "hidden">} state
 */
export const lanesOn = ({ race, hidden }) =>
  race.lanes.map((_, i) => i).filter((i) => !hidden.has(i));

/** Return the lanes that are not hidden. @param {Pick<Raced, "race" | "hidden">} state */
export const shownLanes = (state) => lanesOn(state).map((i) => state.race.lanes[i]);

/**
 * Test whether an instant lies in the first half of the time from a lane's k-th step to its next,
 * and that time is at least `least`.
 * @param {Lane} lane @param {Clock} clock @param {number} t @param {number} k
 * @param {number} least
 */
export function isJustAfter(lane, clock, t, k, least) {
  if (k === 0 || k >= lane.count) return false;
  const from = lane.steps[k - 1][clock];
  const to = lane.steps[k][clock];
  return to - from >= least && t < (from + to) / 2;
}

/**
 * Return each lane's place at an instant among the lanes that are shown; 1 is the first. Finished
 * lanes come first, in the order of a clock; then the others, by the tokens that they have
 * committed. Equal lanes share the better place. The place is null while a lane has no token, and
 * for a lane that failed or was stopped.
 * @param {Raced} state @param {View[]} views
 */
export function placesAt(state, views) {
  const ends = endsAt(state, views);
  return views.map(({ n, state: stands }, i) => {
    if (!n || stands === "failed" || stands === "stopped") return null;
    /** @param {number} j */
    const isAhead = (j) => ends[j] < ends[i] || (ends[j] === ends[i] && views[j].n > n);
    return 1 + lanesOn(state).filter(isAhead).length;
  });
}

/**
 * Return a mark for each lane. Among the shown lanes, the first to finish on the board's clock has
 * "first" and, once no lane goes on, the last to finish has "last". Other lanes have "". A single
 * lane has no mark.
 * @param {Raced} state @param {View[]} views
 */
export function finishesAt(state, views) {
  const ends = endsAt(state, views);
  const shown = lanesOn(state);
  const done = shown.map((i) => ends[i]).filter(isFinite);
  const goesOn = shown.some((i) => ["racing", "waiting"].includes(views[i].state));
  const [first, last] = [Math.min(...done), goesOn ? NaN : Math.max(...done)];
  /** @param {number} end */
  const nameOf = (end) => (end === first ? "first" : end === last ? "last" : "");
  return ends.map((end) => (shown.length > 1 && isFinite(end) ? nameOf(end) : ""));
}

/**
 * Return when each lane's view finished; Infinity if it has not finished.
 * @param {Raced} state @param {View[]} views
 */
const endsAt = ({ race, clock }, views) =>
  views.map(({ state }, i) => (state === "finished" ? clockOf(race.lanes[i], clock) : Infinity));

/**
 * Return a lane's place at the finish on each clock among the lanes that are shown; null while a
 * running lane can still come in before it.
 * @param {Pick<Raced, "race" | "hidden">} state @param {Lane} lane @returns {Places}
 */
export function placesOf(state, lane) {
  const shown = shownLanes(state);
  /** @param {Clock} clock */
  const placeOn = (clock) => {
    const before = shown.filter((other) => other[clock] < lane[clock]);
    if (lane.state !== "finished" || before.some(({ state: stands }) => stands === "racing"))
      return null;
    return 1 + before.filter(({ state: stands }) => stands === "finished").length;
  };
  // A fork beside its parent has drawn fewer tokens.
  if (shown.some(({ total }) => total !== lane.total))
    return { seconds: null, passes: null, modelled: null };
  const { untimed = false } = state.race.snapshot;
  const [seconds, modelled] = untimed ? [null, null] : [placeOn("seconds"), placeOn("modelled")];
  return { seconds, passes: placeOn("passes"), modelled };
}

/**
 * Return the instant of the next step of any of these lanes or, with `back`, of the latest earlier
 * one; null where there is none.
 * @param {Lane[]} lanes @param {Clock} clock @param {number} t
 */
export function nextStep(lanes, clock, t, back = false) {
  const times = lanes.map((lane) => {
    const k = stepAt(lane, clock, t);
    if (!back) return k < lane.count ? lane.steps[k][clock] : Infinity;
    return lane.steps.slice(0, k).findLast((step) => step[clock] < t)?.[clock] ?? 0;
  });
  const found = back ? Math.max(0, ...times) : Math.min(Infinity, ...times);
  const exists = back ? found < t : Number.isFinite(found);
  return exists ? found : null;
}

/** Test whether there is a race on the board. @param {State} state @returns {state is Raced} */
export const hasRace = (state) => state.race !== null;

/** Test whether no lane makes another step. @param {Race} race */
export const isOver = ({ snapshot: { state } }) => ["finished", "stopped"].includes(state);

/** Test whether a race has been asked for and is not over. @param {Race} race */
export const isOn = (race) => Boolean(race.snapshot.prompt) && !isOver(race);

/**
 * Return the number of passes that a lane never exceeds, whatever is accepted; null where no bound
 * is known. ASSD makes at most as many passes as there are tokens (Theorem 1).
 * @param {Lane} lane
 */
export const boundOf = (lane) => (lane.decoder === "assd" ? lane.total : null);

/**
 * Return the indices of the finished lanes, in the order of a clock.
 * @param {Lane[]} lanes @param {Clock} clock
 */
export function finishers(lanes, clock) {
  const done = lanes.map((_, i) => i).filter((i) => lanes[i].state === "finished");
  return done.sort((a, b) => lanes[a][clock] - lanes[b][clock]);
}
