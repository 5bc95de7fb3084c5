// Joins the board to the page: the board's value is a snapshot, and all else that the page has
// stands outside of it.

import { mountBets } from "./board/bet.js";
import { mountEarlier } from "./board/earlier.js";
import { isPair } from "./board/pair.js";
import { mountBoard } from "./board/board.js";
import { addressOf } from "./controls/moment.js";
import { closest, keep, kept, promptField, query, queryAll, windowHeight } from "./dom.js";
import { mountDropping } from "./form/drop.js";
import { mountFilling } from "./form/filling.js";
import { mountOffline, whenOnline } from "./form/offline.js";
import { watchCharts } from "./panels/charts.js";
import { mountSaving } from "./panels/save.js";
import { mountRemote } from "./stage/remote_link.js";
import { isSpeaker, mountSpeaker } from "./stage/speaker.js";
import { leaveRace, watchRace } from "./trace/live_race.js";
import { isOn, isOver } from "./trace/replay.js";

const VOTER = "photo-finish-voter";
const TYPED = "photo-finish-typed"; // the prompt that was typed last and has not been raced
let voterName = "";

// Parts that are about the race on the board, or about the next one. They are inert while a race is
// on, and while the board shows two.
const RESTING =
  "#bet, #decided, #race-seeds, #seeds-table, #race-sweep, #sweep-table, #cost, #whatif, #export";

/**
 * Mounts the board and joins it to the page. All but the last argument is what gradio gives a
 * script of a component.
 * @param {HTMLElement} element @param {PageProps} props @param {typeof trigger} trigger
 * @param {typeof watch} watch @param {string} root the server's address
 */
export function mountPage(element, props, trigger, watch, root) {
  if (isSpeaker()) return mountSpeaker(element);
  let shown = ""; // the race that is on the board
  let over = ""; // the race that the page has heard is over
  const embedded = document.documentElement.classList.contains("embed"); // in another page's frame
  let bets = false; // whether Race was pressed, so that the form's bet is on the race that comes
  let watched = { watch: "", key: "", more: false }; // the race that was watched last
  /** @type {(snapshot: Shown) => void} shows a race */
  let display = () => {};
  const onBoard = () => ({ race: board.state.race?.snapshot.id });

  const board = mountBoard(
    element,
    (callback) => {
      display = (snapshot) => {
        if (snapshot.id !== watched.watch) leaveRace();
        if (snapshot.id !== shown) changeTo(snapshot);
        callback(snapshot);
      };
      const take = () => {
        const { value } = props;
        if ("watch" in value) {
          watched = { ...value, key: keyOf(value) };
          if (value.watch !== shown) watchIt(watched);
        } else if (value.id) display(value);
        else callback(value);
      };
      watch("value", take);
      take();
      openWith(callback);
    },
    props.tours.whole ? { races: props.tours, show } : undefined,
  );

  // The snapshot of a recorded race; the browser keeps its file.
  /** @param {string} name @returns {Promise<Snapshot>} */
  async function fetchRace(name) {
    const answer = await fetch(root + props.recorded[name]);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.json();
  }

  // The page opens with the race that its address names, or else with a recorded race, unless
  // another one was faster. The other recorded ones come after it, so that the tour needs no
  // network. An embedded board shows no other race than its address names.
  /** @param {(value: Snapshot) => void} callback */
  async function openWith(callback) {
    const { opening, recorded } = props;
    const here = new URLSearchParams(location.search);
    const asked = here.get("race") ?? here.get("recorded");
    if (asked) await readAsked(asked);
    if (embedded && asked) return;
    const race = opening && shown === "" && (await fetchRace(opening));
    if (race && shown === "") {
      shown = race.id ?? "";
      callback(race);
    }
    if (embedded) return;
    const others = Object.keys(recorded).filter((name) => name !== opening);
    const ignore = () => {}; // it is fetched again when it is asked for
    for (const name of others) {
      const answer = fetch(root + recorded[name]);
      await answer.then((file) => file.blob()).catch(ignore); // a file that is read is kept
    }
  }

  // Reads the race that the page's address names. Resolves once it is on the board, or is not kept.
  /** @param {string} race @returns {Promise<void>} */
  function readAsked(race) {
    return new Promise((resolve) => {
      /** @param {Shown} snapshot */
      const take = (snapshot) => {
        display(snapshot);
        resolve();
      };
      watched = { watch: race, key: keyOf({ watch: race, key: "" }), more: false };
      watchRace(eventsOf(race), take, resolve);
    });
  }

  /** @param {string} race */
  function eventsOf(race) {
    return `${root}/races/${encodeURIComponent(race)}/events`;
  }

  // Asks for a race. Where a recorded one does not come, the visitor can ask again. A race that is
  // watched is read again, since gradio has nothing new to say of it.
  /** @param {string} race */
  function show(race) {
    if (race in props.recorded) fetchRace(race).then(display, () => {});
    else if (race === watched.watch) watchIt(watched);
    else trigger("show", { race });
  }

  // Watches a race. Where it is gone, the page's server is asked for it and says so.
  /** @param {Watched} race */
  function watchIt({ watch: race }) {
    watchRace(eventsOf(race), display, () => trigger("show", { race }));
  }

  // Another race is on the board. The page's address names it, so that it comes back with the page.
  /** @param {Shown} snapshot */
  function changeTo(snapshot) {
    shown = snapshot.id ?? "";
    query(element, ".board").dataset.key = keyOf({
      watch: shown,
      key: shown === watched.watch ? watched.key : "",
    });
    if (isPair(snapshot)) return; // neither the server nor an address knows of it
    const here = new URLSearchParams(location.search);
    if (![here.get("race"), here.get("recorded")].includes(shown))
      history.replaceState(history.state, "", addressOf(snapshot, location.search));
    const select = document.querySelector("#bet select");
    const lane = select instanceof HTMLSelectElement && select.value;
    board.go({ bet: bets && lane ? { race: shown, lane: Number(lane) } : null });
    bets = false;
    document.dispatchEvent(new Event("photo-finish-start"));
  }
  const keepTyped = (typed = "") => keep(() => sessionStorage, TYPED, typed);
  document.addEventListener("input", (event) => {
    if (closest(event, "#prompt")) keepTyped(promptField().value);
  });
  document.addEventListener("photo-finish-asked", () => {
    bets = true;
    keepTyped();
  });

  // Its click makes a film; the file is offered below, for another click.
  const film = query(element, ".film");
  film.addEventListener("click", () => {
    const section = query(document, "#export > button");
    if (!section.classList.contains("open")) section.click();
    section.scrollIntoView();
    trigger("film");
  });

  board.onChange(({ race }) => {
    const on = isOn(race);
    const begins = on && !document.body.classList.contains("racing");
    document.body.classList.toggle("racing", on);
    const { id = "" } = race.snapshot;
    const isWatched = id === watched.watch;
    document.body.classList.toggle("watching", on && isWatched && !watched.key);
    if (begins) reveal();
    const pair = isPair(race.snapshot);
    for (const part of queryAll(document, RESTING)) part.inert = on || pair;
    film.hidden = pair;
    if (pair || !isOver(race) || id === over || (isWatched && watched.more)) return;
    over = id;
    // Offline it would only have gradio load the page again, in the middle of a talk.
    whenOnline(() => over === id && trigger("over"));
  });

  // Scrolls a race that begins into sight, below the form's first row, which stays on the screen.
  function reveal() {
    const { bottom } = query(element, ".lanes").getBoundingClientRect();
    if (bottom <= windowHeight()) return;
    const entry = document.querySelector("#entry")?.clientHeight ?? 0;
    const board = query(element, ".board");
    board.style.scrollMarginTop = `${entry}px`;
    board.scrollIntoView();
  }

  watchCharts();
  mountSaving(document, () => board.state.race?.snapshot);
  mountDropping(element);
  mountOffline();

  document.addEventListener("photo-finish-press", (event) => {
    const button = document.getElementById(event.detail);
    if (button?.checkVisibility()) button.click(); // an embedded board has none
  });

  // The settings of a race that was not raced from this form can be taken over: its prompt, seed,
  // lanes and sampling.
  const useSettings = query(element, ".use-settings");
  useSettings.hidden = false;
  useSettings.addEventListener("click", () => {
    keepTyped();
    trigger("use", onBoard());
    document.querySelector("#entry")?.scrollIntoView({ block: "nearest" });
  });

  // A visitor who watches another one's race bets on it here.
  /** @param {string} race */
  const isGuestOf = (race) => race === watched.watch && !watched.key;
  mountBets(element, board, isGuestOf, async ({ race, lane }) => {
    const options = { method: "POST", body: JSON.stringify({ voter: voter(), lane }) };
    const answer = await fetch(`${root}/races/${race}/bets`, options).catch(() => null);
    return answer !== null && answer.ok;
  });

  mountRemote(element, board, root);
  mountEarlier(element, board, (race) => display(race));
  mountFilling(element, board, props.fillable, () => trigger("fill", onBoard()));
  document.addEventListener("photo-finish-swatches", (event) => {
    if (!board.state.race) return;
    const { swatches, infilling } = board.state.race.snapshot;
    const picture = infilling && { known: infilling.known, canvas: board.pictureOf(0) };
    event.detail(swatches, picture);
  });
}

/**
 * The name by which the server counts a browser's bets on a race as one. Where the browser keeps
 * nothing, it is the page's.
 */
function voter() {
  const numbers = () => Array.from(crypto.getRandomValues(new Uint32Array(4)));
  voterName ||= kept(() => localStorage, VOTER) || numbers().join("-");
  keep(() => localStorage, VOTER, voterName);
  return voterName;
}

/**
 * The key by which a race can be stopped. The browser keeps it, so that its page has it again after
 * a reload; "" where the race is another visitor's.
 * @param {Pick<Watched, "watch" | "key">} race
 */
function keyOf({ watch, key }) {
  if (key) keep(() => sessionStorage, watch, key);
  return key || kept(() => sessionStorage, watch);
}
