// Draws the board as its state is. Most frames only move the instant: they leave alone what does
// not follow from it, for a race that is on needs the processors. Its pictures move with every
// frame; its figures follow so often as one can read them.

import { finder } from "../dom.js";
import { drawFigures, drawPictures } from "../lanes/cards.js";
import { drawFinish } from "../panels/finish.js";
import { drawLegend } from "../panels/legend.js";
import { drawPeek, drawToken } from "../panels/token_panel.js";
import { layerOf, rangeOf, referenceOf } from "../trace/layers.js";
import { isJustAfter, isOver, laneAt, placesAt, stepsShown } from "../trace/replay.js";
import { announceEnds, announceToken } from "./announce.js";
import { drawHead } from "./head.js";

const READ = 100; // ms that a live race's figures stand, at least
const MARKED = 0.06; // seconds from step to step, at least, for marks that go again half way

/**
 * What draws the board, its controls and its panel of the modelled clock.
 * @param {HTMLElement} board
 * @param {{ drawControls(length: number, all: boolean): void, drawModelled(): void }} parts
 */
export function bindDrawing(board, { drawControls, drawModelled }) {
  const part = finder(board);
  let [states, shown, instant] = ["", "", ""]; // of the lanes, their steps, with marks, as drawn
  let written = 0; // when the figures were
  /** @type {Chosen | null} */
  let uncovered = null; // the pinned cell whose picture has been brought into view
  /** @type {Set<number | "race">} */
  let said = new Set(); // the lanes whose ends have been said, and the race's
  let colours = { ink: "", card: "", rule: "", signal: "" };

  /**
   * A new race is on the board: what has ended by now is no news, but that a recording will be over
   * that plays.
   * @param {Race} race @param {boolean} playing
   */
  function begin({ snapshot, lanes }, playing) {
    const running = snapshot.state === "racing" || snapshot.state === "waiting";
    said = new Set(lanes.flatMap(({ state }, i) => (state === "finished" ? i : [])));
    if (!running && !playing) said.add("race");
  }

  /**
   * Draws `all` of it, or what follows from the instant. Whether the board's listeners are to know.
   * @param {Raced} state @param {Frame} frame
   */
  function draw(state, { cards, swatches, length, rate, all }) {
    const { race, clock, cell } = state;
    const done = isOver(race) && state.live;
    const steps = stepsShown(state);
    const marked = markedLanes(state, steps, rate);
    const [running, moved, now] = [!all && state.live, [steps, marked].join(), performance.now()];
    if (running && moved === instant) return false;
    const views = race.lanes.map((lane, i) => laneAt(lane, steps[i]));
    const layer = layerOf(state.layer);
    const against = layer.kind === "differs" ? race.lanes[referenceOf(race, state.against)] : null;
    if (all) colours = coloursOf(board);
    const style = { layer, range: rangeOf(race, layer), against, swatches, ...colours };
    drawPictures(cards, race, { style, cell, views, marked });
    if (running && rate > 0 && now - written < READ) return false;
    [instant, written] = [moved, now];
    const places = done ? views.map(() => null) : placesAt(race.lanes, views, clock);
    drawFigures(cards, race, { clock, views, places, against });
    drawHead(board, state);
    drawControls(length, all);
    const stand = views.map((view) => view.state).join();
    const more = all || stand !== states;
    if (more) {
      states = stand;
      drawModelled();
      drawLegend(part("legend"), layer, race, against);
      drawFinish(part("finish"), state, cards);
    }
    if (all || steps.join() !== shown) {
      shown = steps.join();
      drawCell(state, steps, views, cards);
    }
    const ended = !state.live && isOver(race) && !race.snapshot.recorded;
    if (state.live || ended) {
      const seen = ended ? race.lanes : views;
      announceEnds(
        part("live"),
        race,
        seen.map((one) => one.state),
        state.bet,
        said,
      );
    }
    return more;
  }

  // What is said of the chosen cell, as of the steps that are drawn.
  /** @param {Raced} state @param {number[]} steps @param {View[]} views @param {Card[]} cards */
  function drawCell(state, steps, views, cards) {
    const { race, cell } = state;
    drawToken(part("token"), state, steps);
    uncover(cell?.pinned ? cell : null, cards);
    if (cell?.pinned) {
      const lane = race.lanes[cell.lane];
      announceToken(part("live"), lane, views[cell.lane], cell.cell, race.grid[1]);
    }
    drawPeek(part("peek"), state, steps);
  }

  // Of a cell that has just been pinned, the picture is scrolled out from under the panel.
  /** @param {Chosen | null} pinned @param {Card[]} cards */
  function uncover(pinned, cards) {
    if (pinned === uncovered) return;
    uncovered = pinned;
    if (!pinned || part("stage-panel").querySelector(".chapter")) return; // which has places for both
    const { canvas } = cards[pinned.lane];
    canvas.style.scrollMarginBottom = `${part("token").offsetHeight + 8}px`;
    canvas.scrollIntoView({ block: "nearest" });
  }

  return { begin, draw };
}

// Which lanes show what their latest step did: while the board moves, those between whose steps
// there is time to see it. `rate` is how fast it does.
/** @param {Raced} state @param {number[]} steps @param {number} rate */
function markedLanes({ race, clock, t, seconds }, steps, rate) {
  /** @type {[Clock, number]} */
  const [by, at] = seconds === null ? [clock, t] : ["seconds", seconds];
  return race.lanes.map(
    (lane, i) => rate > 0 && isJustAfter(lane, by, at, steps[i], MARKED * rate),
  );
}

// Those that canvases are drawn in, which follow the page's theme.
/** @param {HTMLElement} board */
function coloursOf(board) {
  const style = getComputedStyle(board);
  const [ink, card, rule, signal] = ["ink", "card", "rule", "signal"].map((name) =>
    style.getPropertyValue(`--${name}`).trim(),
  );
  return { ink, card, rule, signal };
}
