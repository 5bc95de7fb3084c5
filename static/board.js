// The board: takes in snapshots, holds the one state that everything is drawn from, and moves it
// through time.

import { drawCard, makeCards } from "./cards.js";
import { bindControls, sameInstant } from "./controls.js";
import { attribute, say, sized } from "./dom.js";
import { drawLane } from "./draw.js";
import { drawFinish } from "./finish.js";
import { layerOf, rangeOf } from "./layers.js";
import { drawLegend } from "./legend.js";
import { inSeconds } from "./numbers.js";
import { Picture, decodeImage } from "./picture.js";
import { clockAt, laneAt, lengthOf, raceClock, stepAt } from "./replay.js";
import { continues, pictureRows, readRace } from "./step_table.js";
import { drawToken } from "./token_panel.js";
import { mountTour } from "./tour.js";

const INTRODUCTION =
  "Every lane decodes the same picture with the same model from the same seed, each by its own method, " +
  "and is charged only for its own time.";
const SLOWER = "Lanes take turns here, so the race is shown slower than its clocks.";
const LONGEST = 0.25; // seconds that a replay goes on in one frame, however long the page was busy

/**
 * Mounts the board in `root`. `watch(callback)` calls back with each snapshot; `stopped(callback)`
 * when the visitor stops; and `needTour()`, if there is one, requests the recorded race of the
 * tour, which then comes as a snapshot.
 * @param {HTMLElement} root @returns {Board}
 */
export function mountBoard(root, watch, stopped, needTour = undefined) {
  const board = /** @type {HTMLElement} */ (root.querySelector(".board"));
  const part = (name) => /** @type {any} */ (board.querySelector("." + name));
  /** @type {State} */
  const state = {
    ...{ race: null, clock: "seconds", t: 0, playing: false, speed: 1, live: true },
    ...{ layer: "picture", hidden: new Set(), cell: null, stepping: null, present: false },
  };
  const listeners = [];
  const handle = { state, go, onChange: (callback) => listeners.push(callback), needTour };
  const controls = bindControls(board, handle);
  /** @type {Card[]} */
  let cards = [];
  let swatches = { text: "", image: null };
  /** @type {Snapshot | null} */
  let pending = null; // the newest snapshot that has not been taken in
  let began = false; // a race has begun since the last snapshot that was taken in
  let taking = false;
  let halted = false;
  let scheduled = false; // a frame
  let last = 0; // when the last frame of a replay was drawn

  const over = () => ["finished", "stopped"].includes(state.race.snapshot.state);
  const length = () => lengthOf(state.race, state.clock);
  const onFrame = (act) =>
    void (document.hidden ? setTimeout(act, 50) : requestAnimationFrame(act));

  // Takes in the newest snapshot, once a frame at most; what is drawn has its pictures already.
  async function take(value) {
    if (!value) return;
    pending = value;
    if (value.seq === 0) began = true;
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
    const previous = began ? null : state.race;
    began = false;
    const fresh = !previous || !continues(value, previous);
    const pictures = value.lanes.map((_, i) => (fresh ? new Picture() : cards[i].picture));
    await Promise.all(pictures.map((picture, i) => picture.take(pictureRows(value.lanes[i]))));
    if (value.swatches !== swatches.text) {
      const image = value.swatches ? await decodeImage(value.swatches) : null;
      swatches = { text: value.swatches, image };
    }
    if (halted && !fresh && value.state !== "stopped") return;
    const before = state.race?.snapshot;
    state.race = readRace(value, previous);
    if (fresh) begin(pictures);
    else announce(before);
    refresh();
  }

  // A new race has begun. A recorded one plays by itself, unless the visitor likes things still.
  function begin(pictures) {
    const { snapshot } = state.race;
    halted = false;
    cards = makeCards(part("lanes"), part("lane-template"), snapshot.lanes, pictures);
    controls.bindLanes(cards);
    delete part("finish").dataset.built;
    const playing = snapshot.recorded && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    last = performance.now();
    Object.assign(state, { t: 0, playing, live: !playing });
    Object.assign(state, { hidden: new Set(), cell: null, stepping: null });
    for (const card of cards) resized.observe(card.canvas);
    measure();
    const asleep = !snapshot.prompt || snapshot.recorded;
    const low = part("lanes").getBoundingClientRect().bottom > innerHeight;
    if (!asleep && low) board.scrollIntoView();
  }

  // The visitor stopped: no snapshot will come to say so.
  function halt() {
    const { race } = state;
    if (!race || over() || !race.snapshot.prompt) return;
    halted = true;
    for (const lane of race.lanes) {
      if (["racing", "waiting"].includes(lane.state)) lane.state = "stopped";
    }
    const lanes = race.snapshot.lanes.map((lane, i) => ({ ...lane, state: race.lanes[i].state }));
    race.snapshot = { ...race.snapshot, state: "stopped", lanes };
    part("live").textContent = "Race stopped.";
    refresh();
  }

  function announce(before) {
    const { snapshot } = state.race;
    const ended = (lane, i) =>
      before.lanes[i].state !== lane.state && ["finished", "failed"].includes(lane.state);
    const news = snapshot.lanes.filter(ended).map((lane) => {
      const { title, passes, seconds } = lane;
      return `${title} ${lane.state} after ${passes} passes, ${inSeconds(seconds)} seconds.`;
    });
    if (snapshot.state === "finished" && before.state !== "finished")
      news.push("The race is over.");
    if (news.length) part("live").textContent = news.join(" ");
  }

  /** @param {Change} change */
  function go(change) {
    const { lane, step, t, live, playing, clock, ...plain } = change;
    if (!state.race) return void Object.assign(state, plain, clock && { clock });
    if (clock && clock !== state.clock)
      Object.assign(state, { t: sameInstant(state, clock), clock });
    if (plain.hidden) plain.hidden = new Set(plain.hidden);
    Object.assign(state, plain);
    if (live) Object.assign(state, { live: true, playing: false });
    if (step !== undefined) moveTo(clockAt(state.race.lanes[lane], state.clock, step));
    if (t !== undefined) moveTo(t);
    if (playing !== undefined) play(playing);
    if ("hidden" in plain || "present" in plain) arrange();
    refresh();
  }

  function moveTo(t) {
    state.t = Math.min(length(), Math.max(0, t));
    state.live = state.t >= length();
    if (state.live) state.playing = false;
  }

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
    if (!state.race) return;
    if (state.playing) {
      const now = performance.now();
      moveTo(state.t + Math.min(LONGEST, (now - last) / 1000) * state.speed * pace());
      last = now;
    }
    draw();
    if (state.playing) refresh();
  }

  // By passes a replay takes as long as by seconds.
  function pace() {
    if (state.clock === "seconds") return 1;
    return length() / Math.max(0.1, lengthOf(state.race, "seconds"));
  }

  function draw() {
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
    const style = { layer, range, swatches: swatches.image, ink, card, rule, signal };
    const cell = state.cell && state.cell.cell;
    cards.forEach((one, i) => {
      const lane = race.lanes[i];
      const view = laneAt(lane, steps[i]);
      drawCard(one, lane, view, race.cells, clock);
      if (state.hidden.has(i)) return;
      one.plane.update(lane, race.grid, one.side, style);
      const selected = { ...style, cell, here: state.cell?.lane === i };
      drawLane(one.canvas, one.plane, lane, view, race.grid, selected);
    });
    drawHead();
    controls.drawControls(state.live ? state.t : length());
    drawLegend(part("legend"), layer, race);
    drawFinish(part("finish"), race.snapshot, cards, over());
    drawToken(part("token"), state, steps);
    for (const callback of listeners) callback(state);
  }

  function drawHead() {
    const { race, clock, t, live, layer, playing, present } = state;
    const { seq, prompt, seed, model, machine, grid, recorded, note } = race.snapshot;
    const values = {
      ...{ state: live ? race.snapshot.state : "replay", seq, done: Number(over() && live), layer },
      ...{ clock, t: Number(t.toFixed(6)), playing: Number(playing), present: Number(present) },
    };
    for (const [name, value] of Object.entries(values)) attribute(board, "data-" + name, value);
    say(part("clock-value"), clock === "seconds" ? inSeconds(t) : Math.floor(t));
    say(part("clock-unit"), clock);
    say(part("prompt"), prompt || "Type a prompt, press Race.");
    const size = `${grid.join(" × ")} tokens`;
    const facts = [`seed ${seed}`, `model ${model}`, machine, size, recorded && "recorded"];
    say(part("meta"), prompt ? facts.filter(Boolean).join(" · ") : INTRODUCTION);
    say(part("pace"), live && race.snapshot.state === "racing" ? SLOWER : "");
    say(part("note"), note);
    part("note").hidden = !note;
  }

  function arrange() {
    cards.forEach((card, i) => (card.root.hidden = state.hidden.has(i)));
    measure();
  }

  // How many pixels a cell has on each lane's canvas.
  function measure() {
    const [rows, columns] = state.race.grid;
    const shown = Math.max(1, cards.length - state.hidden.size);
    part("lanes").style.setProperty("--columns", Math.max(3, shown));
    part("lanes").dataset.crowded = Number(shown > 6);
    part("lanes").dataset.long = 0;
    const cut = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
    part("lanes").dataset.long = Number(cards.some((card) => cut(card.part("title"))));
    part("lanes").style.setProperty("--shape", `${columns} / ${rows}`);
    for (const card of cards) {
      const width = card.canvas.clientWidth * devicePixelRatio;
      card.side = Math.max(4, Math.round(width / columns));
      sized(card.canvas, card.side * columns, card.side * rows);
    }
  }

  const resized = new ResizeObserver(() => {
    measure();
    refresh();
  });
  new MutationObserver(refresh).observe(document.body, { attributeFilter: ["class"] });
  mountTour(root, handle);
  stopped(halt);
  watch(take);
  return handle;
}
