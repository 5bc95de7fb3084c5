// Draws the board from its state. Most frames only move the instant and redraw only what follows
// it, since a live race needs the processors. Pictures move with every frame, figures only as often
// as one can read them.

import { colourNamed, finder } from "../dom.js";
import { drawBars } from "../lanes/bars.js";
import { drawFigures, drawPictures } from "../lanes/cards.js";
import { drawFinish } from "../panels/finish.js";
import { drawLegend } from "../panels/legend.js";
import { bindToken, drawPeek } from "../panels/token_panel.js";
import { layerOf, rangeOf, referenceOf } from "../trace/layers.js";
import {
  finishesAt,
  isJustAfter,
  isOn,
  isOver,
  laneAt,
  placesAt,
  placesOf,
  stepsShown,
} from "../trace/replay.js";
import { announceEnds, announceLeader, announceToken } from "./announce.js";
import { drawHead } from "./head.js";

const READ = 100; // milliseconds that a live race's figures stand, at least
const STANDING = 1000; // milliseconds that a lane's place among running ones stands, at least
const MARKED = 0.06; // seconds to a lane's next step, at least, for its latest to be marked

/**
 * Return the functions that draw the board, its controls and its panel of the modelled clock.
 * @param {HTMLElement} board @param {(change: Change) => void} go
 * @param {{ drawControls(length: number, all: boolean): void, drawModelled(): void }} parts
 */
export function bindDrawing(board, go, { drawControls, drawModelled }) {
  const part = finder(board);
  const drawToken = bindToken(part("token"));
  let states = ""; // of the lanes, as drawn last
  let shown = ""; // the lanes' steps, as drawn last
  let instant = ""; // the lanes' steps and marks, as drawn last
  let written = 0; // when the figures were drawn last
  /** @type {{ places: (number | null)[], among: string, at: number }} */
  let placed = { places: [], among: "", at: 0 }; // of the lanes as they are shown, and since when
  /** @type {Chosen | null} */
  let uncovered = null; // the pinned cell whose picture has been brought into view
  /** @type {Set<number | string>} */
  let said = new Set(); // the lanes whose ends have been said, the race's, and its quarters
  let colours = { ink: "", card: "", rule: "", signal: "" };

  /**
   * Begin a new race. Lanes that have already ended are not announced, unless the visitor has just
   * pressed Race. The end of a recording that plays is announced.
   * @param {Race} race @param {boolean} playing @param {boolean} pressed
   */
  function begin({ snapshot, lanes }, playing, pressed) {
    const running = snapshot.state === "racing" || snapshot.state === "waiting";
    const ended = lanes.flatMap(({ state }, i) => (state === "finished" ? i : []));
    said = new Set(pressed ? [] : ended);
    if (!running && !playing && !pressed) said.add("race");
  }

  /**
   * Draw the whole board, or only the parts that change with the instant. Return whether to call
   * the board's listeners.
   * @param {Raced} state @param {Frame} frame
   */
  function draw(state, { cards, swatches, length, rate, all }) {
    const { race, clock, cell } = state;
    const done = isOver(race) && state.live;
    const steps = stepsShown(state);
    const marked = markedLanes(state, steps, rate);
    const running = !all && state.live;
    const moved = [steps, marked].join();
    const now = performance.now();
    if (running && moved === instant) return false;
    const views = race.lanes.map((lane, i) => laneAt(lane, steps[i]));
    const layer = layerOf(state.layer);
    const against = layer.kind === "differs" ? race.lanes[referenceOf(race, state.against)] : null;
    if (all) colours = coloursOf(board);
    const style = { layer, range: rangeOf(race, layer), against, swatches, ...colours };
    drawPictures(cards, race, { style, cell, views, marked });
    if (running && rate > 0 && now - written < READ) return false;
    instant = moved;
    written = now;
    const stand = views.map((view) => view.state).join();
    // Close lanes would change places at each step: those that are shown stand for a while.
    const fresh = done ? views.map(() => null) : placesAt(state, views);
    const among = [race.snapshot.id, clock, ...state.hidden].join();
    const isHeld = rate > 0 && stand === states && among === placed.among;
    if (!isHeld || now - placed.at >= STANDING) placed = { places: fresh, among, at: now };
    const { places } = placed;
    const ends = race.lanes.map((lane) => placesOf(state, lane));
    const finishes = finishesAt(state, views);
    drawFigures(cards, race, { clock, views, places, ends, finishes, against });
    if (!state.inside) drawBars(part("bars"), state, views, places, ends, go);
    drawHead(board, state);
    drawControls(length, all);
    const more = all || stand !== states;
    if (more) {
      states = stand;
      drawModelled();
      drawLegend(part("legend"), layer, race, against, state.inside && !state.present);
      drawFinish(part("finish"), state, cards);
    }
    if (all || steps.join() !== shown) {
      shown = steps.join();
      drawCell(state, steps, views, cards);
    }
    if (state.live && isOn(race)) announceLeader(part("live"), state, views, fresh, said);
    const ended = !state.live && isOver(race) && !race.snapshot.recorded;
    if (state.live || ended) {
      const lanes = ended ? race.lanes : views;
      const stands = lanes.map((one) => one.state);
      announceEnds(part("live"), state, stands, said);
    }
    return more;
  }

  // Draw and announce the chosen cell, as of the steps that are shown.
  /** @param {Raced} state @param {number[]} steps @param {View[]} views @param {Card[]} cards */
  function drawCell(state, steps, views, cards) {
    const { race, cell } = state;
    drawToken(state, steps);
    uncover(cell?.pinned ? cell : null, cards);
    if (cell?.pinned) {
      const lane = race.lanes[cell.lane];
      announceToken(part("live"), lane, views[cell.lane], cell.cell, race.grid[1]);
    }
    // On the stage a verdict stays where it is.
    const pointed = state.present ? { ...state, cell: null } : state;
    drawPeek(part("peek"), part("pace"), pointed, steps);
  }

  // Scroll the picture of a cell that has just been pinned out from under the panel.
  /** @param {Chosen | null} pinned @param {Card[]} cards */
  function uncover(pinned, cards) {
    if (pinned === uncovered) return;
    uncovered = pinned;
    if (!pinned) return;
    if (part("stage-panel").querySelector(".chapter")) return; // the tour has a place for the panel
    const { canvas } = cards[pinned.lane];
    canvas.style.scrollMarginBottom = `${part("token").offsetHeight + 8}px`;
    canvas.scrollIntoView({ block: "nearest" });
  }

  return { begin, draw };
}

/**
 * Return for each lane whether to mark the outcome of its latest step. Lanes are marked while the
 * board moves, if there is time to see the marks between two steps.
 * @param {Raced} state @param {number[]} steps
 * @param {number} rate seconds of the clock that go by in one second
 */
function markedLanes({ race, clock, t }, steps, rate) {
  return race.lanes.map(
    (lane, i) => rate > 0 && isJustAfter(lane, clock, t, steps[i], MARKED * rate),
  );
}

/**
 * Read the colours for the canvases from the page's theme.
 * @param {HTMLElement} board
 */
function coloursOf(board) {
  const style = getComputedStyle(board);
  return {
    ink: colourNamed(style, "ink"),
    card: colourNamed(style, "card"),
    rule: colourNamed(style, "rule"),
    signal: colourNamed(style, "signal"),
  };
}
