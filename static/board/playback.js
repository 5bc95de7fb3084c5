// How the board moves through time. It follows a race that is on, or it plays a race again. It
// changes the instant of the board's state (`t`, `live` and `playing`) and its `speed`.
// It draws nothing.

import { watchable } from "../controls/instants.js";
import { LiveClock, knownUntil } from "../trace/live_clock.js";
import { instantAt, isOver, lengthOf, stepAt } from "../trace/replay.js";

const LONGEST = 0.25; // seconds that a replay goes on in one frame, however long the page was busy
// Seconds between two frames of a replay, at least: thirty frames a second look smooth, and are
// half the work of sixty.
const SHORTEST = 0.03;

/** Whether the visitor has asked for no motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Playback {
  /** @type {State} */
  #state;
  #followed = new LiveClock(0, 0);
  /** @type {Shown | null} the last snapshot of a race of which not all steps have been shown */
  #ending = null;
  #last = 0; // when the last frame was drawn, in milliseconds

  /** @param {State} state */
  constructor(state) {
    this.#state = state;
  }

  /** Whether a race is followed and has steps that are still to be shown. */
  get isBehind() {
    return this.#state.live && this.#followed.isBehind;
  }

  /** How long the race is so far, on the board's clock. */
  get length() {
    const { race, clock } = this.#state;
    return race ? lengthOf(race, clock) : 0;
  }

  /** The newest instant of which all is known, on the board's clock. */
  get newest() {
    const { race, clock } = this.#state;
    if (!race) return 0;
    return isOver(race) ? this.length : instantAt(race, clock, this.#followed.head);
  }

  /** How much of the board's clock goes by in one second; 0 while nothing moves. */
  get rate() {
    const { playing, speed, clock } = this.#state;
    if (playing) return speed * this.#pace();
    if (!this.isBehind) return 0;
    const { head, speed: followed } = this.#followed;
    return clock === "seconds" ? followed : (followed * this.newest) / head;
  }

  /**
   * Puts what has been sent of a race on the board. The race counts as one that is on until its
   * last step has been shown.
   * @param {Race} race @param {boolean} fresh whether it is another race than before
   */
  follow(race, fresh) {
    const now = performance.now();
    const over = isOver(race);
    if (fresh) this.#followed = new LiveClock(knownUntil(race), now);
    else this.#followed.follow(knownUntil(race), now, over);
    this.#ending = over && this.isBehind ? race.snapshot : null;
    if (this.#ending) race = { ...race, snapshot: { ...race.snapshot, state: "racing" } };
    if (fresh) this.#state.speed = 1;
    this.#show(race, fresh);
  }

  // Once a race is over it is played again at a speed at which it can be watched, unless another
  // one has been chosen.
  /** @param {Race} race @param {boolean} fresh */
  #show(race, fresh) {
    const before = this.#state.race;
    const ends = isOver(race) && (fresh || !before || !isOver(before));
    this.#state.race = race;
    if (ends && this.#state.speed === 1) this.#state.speed = watchable(lengthOf(race, "seconds"));
  }

  /**
   * Stands at the start of a race that plays by itself, or follows one that does not.
   * @param {boolean} plays
   */
  begin(plays) {
    this.#state.t = 0;
    this.#state.playing = false;
    this.#state.live = !plays;
    this.#last = performance.now();
    this.settle();
  }

  /** Goes to the newest instant at once, and follows the race from there. */
  catchUp() {
    this.#state.live = true;
    this.#state.playing = false;
    this.#followed.catchUp();
    this.settle(); // a key that comes before the next frame steps from here
  }

  /**
   * Goes to an instant of the board's clock; at the newest one the race is followed.
   * @param {number} t
   */
  moveTo(t) {
    const end = this.newest;
    this.#state.t = Math.min(end, Math.max(0, t));
    this.#state.live = this.#state.t >= end;
    if (this.#state.live) this.catchUp();
  }

  /**
   * Plays the race, from its start if it stands at its finish, or pauses. A race that is on goes on
   * while the board is paused.
   * @param {boolean} playing
   */
  play(playing) {
    const state = this.#state;
    const over = state.race !== null && isOver(state.race);
    if (playing && state.live && over) {
      state.t = 0;
      state.live = false;
    }
    if (!playing && state.live && !over) state.live = false;
    state.playing = playing && !state.live;
    this.#last = performance.now();
  }

  /**
   * Moves the instant on to now. Returns whether a frame is to be drawn: the frames of a replay are
   * SHORTEST apart.
   */
  advance() {
    const now = performance.now();
    const passed = (now - this.#last) / 1000;
    const { playing, live, speed, t } = this.#state;
    if (playing && passed < SHORTEST) return false;
    if (playing) this.moveTo(t + Math.min(LONGEST, passed) * speed * this.#pace());
    else if (live && (document.hidden || isStill())) this.#followed.catchUp();
    else if (live) this.#followed.advance(now);
    this.#last = now;
    return true;
  }

  /**
   * Ends a race that is over and of which every step has been shown. Returns whether it has just
   * done so.
   */
  end() {
    const { race } = this.#state;
    if (!race || !this.#ending || this.isBehind) return false;
    this.#show({ ...race, snapshot: this.#ending }, false);
    this.#ending = null;
    return true;
  }

  /** Sets the instant of a race that is followed: on every clock all lanes stand at one instant. */
  settle() {
    const { race, clock, live } = this.#state;
    if (!race || !live) return;
    this.#state.t = instantAt(race, clock, this.#followed.seconds);
  }

  /**
   * How long the scrubber is on the clock. It is as long as a race that is over; while the race is
   * on, so long that the lane that is furthest has as large a share of its tokens behind it.
   * @param {Raced} state
   */
  scale({ race, clock, t, live }) {
    if (isOver(race)) return this.length;
    const now = live ? t : this.newest;
    const shares = race.lanes.map((lane) => {
      const k = stepAt(lane, clock, now);
      return k ? lane.steps[k - 1].after / lane.total : 0;
    });
    return now / (Math.max(...shares) || 1);
  }

  // A replay takes as long by passes as it does by seconds.
  #pace() {
    const { race, clock } = this.#state;
    if (clock !== "passes" || !race) return 1;
    return this.length / Math.max(0.1, lengthOf(race, "seconds"));
  }
}
