// The races since the page was opened, to be shown again or beside the one on the board. The
// browser has them, so that neither needs the server, which may not keep them any more.

import { isResting } from "../controls/keys.js";
import { closest, query, templateCopy } from "../dom.js";
import { outcomeOf, stoppedWords } from "../panels/results.js";
import { hasRace, isOn, isOver, shownLanes } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";
import { canPair, isPair, pairOf } from "./pair.js";

const REMEMBERED = 16; // races, of some megabytes each; the oldest go first
const BESIDE = "Beside the race on the board: of each the lanes that are shown, at most four";
const UNFIT = "Only another race of the same model, grid and machine can stand beside this one";

/**
 * Keeps the races that are over on the board, and lists them where its button or the key e is
 * pressed.
 * @param {HTMLElement} root @param {Board} board
 * @param {(race: Shown) => void} display puts a race on the board
 */
export function mountEarlier(root, board, display) {
  /** @type {Map<string, { race: Shown, words: string }>} by id, the newest last */
  const races = new Map();
  let single = ""; // the race on the board, or A of two
  const button = query(root, ".earlier", HTMLButtonElement);
  button.hidden = false;

  board.onChange(({ race }) => {
    button.disabled = isOn(race);
    const { snapshot } = race;
    const { id = "" } = snapshot;
    if (isPair(snapshot)) return;
    single = id;
    if (!isOver(race) || !id || races.get(id)?.race === snapshot) return;
    const words =
      outcomeOf({ race, hidden: new Set() }) ||
      (snapshot.state === "stopped" ? stoppedWords(race) : "");
    races.set(id, { race: snapshot, words });
    for (const old of [...races.keys()].slice(0, -REMEMBERED)) races.delete(old);
  });

  /** @param {Shown} other */
  function showBeside(other) {
    const a = races.get(single)?.race;
    const { state } = board;
    if (!a || !hasRace(state)) return;
    const shown = shownLanes(state).map(({ title }) => title);
    const titles = isPair(state.race.snapshot) ? shown.map((title) => title.slice(2)) : shown;
    display(pairOf(a, other, titles));
  }

  function open() {
    const { race } = board.state;
    if (!race || isOn(race) || document.querySelector("dialog[open]")) return;
    const template = query(root, ".earlier-template", HTMLTemplateElement);
    const dialog = query(templateCopy(template), "dialog", HTMLDialogElement);
    const a = races.get(single)?.race;
    /** @param {() => void} act */
    const closing = (act) => () => {
      dialog.close();
      act();
    };
    const rows = [...races.values()].reverse().map(({ race: one, words }) => {
      const { id, prompt, seed } = one;
      const fits = a !== undefined && canPair(a, one);
      return html`<tr>
        <td>
          <button
            class="earlier-show"
            type="button"
            aria-current=${id === race.snapshot.id}
            @click=${closing(() => display(one))}
          >
            ${prompt}
          </button>
        </td>
        <td>${seed}</td>
        <td>${words}</td>
        <td>
          <button
            class="earlier-beside"
            type="button"
            ?disabled=${!fits}
            title=${fits ? BESIDE : UNFIT}
            @click=${closing(() => showBeside(one))}
          >
            Beside
          </button>
        </td>
      </tr>`;
    });
    render(rows, query(dialog, "tbody"));
    query(dialog, ".earlier-none").hidden = rows.length > 0;
    query(dialog, "table").hidden = !rows.length;
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => {
      if (closest(event, ".earlier-close")) dialog.close();
    });
    query(root, ".board").append(dialog);
    dialog.showModal();
  }
  button.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "e" || isResting(event)) return;
    event.preventDefault();
    open();
  });
}
