// Bets on lanes, the visitor's and those of everyone who watches: until when they can be placed,
// and how they came out once the race is over.

import { finder } from "../dom.js";
import { countOf, ordinal } from "../numbers.js";
import { isOn, isOver, placesOf } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";

/**
 * Return a race with no lane hidden, because a bet is on the race as it was run.
 * @param {Race} race
 */
const allOf = (race) => ({ race, hidden: new Set() });

/** Test whether bets can still be placed: no lane has half of its tokens. @param {Race} race */
export const isOpen = (race) =>
  isOn(race) && race.lanes.every(({ n, order }) => 2 * n < order.length);

/**
 * Say how many bets there are. Once the race is over, say which lanes the bets were on and how many
 * bets were right. Return "" if nobody bets.
 * @param {Race} race
 */
export function tallyInWords(race) {
  const { bets = [] } = race.snapshot;
  const all = bets.reduce((sum, count) => sum + count, 0);
  if (!all) return "";
  if (!isOver(race)) return `${countOf(all, "bet", "bets")} so far.`;
  const on = race.lanes.map((lane, i) => ({ lane, count: bets[i] })).filter(({ count }) => count);
  on.sort((a, b) => b.count - a.count);
  const words = on.map(({ lane, count }) => `${count} on ${lane.title}`).join(", ");
  const right = on.filter(({ lane }) => placesOf(allOf(race), lane).seconds === 1);
  const won = right.reduce((sum, { count }) => sum + count, 0);
  return `Bets: ${words}. By seconds, ${won} of the ${countOf(all, "bet", "bets")} ${won === 1 ? "was" : "were"} right.`;
}

/**
 * Mount the buttons with which a visitor who watches a race bets on a lane. The buttons show while
 * bets are open. `place` sends a bet to the server and resolves to whether the server took it.
 * @param {HTMLElement} root @param {Board} board @param {(race: string) => boolean} isWatched
 * @param {(bet: Bet) => Promise<boolean>} place
 */
export function mountBets(root, board, isWatched, place) {
  const group = finder(root)("bets");
  let closed = ""; // the race whose bets the server takes no more
  /** @param {number} lane @param {string} race */
  async function bet(lane, race) {
    if (await place({ race, lane })) return board.go({ bet: { race, lane } });
    closed = race;
    board.go({});
  }
  board.onChange(({ race, bet: placed }) => {
    const { id = "" } = race.snapshot;
    group.hidden = !isWatched(id) || !isOpen(race);
    if (group.hidden) return;
    if (closed === id) return void render(html`<span>Bets are closed.</span>`, group);
    const mine = placed?.race === id ? placed.lane : -1;
    const buttons = race.lanes.map(
      ({ title }, lane) =>
        html`<button type="button" aria-pressed=${lane === mine} @click=${() => bet(lane, id)}>
          ${title}
        </button>`,
    );
    render([html`<span>Who will be first?</span>`, buttons], group);
  });
}

/**
 * Say how the visitor's bet on a race came out. Return "" before the end, or if there is no bet.
 * @param {Race} race @param {Bet | null} bet
 */
export function betInWords(race, bet) {
  const lane = bet && bet.race === race.snapshot.id ? race.lanes[bet.lane] : null;
  if (!lane || !isOver(race)) return "";
  const { title } = lane;
  const places = placesOf(allOf(race), lane);
  if (places.passes === null || places.seconds === null)
    return `You bet on ${title}: that lane did not finish.`;
  return `You bet on ${title}: it came ${ordinal(places.passes)} by passes and ${ordinal(places.seconds)} by seconds.`;
}
