// Joins the board to the page: the board's value is a snapshot, and what else the page has stands
// outside it.

import { mountBets } from "./board/bet.js";
import { mountBoard, windowHeight } from "./board/board.js";
import { addressOf } from "./controls/moment.js";
import { keep, kept, query, queryAll } from "./dom.js";
import { mountFilling } from "./form/filling.js";
import { mountSaving, saveButtons } from "./panels/save.js";
import { leaveRace, watchRace } from "./trace/live_race.js";
import { isOn, isOver } from "./trace/replay.js";

const VOTER = "photo-finish-voter";
let name = ""; // the voter's

// What is about the race on the board, or about the next one: it rests while one is on.
const RESTING = "#bet, #decided, #five-seeds, #seeds-table, #cost, #whatif, #export";

/**
 * With what gradio gives a script of its; `root` is the server's address.
 * @param {HTMLElement} element @param {PageProps} props @param {typeof trigger} trigger
 * @param {typeof watch} watch @param {string} root
 */
export function mountPage(element, props, trigger, watch, root) {
  let shown = ""; // the race that is on the board
  let over = ""; // the race that the page knows to be over
  let bets = false; // Race was pressed, and the bet is on what comes
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
        if ("watch" in value) watchIt((watched = { ...value, key: keyOf(value) }));
        else if (value.id) display(value);
        else callback(value);
      };
      watch("value", take);
      take();
      openWith(callback);
    },
    props.tours.whole ? { races: props.tours, show } : undefined,
  );

  // Of a recorded race, which the browser keeps.
  /** @param {string} name @returns {Promise<Snapshot>} */
  async function fetchRace(name) {
    const answer = await fetch(root + props.recorded[name]);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.json();
  }

  // The page opens with a recorded race, unless another one was faster. The others come after it,
  // so that the tour needs no network.
  /** @param {(value: Snapshot) => void} callback */
  async function openWith(callback) {
    const { opening, recorded } = props;
    const race = opening && (await fetchRace(opening));
    if (race && shown === "") {
      shown = race.id ?? "";
      callback(race);
    }
    const others = Object.keys(recorded).filter((name) => name !== opening);
    const ignore = () => {}; // asked for, it is fetched again
    for (const name of others) {
      const answer = fetch(root + recorded[name]); // read, so that it is kept, but not parsed
      await answer.then((file) => file.blob()).catch(ignore);
    }
  }

  // Where a recorded race does not come, whoever asked for it can ask again.
  /** @param {string} race */
  function show(race) {
    if (race in props.recorded) fetchRace(race).then(display, () => {});
    else if (race === watched.watch)
      watchIt(watched); // of which gradio has nothing new to say
    else trigger("show", { race });
  }

  // Where it is gone, the page's server says so.
  /** @param {Watched} race */
  function watchIt({ watch: race }) {
    watchRace(`${root}/races/${race}/events`, display, () => trigger("show", { race }));
  }

  // Another race is on the board: the page's address says so, that it may be left and opened again.
  /** @param {Shown} snapshot */
  function changeTo(snapshot) {
    shown = snapshot.id ?? "";
    query(element, ".board").dataset.key = keyOf({
      watch: shown,
      key: shown === watched.watch ? watched.key : "",
    });
    const here = new URLSearchParams(location.search);
    if (![here.get("race"), here.get("recorded")].includes(shown))
      history.replaceState(history.state, "", addressOf(snapshot, location.search));
    const select = document.querySelector("#bet select");
    const lane = select instanceof HTMLSelectElement && select.value;
    board.go({ bet: bets && lane ? { race: shown, lane: Number(lane) } : null });
    bets = false;
    document.dispatchEvent(new Event("photo-finish-start"));
  }
  document.addEventListener("photo-finish-asked", () => (bets = true));

  board.onChange(({ race }) => {
    const on = isOn(race);
    const begins = on && !document.body.classList.contains("racing");
    document.body.classList.toggle("racing", on);
    const { id = "" } = race.snapshot;
    const isWatched = id === watched.watch;
    document.body.classList.toggle("watching", on && isWatched && !watched.key);
    if (begins) reveal();
    for (const part of queryAll(document, RESTING)) part.inert = on;
    if (!isOver(race) || id === over || (isWatched && watched.more)) return;
    over = id;
    trigger("over");
  });

  // A race that begins comes into sight, under the form's first row, which stays on the screen.
  function reveal() {
    const { bottom } = query(element, ".lanes").getBoundingClientRect();
    if (bottom <= windowHeight()) return;
    const entry = document.querySelector("#entry")?.clientHeight ?? 0;
    const board = query(element, ".board");
    board.style.scrollMarginTop = `${entry}px`;
    board.scrollIntoView();
  }

  // Plotly listens to the window on behalf of each chart, also of one that gradio has taken down,
  // which would stay in memory.
  new MutationObserver((changes) => {
    for (const { target } of changes) offerFiles(target);
    for (const node of changes.flatMap(({ removedNodes }) => [...removedNodes])) {
      if (!(node instanceof Element) || node.isConnected) continue;
      for (const chart of [node, ...node.querySelectorAll(".js-plotly-plot")])
        stopListening(/** @type {Partial<Plot>} */ (chart));
    }
  }).observe(document.body, { childList: true, subtree: true });

  /** @param {Partial<Plot>} chart */
  function stopListening({ _responsiveChartHandler: handler }) {
    if (handler) removeEventListener("resize", handler);
  }

  // A chart can be saved, once plotly has drawn it.
  /** @param {Node} node */
  function offerFiles(node) {
    const chart = node instanceof Element && node.closest(".js-plotly-plot");
    if (!chart || chart.nextElementSibling?.matches(".save")) return;
    const title = /** @type {Partial<Plot>} */ (chart)._fullLayout?.xaxis.title;
    const heading = chart.closest(".figure")?.querySelector("h3")?.textContent;
    const name = (heading ?? title?.text ?? "").toLowerCase().replace(/[^a-z0-9]+/g, "-");
    chart.after(saveButtons(name.replace(/^-|-$/g, "") || "picture"));
  }
  mountSaving(document);

  document.addEventListener("photo-finish-press", (event) => {
    document.getElementById(event.detail)?.click();
  });

  // A race that was not raced from this form can be: with its prompt, seed, lanes and sampling.
  const useSettings = query(element, ".use-settings");
  useSettings.hidden = false;
  useSettings.addEventListener("click", () => {
    trigger("use", onBoard());
    document.querySelector("#entry")?.scrollIntoView({ block: "nearest" });
  });

  // A file dropped onto the board is handed to the page's own "Open a trace".
  element.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    element.classList.add("dropping");
  });
  for (const name of ["dragleave", "drop"]) {
    element.addEventListener(name, () => element.classList.remove("dropping"));
  }
  element.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault(); // or the browser leaves the page for the file
    const one = new DataTransfer();
    one.items.add(event.dataTransfer.files[0]);
    openTrace(one.files);
  });

  // The board may be on the page before the button is.
  /** @param {FileList} files */
  function openTrace(files) {
    const input = document.querySelector("#bring input[type=file]");
    if (!(input instanceof HTMLInputElement)) return void setTimeout(openTrace, 100, files);
    input.files = files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  // One who watches another visitor's race bets on it here. A name of the browser's own keeps their
  // bets one.
  mountBets(
    element,
    board,
    (race) => race === watched.watch && !watched.key,
    async ({ race, lane }) => {
      const options = { method: "POST", body: JSON.stringify({ voter: voter(), lane }) };
      const answer = await fetch(`${root}/races/${race}/bets`, options).catch(() => null);
      return answer !== null && answer.ok;
    },
  );

  mountFilling(element, board, props.fillable, () => trigger("fill", onBoard()));
  document.addEventListener("photo-finish-swatches", (event) => {
    if (!board.state.race) return;
    const { swatches, infilling } = board.state.race.snapshot;
    const picture = infilling && { known: infilling.known, canvas: board.pictureOf(0) };
    event.detail(swatches, picture);
  });
}

/** By which the server knows a browser's bets as one; where nothing is kept, a page's. */
function voter() {
  const numbers = () => Array.from(crypto.getRandomValues(new Uint32Array(4)));
  name ||= kept(() => localStorage, VOTER) || numbers().join("-");
  keep(() => localStorage, VOTER, name);
  return name;
}

// A race's key, which its page has also when it is loaded again.
/** @param {Pick<Watched, "watch" | "key">} race */
function keyOf({ watch, key }) {
  if (key) keep(() => sessionStorage, watch, key);
  return key || kept(() => sessionStorage, watch);
}
