// What a screen reader says of the board: the start, finishes, and the token that has been chosen.

import { say } from "../dom.js";
import { countOf, inSeconds, lastOf } from "../numbers.js";
import { stoppedWords } from "../panels/results.js";
import { isOver } from "../trace/replay.js";
import { STATUSES } from "../trace/layers.js";
import { betInWords } from "./bet.js";

/** Says that a race has begun. @param {HTMLElement} region @param {Snapshot} snapshot */
export function announceStart(region, { prompt, lanes }) {
  region.textContent = `The race begins: ${prompt}, ${countOf(lanes.length, "lane", "lanes")}.`;
}

/**
 * Says which lanes have ended since another snapshot of the same race, and at its end what came of
 * the bet.
 * @param {HTMLElement} region @param {Snapshot} before @param {Race} race @param {Bet | null} bet
 */
export function announceFinishes(region, before, race, bet) {
  const now = race.snapshot;
  /** @param {LaneSnapshot} lane @param {number} i */
  const ended = (lane, i) =>
    before.lanes[i].state !== lane.state && ["finished", "failed"].includes(lane.state);
  const news = now.lanes.filter(ended).map((lane) => {
    const { title, passes, seconds } = lane;
    return `${title} ${lane.state} after ${passes} passes, ${inSeconds(seconds)} seconds.`;
  });
  if (isOver(race) && now.state !== before.state)
    news.push(
      now.state === "finished" ? "The race is over." : stoppedWords(race),
      betInWords(race, bet),
    );
  if (news.length) region.textContent = news.join(" ");
}

/** @param {number} cell @param {number} columns */
const cellInWords = (cell, columns) =>
  `row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}`;

/**
 * Says what became of the chosen cell at the instant that a lane shows.
 * @param {HTMLElement} region @param {Lane} lane @param {View} view @param {number} columns
 * @param {number} cell
 */
export function announceToken(region, lane, view, cell, columns) {
  const text = tokenInWords(lane, view, cell, columns);
  if (region.dataset.token === text) return; // what has been said since stays
  region.dataset.token = text;
  say(region, text);
}

/** @param {Lane} lane @param {View} view @param {number} cell @param {number} columns */
function tokenInWords(lane, view, cell, columns) {
  const row = view.rowOf(cell);
  const place = `${lane.title}, ${cellInWords(cell, columns)}`;
  const known = lane.knownToken(cell);
  if (known !== null) return `${place}: token ${known}, known from the start.`;
  if (row < 0) return `${place}: not reached yet.`;
  const fixed = lane.rank[cell] < view.n ? "final" : "a draft";
  return `${place}: token ${lane.token(row)}, ${STATUSES[lane.status(row)].name}, ${fixed}.`;
}

/**
 * Says what is chosen of a picture to fill in, and how much of it is masked.
 * @param {HTMLElement} region @param {number[]} cells that are chosen @param {Set<number>} masked
 * @param {number} columns @param {string} count in words
 */
export function announceMask(region, cells, masked, columns, count) {
  const [first, last] = [cells[0], lastOf(cells)].map((cell) => cellInWords(cell, columns));
  const place =
    cells.length > 1 ? `From ${first} to ${last}` : first[0].toUpperCase() + first.slice(1);
  const inside = cells.filter((cell) => masked.has(cell)).length;
  const some = inside ? "in part to be filled in" : "known";
  say(region, `${place}: ${inside === cells.length ? "to be filled in" : some}. ${count}.`);
}
