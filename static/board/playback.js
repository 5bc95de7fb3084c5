// Moves the board through time: it follows a live race, or plays a race again. It changes the
// instant of the board's state (`t`, `live` and `playing`) and its `speed`, and draws nothing.

import { watchable } from "../controls/instants.js";
import { LiveClock, knownUntil } from "../trace/live_clock.js";
import { instantAt, isOver, lengthOf, stepAt } from "../trace/replay.js";

const LONGEST = 0.25; // seconds that a replay goes on in one frame, however long the page was busy
// Seconds between two frames of a replay, at least: thirty frames a second look smooth, and are
// half the work of sixty.
const SHORTEST = 0.03;

/** Test whether the visitor prefers reduced motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Playback {
  /** @type {State} */
  #state;
  #followed = new LiveClock(0, 0);
  /** @type {Shown | null} a race's last snapshot, until all steps have been shown */
  #ending = null;
  #last = 0; // when the last frame was drawn, in milliseconds

  /** @param {State} state */
  constructor(state) {
    this.#state = state;
  }

  /** True while a followed race has steps that are still to be shown. */
  get isBehind() {
    return this.#state.live && this.#followed.isBehind;
  }

  /** The race's length so far, on the board's clock. */
  get length() {
    const { race, clock } = this.#state;
    return race ? lengthOf(race, clock) : 0;
  }

  /** The newest instant up to which everything is known, on the board's clock. */
  get newest() {
    const { race, clock } = this.#state;
    if (!race) return 0;
    return isOver(race) ? this.length : instantAt(race, clock, this.#followed.head);
  }

  /** How far the board's clock moves in one second; 0 while nothing moves. */
  get rate() {
    const { playing, speed, clock } = this.#state;
    if (playing) return speed * this.#pace();
    if (!this.isBehind) return 0;
    const { head, speed: followed } = this.#followed;
    return clock === "seconds" ? followed : (followed * this.newest) / head;
  }

  /**
   * Put a race on the board, as far as it has been sent. The race counts as live until its last
   * step has been shown.
   * @param {Race} race @param {boolean} fresh whether the race is another than before
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

  // Show a race. Once it is over, lower the replay's speed so that it can be watched, unless the
  // visitor has chosen another one.
  /** @param {Race} race @param {boolean} fresh */
  #show(race, fresh) {
    const before = this.#state.race;
    const ends = isOver(race) && (fresh || !before || !isOver(before));
    this.#state.race = race;
    if (ends && this.#state.speed === 1) this.#state.speed = watchable(lengthOf(race, "seconds"));
  }

  /**
   * Stand at the start of a race that plays by itself; follow any other race.
   * @param {boolean} plays
   */
  begin(plays) {
    this.#state.t = 0;
    this.#state.playing = false;
    this.#state.live = !plays;
    this.#last = performance.now();
    this.settle();
  }

  /** Jump to the newest instant, and follow the race from there. */
  catchUp() {
    this.#state.live = true;
    this.#state.playing = false;
    this.#followed.catchUp();
    this.settle(); // a key that comes before the next frame steps from here
  }

  /**
   * Move to an instant of the board's clock. At the newest one, follow the race.
   * @param {number} t
   */
  moveTo(t) {
    const end = this.newest;
    this.#state.t = Math.min(end, Math.max(0, t));
    this.#state.live = this.#state.t >= end;
    if (this.#state.live) this.catchUp();
  }

  /**
   * Play the race, or pause. A race that stands at its finish plays from the start. A live race
   * goes on while the board is paused.
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
   * Advance the instant to now. Return whether to draw a frame: a replay's frames are at least
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

  /** If a race is over and every step has been shown, end it. Return whether it has just ended. */
  end() {
    const { race } = this.#state;
    if (!race || !this.#ending || this.isBehind) return false;
    this.#show({ ...race, snapshot: this.#ending }, false);
    this.#ending = null;
    return true;
  }

  /**
   * Set the instant of a followed race from its seconds, so that all lanes stand at the same
   * instant on every clock.
   */
  settle() {
    const { race, clock, live } = this.#state;
    if (!race || !live) return;
    this.#state.t = instantAt(race, clock, this.#followed.seconds);
  }

  /**
   * Return the scrubber's length on the clock. For a race that is over, that is the race's length.
   * For a live race, the scrubber's filled share equals the furthest lane's share of its tokens.
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

  // Return how much of the clock goes by in one second at speed 1: by passes a replay takes as long
  // as by seconds.
  #pace() {
    const { race, clock } = this.#state;
    if (clock !== "passes" || !race) return 1;
    return this.length / Math.max(0.1, lengthOf(race, "seconds"));
  }
}
