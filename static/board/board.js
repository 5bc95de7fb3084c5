// The board: takes in snapshots, holds the one state that everything is drawn from, and moves it
// through time.

import { bindControls, sameInstant, watchable } from "../controls/controls.js";
import { copyLink, isLinked, readMoment, writeMoment } from "../controls/moment.js";
import { finder, query, sized } from "../dom.js";
import { drawCard, makeCards } from "../lanes/cards.js";
import { drawLane } from "../lanes/draw.js";
import { Picture, decodeImage } from "../lanes/picture.js";
import { lastOf } from "../numbers.js";
import { drawFinish } from "../panels/finish.js";
import { drawLegend, listPromises } from "../panels/legend.js";
import { bindModelled } from "../panels/modelled_panel.js";
import { drawPeek, drawToken } from "../panels/token_panel.js";
import { isPhone, lanesShown, mountStage } from "../stage/stage.js";
import { mountTour } from "../tour/tour.js";
import { layerOf, rangeOf, referenceOf } from "../trace/layers.js";
import { fitCosts, modelLanes, presetsOf } from "../trace/modelled_clock.js";
import {
  clockAt,
  hasRace,
  isOn,
  isOver,
  laneAt,
  lengthOf,
  raceClock,
  stepAt,
} from "../trace/replay.js";
import { continues, pictureRows, readRace } from "../trace/step_table.js";
import { announceFinishes, announceStart, announceToken } from "./announce.js";
import { drawHead } from "./head.js";

const LONGEST = 0.25; // seconds that a replay goes on in one frame, however long the page was busy
const SHORTEST = 0.03; // and at least: thirty frames a second look smooth, for half the work

// In a Space's iframe the window can be as tall as the page.
export const windowHeight = () => Math.min(innerHeight, screen.height);

/**
 * Mounts the board in `root`. `watch(callback)` calls back with each snapshot; `tours`, if there is
 * one, asks for the races of the tour, which then come as snapshots.
 * @param {HTMLElement} root @param {Tours} [tours] @returns {Board}
 * @param {(callback: (value: Snapshot) => void) => void} watch
 */
export function mountBoard(root, watch, tours) {
  const board = query(root, ".board");
  const part = finder(board);
  /** @type {State} */
  const state = {
    ...{ race: null, clock: "seconds", t: 0, playing: false, speed: 1, live: true },
    ...{
      layer: "picture",
      hidden: new Set(),
      cell: null,
      stepping: null,
      present: false,
      front: 0,
    },
    costs: { preset: "fitted", pass: 0, row: 0, drafter: 0 },
    ...{ against: null, bet: null },
  };
  /** @type {((state: Raced) => void)[]} */
  const listeners = [];
  /** @type {Board} */
  const handle = {
    ...{ state, go, onChange: (callback) => void listeners.push(callback), tours },
    pictureOf: (lane) => cards[lane].picture.canvas,
  };
  const controls = bindControls(board, handle);
  const drawModelled = bindModelled(part("modelled-panel"), handle);
  /** @type {Card[]} */
  let cards = [];
  /** @type {{ text: string, image: HTMLImageElement | null }} */
  let swatches = { text: "", image: null };
  /** @type {Snapshot | null} */
  let pending = null; // the newest snapshot that has not been taken in
  let moment = location.search; // which may be in the address that the page was opened at
  let taking = false;
  let waiting = false; // a recorded race waits until its lanes are in view
  let scheduled = false; // a frame
  /** @type {Chosen | null} */
  let uncovered = null; // the pinned cell whose picture has been brought into view
  let last = 0; // when the last frame of a replay was drawn

  const over = () => state.race !== null && isOver(state.race);
  const length = () => (state.race ? lengthOf(state.race, state.clock) : 0);
  /** @param {FrameRequestCallback} act */
  const onFrame = (act) =>
    void (document.hidden ? setTimeout(act, 50) : requestAnimationFrame(act));

  // Takes in the newest snapshot, once a frame at most; what is drawn has its pictures already.
  /** @param {Snapshot | null} value */
  async function take(value) {
    if (!value) return;
    pending = value;
    if (taking) return;
    taking = true;
    try {
      while (pending) {
        const next = pending;
        pending = null;
        await adopt(next);
        await new Promise(onFrame);
      }
    } finally {
      taking = false;
    }
  }

  /** @param {Snapshot} value */
  async function adopt(value) {
    const previous = state.race;
    const fresh = !previous || !continues(value, previous);
    const pictures = value.lanes.map((_, i) => (fresh ? new Picture() : cards[i].picture));
    await Promise.all(pictures.map((picture, i) => picture.take(pictureRows(value.lanes[i]))));
    if (value.swatches !== swatches.text) {
      const image = value.swatches ? await decodeImage(value.swatches) : null;
      swatches = { text: value.swatches, image };
    }
    const before = previous?.snapshot;
    const race = readRace(value, previous);
    state.race = race;
    remodel(race, state.costs);
    if (fresh) begin(race, pictures);
    if (before && before.id === value.id) announceFinishes(part("live"), before, race, state.bet);
    else if (isOn(race)) announceStart(part("live"), value);
    if (moment && over() && isLinked(value.link ?? "", moment)) {
      go(readMoment(moment, race));
      moment = "";
    }
    tour.begin();
    refresh();
  }

  // A new race has begun. A recorded one plays by itself, unless the visitor likes things still.
  /** @param {Race} race @param {Picture[]} pictures */
  function begin(race, pictures) {
    const { snapshot } = race;
    const template = part("lane-template", HTMLTemplateElement);
    cards = makeCards(part("lanes"), template, snapshot.lanes, pictures);
    controls.bindLanes(cards);
    listPromises(part("promises"), snapshot.lanes);
    delete part("finish").dataset.built;
    const playing = snapshot.recorded && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    last = performance.now();
    Object.assign(state, { t: 0, playing: false, live: !playing });
    state.speed = snapshot.recorded ? watchable(lengthOf(race, "seconds")) : 1;
    waiting = playing;
    seen.unobserve(part("lanes"));
    if (playing) seen.observe(part("lanes"));
    Object.assign(state, { hidden: new Set(), cell: null, stepping: null, against: null });
    resized.disconnect();
    for (const card of cards) resized.observe(card.canvas);
    arrange();
  }

  // Sets the modelled clock; a machine that has a name keeps its costs as the race shows them.
  /** @param {Race} race @param {State["costs"]} costs */
  function remodel({ lanes }, costs) {
    const presets = presetsOf(fitCosts(lanes));
    const named = presets.find(({ name }) => name === costs.preset);
    state.costs = { ...(named?.costs ?? costs), preset: costs.preset };
    modelLanes(lanes, state.costs);
  }

  /** @param {Change} change */
  function go(change) {
    const { lane, step, t, live, playing, clock, costs, ...plain } = change;
    if (["step", "t", "live", "playing"].some((name) => name in change)) waiting = false;
    if (!hasRace(state))
      return void Object.assign(state, plain, clock && { clock }, costs && { costs });
    if (costs) {
      const share = state.clock === "modelled" && length() ? state.t / length() : 0;
      remodel(state.race, costs);
      if (state.clock === "modelled") state.t = share * length();
    }
    if (clock && clock !== state.clock)
      Object.assign(state, { t: sameInstant(state, clock), clock });
    if (plain.hidden) plain.hidden = new Set(plain.hidden);
    Object.assign(state, plain, plain.cell && { front: plain.cell.lane });
    if (live) Object.assign(state, { live: true, playing: false });
    if (lane !== undefined && step !== undefined)
      moveTo(clockAt(state.race.lanes[lane], state.clock, step));
    if (t !== undefined) moveTo(t);
    if (playing !== undefined) play(playing);
    const arranges = ["hidden", "present", ...(isPhone(state) ? ["front", "cell"] : [])];
    if (arranges.some((name) => name in plain)) arrange();
    refresh();
  }

  /** @param {number} t */
  function moveTo(t) {
    state.t = Math.min(length(), Math.max(0, t));
    state.live = state.t >= length();
    if (state.live) state.playing = false;
  }

  /** @param {boolean} playing */
  function play(playing) {
    if (playing && state.live && over()) Object.assign(state, { t: 0, live: false });
    if (!playing && state.live && !over()) state.live = false; // the race goes on
    state.playing = playing && !state.live;
    last = performance.now();
  }

  function refresh() {
    if (scheduled) return;
    scheduled = true;
    onFrame(frame);
  }

  function frame() {
    scheduled = false;
    if (!hasRace(state)) return;
    const now = performance.now();
    const passed = (now - last) / 1000;
    if (!state.playing || passed >= SHORTEST) {
      if (state.playing) moveTo(state.t + Math.min(LONGEST, passed) * state.speed * pace());
      last = now;
      draw(state);
    }
    if (state.playing) refresh();
  }

  // By passes a replay takes as long as by seconds.
  function pace() {
    if (state.clock !== "passes" || !state.race) return 1;
    return length() / Math.max(0.1, lengthOf(state.race, "seconds"));
  }

  /** @param {Raced} state */
  function draw(state) {
    const { race, clock } = state;
    if (state.live) state.t = raceClock(race, clock);
    const steps = race.lanes.map((lane) =>
      state.live ? lane.count : stepAt(lane, clock, state.t),
    );
    const layer = layerOf(state.layer);
    const colours = getComputedStyle(board);
    const [ink, card, rule, signal] = ["ink", "card", "rule", "signal"].map((name) =>
      colours.getPropertyValue(`--${name}`).trim(),
    );
    const range = rangeOf(race, layer);
    const against = layer.kind === "differs" ? race.lanes[referenceOf(race, state.against)] : null;
    const style = { layer, range, against, swatches: swatches.image, ink, card, rule, signal };
    const cell = state.cell && state.cell.cell;
    cards.forEach((one, i) => {
      const lane = race.lanes[i];
      const view = laneAt(lane, steps[i]);
      drawCard(one, lane, view, clock, against);
      if (one.root.hidden) return;
      one.plane.update(lane, race.grid, one.side, style);
      const selected = { ...style, cell, here: state.cell?.lane === i };
      drawLane(one.canvas, one.plane, lane, view, race.grid, selected);
    });
    drawHead(board, state);
    controls.drawControls(state.live ? state.t : length());
    drawModelled();
    drawLegend(part("legend"), layer, race, against);
    drawFinish(part("finish"), state, cards);
    drawToken(part("token"), state, steps);
    uncover();
    if (state.cell?.pinned) {
      const { lane, cell: at } = state.cell;
      const view = laneAt(race.lanes[lane], steps[lane]);
      announceToken(part("live"), race.lanes[lane], view, at, race.grid[1]);
    }
    drawPeek(part("peek"), state, steps);
    for (const callback of listeners) callback(state);
  }

  // Of a cell that has just been pinned, the picture is scrolled out from under the panel.
  function uncover() {
    const pinned = state.cell?.pinned ? state.cell : null;
    if (pinned === uncovered) return;
    uncovered = pinned;
    if (!pinned || part("stage-panel").querySelector(".chapter")) return; // which has places for both
    const { canvas } = cards[pinned.lane];
    canvas.style.scrollMarginBottom = `${part("token").offsetHeight + 8}px`;
    canvas.scrollIntoView({ block: "nearest" });
  }

  function arrange() {
    if (!hasRace(state)) return;
    const shown = lanesShown(state, isPhone(state));
    cards.forEach((card, i) => (card.root.hidden = !shown.includes(i)));
    measure(state.race);
  }

  // How many pixels a cell has on each lane's canvas.
  /** @param {Race} race */
  function measure({ grid: [rows, columns] }) {
    const shown = Math.max(1, cards.filter((card) => !card.root.hidden).length);
    part("lanes").style.setProperty("--columns", String(Math.max(3, shown)));
    part("lanes").dataset.crowded = String(Number(shown > 6));
    part("lanes").dataset.long = "0";
    /** @param {HTMLElement} element */
    const cut = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
    part("lanes").dataset.long = String(Number(cards.some((card) => cut(card.part("title")))));
    const ideas = part("lanes").style;
    ideas.setProperty("--idea", "0px");
    const tallest = Math.max(0, ...cards.map((card) => card.part("idea").offsetHeight));
    ideas.setProperty("--idea", `${tallest}px`);
    part("lanes").style.setProperty("--shape", `${columns} / ${rows}`);
    for (const card of cards) {
      const width = card.canvas.clientWidth * devicePixelRatio;
      card.side = Math.max(4, Math.round(width / columns));
      sized(card.canvas, card.side * columns, card.side * rows);
    }
  }

  const resized = new ResizeObserver(() => {
    arrange();
    refresh();
  });
  const seen = new IntersectionObserver(
    (entries) => {
      const { intersectionRatio, intersectionRect } = lastOf(entries); // the newest
      const visible = intersectionRatio >= 0.5 || intersectionRect.height >= windowHeight() / 4;
      if (waiting && visible) go({ playing: true });
    },
    // A quarter of the window can be any share of the lanes; it is called where a share is crossed.
    { threshold: Array.from({ length: 101 }, (_, i) => i / 200) },
  );
  new MutationObserver(refresh).observe(document.body, { attributeFilter: ["class"] });
  part("moment").addEventListener("click", () => {
    if (hasRace(state)) copyLink(part("moment"), writeMoment(state));
  });
  const tour = mountTour(root, handle);
  mountStage(board, handle, tour);
  watch(take);
  return handle;
}
