// The board: takes in snapshots, holds the one state that everything is drawn from, and moves it
// through time.

import { bindControls, sameInstant, watchable } from "../controls/controls.js";
import { copyLink, isLinked, readMoment, writeMoment } from "../controls/moment.js";
import { finder, query, sized } from "../dom.js";
import { makeCards } from "../lanes/cards.js";
import { Picture, decodeImage, paintAll } from "../lanes/picture.js";
import { lastOf } from "../numbers.js";
import { listPromises } from "../panels/legend.js";
import { bindModelled } from "../panels/modelled_panel.js";
import { isPhone, lanesShown, mountStage } from "../stage/stage.js";
import { mountTour } from "../tour/tour.js";
import { LiveClock, knownUntil } from "../trace/live_clock.js";
import { fitCosts, modelLanes, presetsOf } from "../trace/modelled_clock.js";
import { clockAt, hasRace, instantAt, isOn, isOver, lengthOf, stepAt } from "../trace/replay.js";
import { continues, readRace } from "../trace/step_table.js";
import { picturesOf } from "../trace/updates.js";
import { announceStart } from "./announce.js";
import { bindDrawing } from "./drawing.js";

const LONGEST = 0.25; // seconds that a replay goes on in one frame, however long the page was busy
const SHORTEST = 0.03; // and at least: thirty frames a second look smooth, for half the work

// In a Space's iframe the window can be as tall as the page.
export const windowHeight = () => Math.min(innerHeight, screen.height);

/**
 * Mounts the board in `root`. `watch(callback)` calls back with each snapshot; `tours`, if there is
 * one, asks for the races of the tour, which then come as snapshots.
 * @param {HTMLElement} root @param {Tours} [tours] @returns {Board}
 * @param {(callback: (value: Shown) => void) => void} watch
 */
export function mountBoard(root, watch, tours) {
  const board = query(root, ".board");
  const part = finder(board);
  /** @type {State} */
  const state = {
    ...{ race: null, clock: "seconds", t: 0, seconds: null, playing: false, speed: 1, live: true },
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
  const drawing = bindDrawing(board, { ...controls, drawModelled });
  /** @type {Card[]} */
  let cards = [];
  /** @type {{ text: string, image: HTMLImageElement | null }} */
  let swatches = { text: "", image: null };
  /** @type {{ of: Painting[], count: number }} */
  let painted = { of: [], count: 0 };
  /** @type {Shown | null} */
  let pending = null; // the newest snapshot that has not been taken in
  let moment = location.search; // which may be in the address that the page was opened at
  let taking = false;
  let waiting = false; // a recorded race waits until its lanes are in view
  let scheduled = false; // a frame
  let last = 0; // when the last frame of a replay was drawn
  let changed = false; // more than the instant, since the last frame
  let followed = new LiveClock(0, 0);
  /** @type {Shown | null} */
  let ending = null; // the last snapshot of a race of which not all steps have been shown

  const over = () => state.race !== null && isOver(state.race);
  const length = () => (state.race ? lengthOf(state.race, state.clock) : 0);
  const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  /** Whether a race is followed that has steps to be shown. */
  const isBehind = () => state.live && followed.isBehind;
  /** @param {FrameRequestCallback} act */
  const onFrame = (act) =>
    void (document.hidden ? setTimeout(act, 50) : requestAnimationFrame(act));

  // Takes in the newest snapshot, once a frame at most; what is drawn has its pictures already.
  /** @param {Shown | null} value */
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

  /** @param {Shown} value */
  async function adopt(value) {
    const previous = state.race;
    const fresh = !previous || !continues(value, previous);
    // Where one of its lanes begins later than others, the race is set out anew.
    const same = previous?.snapshot.id === value.id && cards.length === value.lanes.length;
    const pictures = value.lanes.map((_, i) => (same ? cards[i].picture : new Picture(value.grid)));
    const paintings = "paintings" in value ? value.paintings : picturesOf(value);
    const known = same && paintings === painted.of ? painted.count : 0;
    const count = paintings.length; // more may come while these are decoded
    await paintAll(paintings.slice(known, count), pictures);
    painted = { of: paintings, count };
    if (value.swatches !== swatches.text) {
      const image = value.swatches ? await decodeImage(value.swatches) : null;
      swatches = { text: value.swatches, image };
    }
    const before = previous?.snapshot;
    const race = readRace(value, previous);
    const [now, over] = [performance.now(), isOver(race)];
    if (fresh) followed = new LiveClock(knownUntil(race), now);
    else followed.follow(knownUntil(race), now, over);
    // Until its last step is shown, the race is on.
    ending = over && isBehind() ? value : null;
    state.race = ending ? { ...race, snapshot: { ...value, state: "racing" } } : race;
    remodel(race, state.costs);
    if (fresh) begin(race, pictures);
    if (before?.id !== value.id && isOn(race)) announceStart(part("live"), value);
    openMoment();
    tour.begin();
    refresh();
  }

  // The moment in the page's address, once all of its race is shown.
  function openMoment() {
    if (!moment || !hasRace(state) || !isOver(state.race)) return;
    if (!isLinked(state.race.snapshot.link ?? "", moment)) return;
    const asked = moment;
    moment = "";
    go(readMoment(asked, state.race));
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
    const playing = snapshot.recorded && !isStill();
    last = performance.now();
    Object.assign(state, { t: 0, seconds: null, playing: false, live: !playing });
    drawing.begin(race, playing);
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
      Object.assign(state, { t: sameInstant(state, clock), clock, seconds: null });
    if (plain.hidden) plain.hidden = new Set(plain.hidden);
    Object.assign(state, plain, plain.cell && { front: plain.cell.lane });
    if (live) catchUp();
    if (lane !== undefined && step !== undefined)
      moveTo(clockAt(state.race.lanes[lane], state.clock, step));
    if (t !== undefined) moveTo(t);
    if (playing !== undefined) play(playing);
    const arranges = ["hidden", "present", ...(isPhone(state) ? ["front", "cell"] : [])];
    if (arranges.some((name) => name in plain)) arrange();
    refresh();
  }

  function catchUp() {
    Object.assign(state, { live: true, playing: false });
    followed.catchUp();
  }

  /** @param {number} t */
  function moveTo(t) {
    const end = newest();
    Object.assign(state, { t: Math.min(end, Math.max(0, t)), seconds: null });
    state.live = state.t >= end;
    if (state.live) catchUp();
  }

  // The newest instant of which all is known, on the clock.
  function newest() {
    if (!state.race) return 0;
    return over() ? length() : instantAt(state.race, state.clock, followed.head);
  }

  /** @param {boolean} playing */
  function play(playing) {
    if (playing && state.live && over()) Object.assign(state, { t: 0, seconds: null, live: false });
    if (!playing && state.live && !over()) state.live = false; // the race goes on
    state.playing = playing && !state.live;
    last = performance.now();
  }

  function refresh() {
    changed = true;
    schedule();
  }

  function schedule() {
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
      const { live } = state;
      if (state.playing) moveTo(state.t + Math.min(LONGEST, passed) * state.speed * pace());
      else if (live && (document.hidden || isStill())) followed.catchUp();
      else if (live) followed.advance(now);
      if (ending && !isBehind()) {
        state.race = { ...state.race, snapshot: ending };
        ending = null;
        changed = true;
        openMoment();
      }
      last = now;
      const all = changed || live !== state.live;
      changed = false;
      draw(state, all);
    }
    if (state.playing || isBehind()) schedule();
  }

  // By passes a replay takes as long as by seconds.
  function pace() {
    if (state.clock !== "passes" || !state.race) return 1;
    return length() / Math.max(0.1, lengthOf(state.race, "seconds"));
  }

  // Draws the board: `all` of it, or what follows the instant.
  /** @param {Raced} state @param {boolean} all */
  function draw(state, all) {
    if (state.live) {
      state.seconds = followed.seconds;
      state.t = instantAt(state.race, state.clock, followed.seconds);
    }
    let rate = 0; // of the clock's seconds in one; 0 while the board stands still
    if (state.playing) rate = state.speed * pace();
    else if (isBehind()) rate = followed.speed;
    const length = scale(state);
    const image = swatches.image;
    const more = drawing.draw(state, {
      cards,
      swatches: image,
      length,
      all,
      rate: isStill() ? 0 : rate,
    });
    if (more) for (const callback of listeners) callback(state);
  }

  // How long the scrubber is on the clock: as long as the race; while that is on, so long that the
  // lane that is furthest has as large a share of its tokens behind it.
  /** @param {Raced} state */
  function scale({ race, t, live }) {
    if (over()) return length();
    const shares = race.lanes.map((lane) => {
      const k = stepAt(lane, "seconds", live ? followed.seconds : followed.head);
      return k ? lane.steps[k - 1].after / lane.order.length : 0;
    });
    return (live ? t : newest()) / (Math.max(...shares) || 1);
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
