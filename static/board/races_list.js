// The races to choose from: those raced or opened since the window was, and the recordings that
// ship. The browser has what it has shown, so that showing it again needs no server.

import { isCovered, isResting } from "../controls/keys.js";
import { closest, keep, kept, query } from "../dom.js";
import { outcomeOf, stoppedWords } from "../panels/results.js";
import { hasRace, isOn, isOver, shownLanes } from "../trace/replay.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { belowParents, forkInWords } from "./fork.js";
import { isPair, pairOf, whyApart } from "./pair.js";

const REMEMBERED = 16; // races, of some megabytes each; the oldest go first
const KEPT_RACES = "photo-finish-races"; // what the list says of them outlives a reload
const BESIDE =
  "Show this race beside the one on the board. Each race keeps at most four of the lanes shown";
const NOT_SHOWN = "Show this race first";

/**
 * Keep the finished races of this window. The button and the key e open a list of these races and
 * the recordings.
 * @param {HTMLElement} root @param {Board} board @param {Listed[]} recordings
 * @param {{ give(race: Shown): unknown, ask(asked: { race: string }): unknown }} source
 */
export function mountRacesList(root, board, recordings, source) {
  const races = new Map(recalled().map((race) => [race.id, race])); // the newest last
  const shipped = new Map(recordings.map((race) => [race.id, race]));
  let single = ""; // the race on the board, or A of two
  const button = query(root, ".races", HTMLButtonElement);
  button.hidden = false;

  /** @param {string} id */
  const listed = (id) => shipped.get(id) ?? races.get(id);

  board.onChange(({ race }) => {
    button.disabled = isOn(race);
    const { snapshot } = race;
    const { id = "", prompt, seed, infilling, grid } = snapshot;
    if (isPair(snapshot)) return;
    single = id;
    if (!isOver(race) || !id || listed(id)?.race === snapshot) return;
    const words =
      outcomeOf({ race, hidden: new Set() }) ||
      (snapshot.state === "stopped" ? stoppedWords(race) : "");
    const from = infilling ? forkInWords(infilling, grid[1]) : "";
    const entry = { title: prompt, ...listed(id), id, seed, words, race: snapshot };
    if (from && !shipped.has(id))
      Object.assign(entry, { title: `↳ ${prompt}, from ${from}`, parent: infilling?.parent?.race });
    if (shipped.has(id)) return void shipped.set(id, entry);
    races.delete(id);
    races.set(id, entry);
    for (const old of [...races.keys()].slice(0, -REMEMBERED)) races.delete(old);
    const facts = [...races.values()].map((one) => ({ ...one, race: undefined }));
    keep(() => sessionStorage, KEPT_RACES, JSON.stringify(facts));
  });

  /** @param {Listed} one */
  function show({ id, race }) {
    if (race) source.give(race);
    else source.ask({ race: id });
  }

  /** @param {Shown} other */
  function showBeside(other) {
    const a = listed(single)?.race;
    const { state } = board;
    if (!a || !hasRace(state)) return;
    const shown = shownLanes(state).map(({ title }) => title);
    const titles = isPair(state.race.snapshot) ? shown.map((title) => title.slice(2)) : shown;
    const pair = pairOf(a, other, titles);
    source.give(pair);
    if (pair.untimed) board.go({ clock: "passes" });
  }

  /** @param {Listed} one @param {() => void} close */
  function rowOf(one, close) {
    const { id, title, seed, words = "", race } = one;
    const a = listed(single)?.race;
    const why = id === single ? "On the board" : a && race ? whyApart(a, race) : NOT_SHOWN;
    /** @param {() => void} act */
    const then = (act) => () => {
      close();
      act();
    };
    const beside = html`<button
      class="races-beside"
      type="button"
      title=${BESIDE}
      @click=${then(() => race && showBeside(race))}
    >
      Beside
    </button>`;
    return html`<tr>
      <td>
        <button
          class="races-show"
          type="button"
          aria-current=${id === board.state.race?.snapshot.id}
          @click=${then(() => show(one))}
        >
          ${title}
        </button>
      </td>
      <td>${seed}</td>
      <td>${words}</td>
      <td>${why ? html`<span class="races-apart">${why}</span>` : beside}</td>
    </tr>`;
  }

  function open() {
    const { race } = board.state;
    if (!race || isOn(race) || isCovered()) return;
    const dialog = document.createElement("dialog");
    Object.assign(dialog, { className: "races-list", ariaLabel: "Races" });
    const close = () => dialog.close();
    /** @param {string} name @param {Listed[]} list */
    const group = (name, list) =>
      list.length
        ? html`<tbody aria-label=${name}>
            <tr>
              <th colspan="4" scope="rowgroup">${name}</th>
            </tr>
            ${list.map((one) => rowOf(one, close))}
          </tbody>`
        : nothing;
    const table = html`<button type="button" class="races-close" @click=${close}>Close</button>
      <table>
        <caption>
          Races
        </caption>
        <thead>
          <tr>
            <th scope="col">Show</th>
            <th scope="col">Seed</th>
            <th scope="col">Outcome</th>
            <th scope="col">Side by side</th>
          </tr>
        </thead>
        ${group("In this window", belowParents([...races.values()].reverse()))}${group("Recordings", [...shipped.values()])}
      </table>`;
    render(table, dialog);
    dialog.addEventListener("close", () => dialog.remove());
    query(root, ".board").append(dialog);
    dialog.showModal();
  }
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "e" || isResting(event) || closest(event, "dialog")) return;
    event.preventDefault();
    open();
  });
}

/** Recall the races that the list had before the page was reloaded. @returns {Listed[]} */
function recalled() {
  try {
    const found = JSON.parse(kept(() => sessionStorage, KEPT_RACES));
    return Array.isArray(found) ? found : [];
  } catch {
    return []; // nothing is kept, or something that is not ours
  }
}
