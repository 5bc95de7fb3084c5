// The instant that is shown of a live race. Messages bring the race's steps in bunches; the instant
// follows the newest step evenly, one message late, so that each step is seen in its turn.

import { lengthOf, raceClock } from "./replay.js";

// Seconds between two messages, at least and at most, from which the instant's speed is reckoned.
const LEAST = 0.05;
const MOST = 1;
const NEWEST = 0.3; // the weight of the newest interval in the mean of all
// Intervals that the instant takes to the newest step: when a message is half an interval late, the
// instant is still moving.
const SLACK = 1.5;

/**
 * Return the second up to which everything in a race is known. If lanes take turns, the lane
 * furthest behind steps next, so every lane is known up to that lane's second. If lanes run all at
 * once, all are known up to the second of the lane furthest ahead.
 * @param {Race} race
 */
export function knownUntil(race) {
  const apart = race.snapshot.apart && race.snapshot.state === "racing";
  return apart ? lengthOf(race, "seconds") : raceClock(race, "seconds");
}

/** Follows the newest known instant of a race, in seconds of its lanes, and never goes back. */
export class LiveClock {
  #interval = 0; // mean seconds between messages; 0 before there were two
  #due = 0; // when the last message was taken in, in milliseconds
  #now = 0; // when `seconds` was set, in milliseconds

  /**
   * @param {number} head the second at which the clock begins
   * @param {number} now in milliseconds, as in the methods below
   */
  constructor(head, now) {
    this.head = head;
    this.seconds = head;
    this.speed = 0; // seconds of the lanes' clocks that go by in one second
    this.#due = this.#now = now;
  }

  /** True while there are steps that the instant has not reached. */
  get isBehind() {
    return this.seconds < this.head;
  }

  /**
   * Take note of a message, after which everything is known up to `head`.
   * @param {number} head @param {number} now
   * @param {boolean} last whether no other message will come
   */
  follow(head, now, last) {
    this.advance(now);
    const interval = Math.min(MOST, Math.max(LEAST, (now - this.#due) / 1000));
    const before = this.#interval || interval;
    this.#interval = before + NEWEST * (interval - before);
    this.#due = Math.max(this.#due, now);
    this.head = Math.max(this.head, head);
    this.speed = (this.head - this.seconds) / (this.#interval * (last ? 1 : SLACK));
  }

  /** Advance to now, and return the instant to show. @param {number} now */
  advance(now) {
    const passed = Math.max(0, now - this.#now) / 1000;
    this.#now = Math.max(this.#now, now);
    const reached = this.seconds + passed * this.speed;
    this.seconds = Math.min(this.head, Math.max(this.seconds, reached));
    return this.seconds;
  }

  /** Jump to the newest known instant. */
  catchUp() {
    this.seconds = this.head;
  }
}
