// The board: it takes in snapshots, keeps the one state that everything is drawn from, moves it
// through time, and draws it.

import { bindControls } from "../controls/controls.js";
import { isLinked, readMoment } from "../controls/moment.js";
import { addressQuery, attribute, finder, query, windowHeight } from "../dom.js";
import { makeCards } from "../lanes/cards.js";
import { lastOf } from "../numbers.js";
import { listPromises } from "../panels/legend.js";
import { bindModelled } from "../panels/modelled_panel.js";
import { mountSpeakerLink } from "../stage/speaker_link.js";
import { mountStage } from "../stage/stage.js";
import { MountedTour } from "../tour/tour.js";
import { hasRace, isOn, isOver } from "../trace/replay.js";
import { readRace } from "../trace/step_table.js";
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
 * The board in `root`. `tours`, if given, fetches the tour's races.
 * @implements {Board}
 */
export class MountedBoard {
  state = newState();
  #frame;
  #part;
  #playback = new Playback(this.state);
  #pictures = new Pictures();
  #controls;
  #drawing;
  #tour;
  /** @type {((state: Raced) => void)[]} */
  #listeners = [];
  /** @type {Card[]} */
  #cards = [];
  #moment = addressQuery(); // what the page's address says of its first race
  #waits = false; // whether a recorded race waits until its lanes are in view
  #isScheduled = false; // whether a frame is
  #isChanged = false; // whether more than the instant has changed since the last frame
  #resized = new ResizeObserver(() => {
    this.#arrange();
    this.#refresh();
  });
  #inView = viewObserver(() => {
    if (this.#waits) this.go({ playing: true });
  });

  /** @param {HTMLElement} root @param {Tours} [tours] */
  constructor(root, tours) {
    this.tours = tours;
    this.#frame = query(root, ".board");
    this.#part = finder(this.#frame);
    this.#controls = bindControls(this.#frame, this);
    this.#drawing = bindDrawing(this.#frame, this.go, {
      drawControls: this.#controls.drawControls,
      drawModelled: bindModelled(this.#part("modelled-panel"), this),
    });
    this.#tour = new MountedTour(root, this);
    const theme = new MutationObserver(() => this.#refresh());
    theme.observe(document.body, { attributeFilter: ["class"] });
    mountStage(this.#frame, this, this.#tour);
    answerMessages(this);
    mountSpeakerLink(this, this.#tour);
  }

  /** Put a race, or its newest part, on the board. Resolves once the board has drawn it. */
  show = takeNewest((value) => this.#adopt(value));

  /** @param {Change} change */
  go = (change) => {
    if (MOVES_BY_HAND.some((name) => name in change)) this.#waits = false;
    if (applyChange(this.state, this.#playback, change)) this.#arrange();
    this.#refresh();
  };

  /** @param {(state: Raced) => void} callback is called when more than the instant was drawn */
  onChange = (callback) => void this.#listeners.push(callback);

  /** @param {number} lane */
  pictureOf = (lane) => this.#cards[lane].picture.canvas;

  // Take in a snapshot, once its pictures are painted.
  /** @param {Shown} value */
  async #adopt(value) {
    const previous = this.state.race;
    await this.#pictures.paint(value);
    const race = readRace(value, previous);
    this.#playback.follow(race, race.fresh);
    remodel(this.state, race.lanes, this.state.costs);
    const isAnother = !previous || previous.snapshot.id !== value.id;
    if (race.fresh) this.#setOut(race);
    if (isAnother) this.#begin(race);
    if (race.fresh) this.#arrange();
    if (isAnother && isOn(race)) announceStart(this.#part("live"), value);
    this.#openMoment();
    this.#tour.begin();
    this.#refresh();
  }

  // Lay out a race's lanes: for another race, or for this one once its cells are known.
  /** @param {Race} race */
  #setOut(race) {
    const { snapshot } = race;
    const template = this.#part("lane-template", HTMLTemplateElement);
    const { lanes } = this.#pictures;
    this.#cards = makeCards(this.#part("lanes"), template, snapshot.lanes, lanes);
    this.#controls.bindLanes(this.#cards);
    listPromises(this.#part("promises"), snapshot);
    this.#resized.disconnect();
    for (const card of this.#cards) this.#resized.observe(card.canvas);
  }

  // Begin at a race's start. A recorded race plays by itself once it is in view, unless the visitor
  // prefers reduced motion.
  /** @param {Race} race */
  #begin(race) {
    const plays = race.snapshot.recorded && !isStill();
    this.#playback.begin(plays);
    this.#drawing.begin(race, plays, race.snapshot.id === this.state.pressed);
    Object.assign(this.state, { hidden: new Set(), cell: null, stepping: null, against: null });
    this.#waits = plays;
    this.#inView.unobserve(this.#part("lanes"));
    if (plays) this.#inView.observe(this.#part("lanes"));
  }

  // Go to the moment in the page's address, once the whole race has been shown. A standalone file
  // has one race, which has no link.
  #openMoment() {
    const { race } = this.state;
    const moment = this.#moment;
    if (!moment || !race || !isOver(race)) return;
    const { link } = race.snapshot;
    if (link !== undefined && !isLinked(link, moment)) return;
    this.#moment = "";
    this.go(readMoment(moment, race));
  }

  // Lay the board out. Set the stage's styles first, so that the sizes measured are the sizes
  // shown.
  #arrange() {
    if (!hasRace(this.state)) return;
    const { present, inside } = this.state;
    document.body.classList.toggle("present", present);
    document.documentElement.classList.toggle("inside", inside);
    attribute(this.#frame, "data-present", Number(present));
    layOut(this.#part("lanes"), this.state, this.#cards);
  }

  #refresh() {
    this.#isChanged = true;
    this.#schedule();
  }

  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    onFrame(() => this.#move());
  }

  // Advance to now, and draw if that changes anything.
  #move() {
    this.#isScheduled = false;
    if (!hasRace(this.state)) return;
    const { live } = this.state;
    if (this.#playback.advance()) {
      if (this.#playback.end()) {
        this.#isChanged = true;
        this.#openMoment();
      }
      this.#draw(this.#isChanged || live !== this.state.live);
    }
    if (this.state.playing || this.#playback.isBehind) this.#schedule();
  }

  // Draw the whole board, or only the parts that follow the instant.
  /** @param {boolean} all */
  #draw(all) {
    if (!hasRace(this.state)) return;
    this.#isChanged = false;
    this.#playback.settle();
    const frame = {
      cards: this.#cards,
      swatches: this.#pictures.swatches,
      length: this.#playback.scale(this.state),
      rate: isStill() ? 0 : this.#playback.rate,
      all,
    };
    const { state } = this;
    if (this.#drawing.draw(state, frame)) for (const callback of this.#listeners) callback(state);
  }
}

/**
 * Return an observer that calls `act` when half of an element is in view, or when the element fills
 * a quarter of the window. A quarter of the window can be any share of the element, so the
 * thresholds are half a percent apart.
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
