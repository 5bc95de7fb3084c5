// Texts for screen readers: a race's start, its finishes, and the token that is chosen.

import { say } from "../dom.js";
import { cellInWords, countOf, inSeconds } from "../numbers.js";
import { outcomeOf, stoppedWords } from "../panels/results.js";
import { isOver, lanesOn } from "../trace/replay.js";
import { STATUSES } from "../trace/layers.js";
import { betInWords } from "./bet.js";

/** Announce that a race has begun. @param {HTMLElement} region @param {Snapshot} snapshot */
export function announceStart(region, { prompt, lanes }) {
  region.textContent = `The race begins: ${prompt}, ${countOf(lanes.length, "lane", "lanes")}.`;
}

const QUARTERS = ["a quarter", "half", "three quarters"];

/**
 * Announce who leads a live race, each time the first lane completes another quarter of its tokens.
 * @param {HTMLElement} region @param {Raced} state @param {View[]} views
 * @param {(number | null)[]} places of the lanes @param {Set<number | string>} said
 */
export function announceLeader(region, state, views, places, said) {
  const { lanes } = state.race;
  const shown = lanesOn(state);
  const leaders = shown.filter((i) => places[i] === 1).map((i) => lanes[i]);
  const furthest = Math.max(...shown.map((i) => views[i].n / lanes[i].total));
  const quarter = QUARTERS[Math.floor(4 * furthest) - 1];
  if (!leaders.length || !quarter || said.has(quarter)) return;
  said.add(quarter);
  const names = leaders.map(({ title }) => title).join(" and ");
  const lead = leaders.length > 1 ? "lead" : "leads";
  region.textContent = `${names} ${lead}, with ${quarter} of the picture drawn.`;
}

/**
 * Announce which of the shown lanes have ended and, at the race's end, the outcomes of the race and
 * of the bet. Skip everything that is in `said`, and add everything that is announced to `said`.
 * @param {HTMLElement} region @param {Raced} state @param {LaneState[]} states that the lanes show
 * @param {Set<number | string>} said
 */
export function announceEnds(region, state, states, said) {
  const { race, bet } = state;
  const shown = lanesOn(state);
  const news = states.flatMap((stands, i) =>
    ["finished", "failed"].includes(stands) && !said.has(i) ? i : [],
  );
  const ended = news.filter((i) => shown.includes(i)).map((i) => race.lanes[i]);
  const before = shown.some((i) => race.lanes[i].state === "finished" && said.has(i));
  for (const i of news) said.add(i);
  const finished = ended.filter(({ state }) => state === "finished");
  const soonest = Math.min(...finished.map(({ seconds }) => seconds));
  const sentences = ended.map((lane) => {
    const { title, passes, seconds } = lane;
    const isFirst = !before && shown.length > 1 && finished.includes(lane);
    const first = isFirst && seconds === soonest ? " first," : "";
    return `${title} ${lane.state}${first} after ${countOf(passes, "pass", "passes")} and ${inSeconds(seconds)} seconds.`;
  });
  if (isOver(race) && !said.has("race")) {
    said.add("race");
    const stopped = race.snapshot.state === "stopped";
    sentences.push(stopped ? stoppedWords(race) : "The race is over.");
    sentences.push(...[outcomeOf(state), betInWords(race, bet)].filter(Boolean));
  }
  if (sentences.length) region.textContent = sentences.join(" ");
}

/**
 * Announce the status of the chosen cell at the instant that a lane shows.
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
