// The instant that is shown of a race while it runs. Messages bring its steps in bunches; the
// instant goes after the newest of them evenly, a message behind, so that each is seen in its turn.

import { lengthOf, raceClock } from "./replay.js";

const LEAST = 0.05; // seconds between two messages, as far as the instant's speed goes
const MOST = 1;
const NEWEST = 0.3; // what the newest interval counts among those before it
const SLACK = 1.5; // intervals to the head: a message that is half an interval late finds it moving still

/**
 * Up to which second all that happens in a race is known: the race steps the lane that is furthest
 * behind; of lanes that run all at once the one that is furthest has shown how far they are.
 * @param {Race} race
 */
export function knownUntil(race) {
  const apart = race.snapshot.apart && race.snapshot.state === "racing";
  return apart ? lengthOf(race, "seconds") : raceClock(race, "seconds");
}

/** Chases the head of one race, in seconds of the lanes' clocks. It never goes back. */
export class LiveClock {
  #interval = 0; // between messages, smoothed; 0 before there were two
  #due = 0; // when a message was last taken in
  #now = 0; // when `seconds` was

  /** @param {number} head where it begins @param {number} now in milliseconds, as those below */
  constructor(head, now) {
    this.head = head;
    this.seconds = head;
    this.speed = 0; // seconds in a second
    this.#due = this.#now = now;
  }

  /** Whether there are steps that it has not reached. */
  get isBehind() {
    return this.seconds < this.head;
  }

  /**
   * A message was taken in: the head is there now. `last`: no other one will come.
   * @param {number} head @param {number} now @param {boolean} last
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

  /** The instant to show. @param {number} now */
  advance(now) {
    const passed = Math.max(0, now - this.#now) / 1000;
    this.#now = Math.max(this.#now, now);
    const reached = this.seconds + passed * this.speed;
    this.seconds = Math.min(this.head, Math.max(this.seconds, reached));
    return this.seconds;
  }

  /** Goes to the head at once. */
  catchUp() {
    this.seconds = this.head;
  }
}
