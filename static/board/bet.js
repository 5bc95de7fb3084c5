// A visitor's bet on a lane: what came of it, once its race is over.

import { ordinal } from "../numbers.js";
import { isOver } from "../trace/replay.js";

/**
 * What came of the bet on a race; "" where there is none on it, or nothing yet.
 * @param {Race} race @param {Bet | null} bet
 */
export function betInWords(race, bet) {
  const lane = bet && bet.race === race.snapshot.id ? race.lanes[bet.lane] : null;
  if (!lane || !isOver(race)) return "";
  const { title, places } = lane;
  if (places.passes === null || places.seconds === null)
    return `You bet on ${title}: it did not finish.`;
  const [passes, seconds] = [places.passes, places.seconds].map(ordinal);
  return `You bet on ${title}: ${passes} by passes, ${seconds} by seconds.`;
}
