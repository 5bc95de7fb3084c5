// The board: it takes in snapshots, keeps the one state that everything is drawn from, moves it
// through time, and draws it.

import { bindControls } from "../controls/controls.js";
import {
  copyEmbed,
  copyLink,
  embedOf,
  isLinked,
  readMoment,
  shareLink,
  writeMoment,
} from "../controls/moment.js";
import { finder, query, windowHeight } from "../dom.js";
import { makeCards } from "../lanes/cards.js";
import { lastOf } from "../numbers.js";
import { listPromises } from "../panels/legend.js";
import { bindModelled } from "../panels/modelled_panel.js";
import { outcomeOf } from "../panels/results.js";
import { mountSpeakerLink } from "../stage/speaker_link.js";
import { mountStage } from "../stage/stage.js";
import { mountTour } from "../tour/tour.js";
import { hasRace, isOn, isOver } from "../trace/replay.js";
import { continues, readRace } from "../trace/step_table.js";
import { announceStart } from "./announce.js";
import { bindDrawing } from "./drawing.js";
import { Pictures, onFrame, takeNewest } from "./intake.js";
import { layOut } from "./layout.js";
import { answerMessages } from "./messages.js";
import { Playback, isStill } from "./playback.js";
import { applyChange, newState, remodel } from "./state.js";

// Changes after which a recorded race no longer waits to be seen before it plays.
const MOVES_BY_HAND = ["step", "t", "live", "playing"];

/**
 * Mounts the board in `root`. `watch(callback)` calls back with each snapshot; `tours`, if there is
 * one, asks for the races of the tour, which then come as snapshots.
 * @param {HTMLElement} root @param {Tours} [tours] @returns {Board}
 * @param {(callback: (value: Shown) => void) => void} watch
 */
export function mountBoard(root, watch, tours) {
  const board = query(root, ".board");
  const part = finder(board);
  const state = newState();
  const playback = new Playback(state);
  const pictures = new Pictures();
  /** @type {((state: Raced) => void)[]} */
  const listeners = [];
  /** @type {Card[]} */
  let cards = [];
  let moment = location.search; // the page's address, which may name a moment of the first race
  let waiting = false; // whether a recorded race waits until its lanes are in view
  let scheduled = false; // whether a frame is
  let changed = false; // whether more than the instant has changed since the last frame

  /** @type {Board} */
  const handle = {
    state,
    go,
    onChange: (callback) => void listeners.push(callback),
    pictureOf: (lane) => cards[lane].picture.canvas,
    tours,
  };
  const controls = bindControls(board, handle);
  const drawModelled = bindModelled(part("modelled-panel"), handle);
  const drawing = bindDrawing(board, { drawControls: controls.drawControls, drawModelled });
  const tour = mountTour(root, handle);
  const resized = new ResizeObserver(() => {
    arrange();
    refresh();
  });
  const inView = viewObserver(() => {
    if (waiting) go({ playing: true });
  });

  // Puts a snapshot on the board; what is drawn of it has its pictures already.
  /** @param {Shown} value */
  async function adopt(value) {
    const previous = state.race;
    const fresh = !previous || !continues(value, previous);
    await pictures.paint(value);
    const race = readRace(value, previous);
    playback.follow(race, fresh);
    remodel(state, race.lanes, state.costs);
    if (fresh) begin(race);
    if (previous?.snapshot.id !== value.id && isOn(race)) announceStart(part("live"), value);
    openMoment();
    tour.begin();
    refresh();
  }

  // A new race is on the board. A recorded one plays by itself once it is seen, unless the visitor
  // likes things still.
  /** @param {Race} race */
  function begin(race) {
    const { snapshot } = race;
    const template = part("lane-template", HTMLTemplateElement);
    cards = makeCards(part("lanes"), template, snapshot.lanes, pictures.lanes);
    controls.bindLanes(cards);
    listPromises(part("promises"), snapshot);
    delete part("finish").dataset.built;
    const plays = snapshot.recorded && !isStill();
    playback.begin(plays);
    drawing.begin(race, plays);
    state.hidden = new Set();
    state.cell = null;
    state.stepping = null;
    state.against = null;
    waiting = plays;
    inView.unobserve(part("lanes"));
    if (plays) inView.observe(part("lanes"));
    resized.disconnect();
    for (const card of cards) resized.observe(card.canvas);
    arrange();
  }

  // Goes to the moment in the page's address, once all of its race has been shown.
  function openMoment() {
    if (!moment || !hasRace(state) || !isOver(state.race)) return;
    if (!isLinked(state.race.snapshot.link ?? "", moment)) return;
    const asked = moment;
    moment = "";
    go(readMoment(asked, state.race));
  }

  /** @param {Change} change */
  function go(change) {
    if (MOVES_BY_HAND.some((name) => name in change)) waiting = false;
    if (applyChange(state, playback, change)) arrange();
    refresh();
  }

  function arrange() {
    if (hasRace(state)) layOut(part("lanes"), state, cards);
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
    const { live } = state;
    if (playback.advance()) {
      if (playback.end()) {
        changed = true;
        openMoment();
      }
      draw(changed || live !== state.live);
    }
    if (state.playing || playback.isBehind) schedule();
  }

  // Draws all of the board, or what follows from the instant.
  /** @param {boolean} all */
  function draw(all) {
    if (!hasRace(state)) return;
    changed = false;
    playback.settle();
    const frame = {
      cards,
      swatches: pictures.swatches,
      length: playback.scale(state),
      rate: isStill() ? 0 : playback.rate,
      all,
    };
    if (drawing.draw(state, frame)) for (const callback of listeners) callback(state);
  }

  new MutationObserver(refresh).observe(document.body, { attributeFilter: ["class"] }); // the theme
  part("moment").addEventListener("click", () => {
    if (hasRace(state)) copyLink(part("moment"), writeMoment(state));
  });
  part("embed").addEventListener("click", () => {
    if (!hasRace(state)) return;
    copyEmbed(part("embed"), embedOf(state.race.snapshot.prompt, writeMoment(state)));
  });
  part("share").addEventListener("click", () => {
    if (!hasRace(state)) return;
    const { prompt } = state.race.snapshot;
    const text = `${prompt}. ${outcomeOf(state.race)}`;
    shareLink(part("share"), text, writeMoment(state));
  });
  mountStage(board, handle, tour);
  answerMessages(handle);
  mountSpeakerLink(handle, tour);
  watch(takeNewest(adopt));
  return handle;
}

/**
 * An observer that calls `act` when half of an element, or so much of it as fills a quarter of the
 * window, has come into view. A quarter of the window can be any share of the element: the observer
 * is told of every half of a percent.
 * @param {() => void} act
 */
function viewObserver(act) {
  const threshold = Array.from({ length: 101 }, (_, i) => i / 200);
  return new IntersectionObserver(
    (entries) => {
      const { intersectionRatio, intersectionRect } = lastOf(entries);
      if (intersectionRatio >= 0.5 || intersectionRect.height >= windowHeight() / 4) act();
    },
    { threshold },
  );
}
