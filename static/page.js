// Joins the board to the page: which race it shows, what the page's address then says, and which
// other parts of the page are about that race.

import { mountBets } from "./board/bet.js";
import { MountedBoard } from "./board/board.js";
import { isPair } from "./board/pair.js";
import { mountRacesList } from "./board/races_list.js";
import { mountTell } from "./board/tell.js";
import { addressOf } from "./controls/moment.js";
import { mountShare } from "./controls/share.js";
import { keep, kept, markOpened, query, queryAll, windowHeight } from "./dom.js";
import { mountDropping } from "./form/drop.js";
import { mountFilling } from "./form/filling.js";
import { mountOffline } from "./form/offline.js";
import { keepTyped, mountTyped } from "./form/typed.js";
import { watchCharts } from "./panels/charts.js";
import { mountSaving } from "./panels/save.js";
import { mountRemote } from "./stage/remote_link.js";
import { isSpeaker, mountSpeaker } from "./stage/speaker.js";
import { RaceSource } from "./trace/race_source.js";
import { isOn, isOver } from "./trace/replay.js";

const VOTER = "photo-finish-voter";
let voterName = "";

// Parts that are about the race on the board, or about the next one. They are inert while a race is
// on, and while the board shows two.
const RESTING = "#bet, #decided, #seeds, #cost, #whatif, #export";

/**
 * Mount the board and connect it to the page. Gradio gives all arguments but the last to a
 * component's script.
 * @param {HTMLElement} element @param {PageProps} props @param {typeof trigger} trigger
 * @param {typeof watch} watch @param {string} root the server's address
 */
export function mountPage(element, props, trigger, watch, root) {
  if (isSpeaker()) return mountSpeaker(element);
  const page = new Page(element, props, trigger, root);
  page.open();
  watch("value", () => page.take());
  page.take(); // a race may have begun before this script was here
}

class Page {
  #element;
  #props;
  #facts;
  #trigger;
  #root;
  #board;
  #races;
  #frame;
  #shown = ""; // the id of the race that is on the board
  #over = ""; // the race that the page has heard is over
  #pressed = false; // whether Race was pressed, and its race has not come yet
  #unseen = ""; // the race that came then, and has not been scrolled into sight
  #isOpen = false; // whether the page's opening has been answered

  /**
   * @param {HTMLElement} element @param {PageProps} props @param {typeof trigger} trigger
   * @param {string} root
   */
  constructor(element, props, trigger, root) {
    /** @type {PageFacts} */
    const facts = JSON.parse(props.facts);
    this.#element = element;
    this.#props = props;
    this.#facts = facts;
    this.#trigger = trigger;
    this.#root = root;
    this.#frame = query(element, ".board");
    this.#races = new RaceSource(
      root,
      facts.recorded,
      (race) => this.#display(race),
      (race) => this.#miss(race),
    );
    const show = (/** @type {string} */ race) => void this.#races.ask({ race });
    const give = (/** @type {Shown} */ race) => void this.#races.give(race);
    const tours = facts.tours.whole ? { races: facts.tours, show, give } : undefined;
    this.#board = new MountedBoard(element, tours);
    const inside = document.documentElement.classList.contains("inside");
    this.#board.go({ inside });
    query(element, ".fewer").hidden = document.documentElement.classList.contains("embed");
    this.#joinForm();
    this.#joinParts();
    this.#board.onChange((state) => this.#follow(state));
  }

  /**
   * Open with the race that the page's address names, or else with a recorded race. A race that is
   * asked for meanwhile comes first. An embedded board shows only the race that its address names.
   * Fetch the other recorded races last, so that the tour needs no network.
   */
  async open() {
    const { opening, recorded, waiting } = this.#facts;
    this.#board.show(waiting);
    const here = new URLSearchParams(window.photoFinish.query);
    const named = here.get("race") ?? here.get("recorded") ?? "";
    const isEmbedded = document.documentElement.classList.contains("embed");
    const came = named !== "" && (await this.#races.ask({ race: named }));
    const isFree = this.#races.asked.race === named; // nothing else has been asked for
    if (!came && isFree && opening && !(isEmbedded && named)) {
      this.#shown = opening; // the address stays: a reload reads its link again
      await this.#races.ask({ race: opening });
    }
    this.#own(await window.photoFinish.opened);
    this.#isOpen = true;
    markOpened();
    if (isEmbedded) return;
    for (const name of Object.keys(recorded)) {
      if (name === opening) continue;
      const answer = fetch(this.#root + recorded[name]);
      await answer.then((file) => file.blob()).catch(() => {}); // it is fetched again when needed
    }
  }

  /** Show the race that gradio names. */
  take() {
    const { value } = this.#props;
    if (!value) return;
    if (value.key) keepKey(value.race, value.key);
    this.#races.ask(value);
  }

  // Take over the visitor's own race in progress, from a page that was closed or has lost its key.
  /** @param {Opened} opened */
  #own({ race, key }) {
    if (!key) return;
    keepKey(race, key);
    if (race === this.#shown) this.#frame.dataset.key = key;
    this.#board.go({});
  }

  // Handle a race that the server does not keep: the answer to gradio's request says so, or, while
  // the page opens, the answer to its opening.
  /** @param {string} race */
  #miss(race) {
    if (this.#isOpen) this.#trigger("show", { race });
  }

  /** @param {Shown} race */
  #display(race) {
    if (race.id !== this.#shown) this.#changeTo(race);
    return this.#board.show(race);
  }

  // Prepare the page for another race on the board. The page's address names the race, so that it
  // comes back with the page; neither the server nor an address knows of two races on one board.
  /** @param {Shown} race */
  #changeTo(race) {
    this.#shown = race.id ?? "";
    this.#frame.dataset.key = keyOf(this.#shown);
    if (isPair(race)) return;
    const here = new URLSearchParams(location.search);
    if (![here.get("race"), here.get("recorded")].includes(this.#shown))
      history.replaceState(history.state, "", addressOf(race, location.search));
    const select = document.querySelector("#bet select");
    const lane = select instanceof HTMLSelectElement && select.value;
    const pressed = this.#pressed ? this.#shown : "";
    const bet = pressed && lane ? { race: pressed, lane: Number(lane) } : null;
    this.#board.go({ bet, pressed });
    this.#pressed = false;
    this.#unseen = pressed;
    document.dispatchEvent(new Event("photo-finish-start"));
  }

  // Follow the race on the board: what rests while it is on, and its end.
  /** @param {Raced} state */
  #follow({ race }) {
    const { id = "" } = race.snapshot;
    const { body } = document;
    const on = isOn(race);
    // A race can be over before any of it has come.
    const begins = on ? !body.classList.contains("racing") : id !== "" && id === this.#unseen;
    const pair = isPair(race.snapshot);
    body.classList.toggle("racing", on);
    body.classList.toggle("watching", on && this.#isGuestOf(id));
    if (begins) {
      this.#unseen = "";
      this.#reveal();
    }
    for (const part of queryAll(document, RESTING)) part.inert = on || pair;
    const { asked } = this.#races;
    if (pair || !isOver(race) || id === this.#over || (id === asked.race && asked.more)) return;
    this.#over = id;
    this.#trigger("over");
  }

  // Test whether the visitor watches another visitor's race.
  /** @param {string} race */
  #isGuestOf = (race) => race === this.#races.asked.race && !keyOf(race);

  // Scroll a race that begins into view, below the form's first row, which stays on the screen.
  #reveal() {
    const { bottom } = query(this.#element, ".lanes").getBoundingClientRect();
    if (bottom <= windowHeight()) return;
    const entry = document.querySelector("#entry")?.clientHeight ?? 0;
    this.#frame.style.scrollMarginTop = `${entry}px`;
    this.#frame.scrollIntoView();
  }

  #joinForm() {
    mountTyped();
    mountDropping(this.#element);
    mountOffline();
    document.addEventListener("photo-finish-asked", () => (this.#pressed = true));
    document.addEventListener("photo-finish-press", (event) => {
      const button = document.getElementById(event.detail);
      if (button?.checkVisibility()) button.click(); // an embedded board has none
    });
    // The settings of a race that was not raced from this form can be taken over: its prompt, seed,
    // lanes and sampling.
    const useSettings = query(this.#element, ".use-settings");
    useSettings.hidden = false;
    useSettings.addEventListener("click", () => {
      keepTyped();
      this.#trigger("use", this.#onBoard());
      document.querySelector("#entry")?.scrollIntoView({ block: "nearest" });
    });
    const { fillable } = this.#facts;
    const fill = () => this.#trigger("fill", this.#onBoard());
    /** @param {object} token */
    const fork = (token) => this.#trigger("fork", { ...this.#onBoard(), ...token });
    mountFilling(this.#element, this.#board, fillable, fill, fork);
    document.addEventListener("photo-finish-swatches", (event) => {
      const { race } = this.#board.state;
      if (!race) return;
      const { swatches, infilling } = race.snapshot;
      const picture = infilling && { known: infilling.known, canvas: this.#board.pictureOf(0) };
      event.detail(swatches, picture);
    });
  }

  #onBoard = () => ({ race: this.#board.state.race?.snapshot.id });

  #joinParts() {
    watchCharts();
    mountSaving(document, () => this.#board.state.race?.snapshot);
    mountShare(query(this.#element, ".share", HTMLButtonElement), this.#board);
    mountRemote(this.#element, this.#board, this.#root);
    mountRacesList(this.#element, this.#board, this.#facts.recordings, this.#races);
    mountTell(this.#element, this.#board, this.#root, voter);
    mountBets(this.#element, this.#board, this.#isGuestOf, async ({ race, lane }) => {
      const options = { method: "POST", body: JSON.stringify({ voter: voter(), lane }) };
      const answer = await fetch(`${this.#root}/races/${race}/bets`, options).catch(() => null);
      return answer !== null && answer.ok;
    });
  }
}

/**
 * Return this voter's name, by which the server counts a browser's bets on a race as one. If the
 * browser keeps nothing, the name lasts as long as the page.
 */
function voter() {
  const numbers = () => Array.from(crypto.getRandomValues(new Uint32Array(4)));
  voterName ||= kept(() => localStorage, VOTER) || numbers().join("-");
  keep(() => localStorage, VOTER, voterName);
  return voterName;
}

/** @type {Record<string, string>} the visitor's keys by race, in case the browser keeps none */
const RACE_KEYS = {};

/**
 * Keep the key that can stop a race, so that the page has the key again after a reload.
 * @param {string} race @param {string} key
 */
function keepKey(race, key) {
  RACE_KEYS[race] = key;
  keep(() => sessionStorage, race, key);
}

/** Return the key of a race; "" for another visitor's. @param {string} race */
const keyOf = (race) => RACE_KEYS[race] ?? kept(() => sessionStorage, race);
