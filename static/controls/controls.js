// The controls of the board: their wiring, and how the state is drawn in them.

import { attribute, closest, finder, queryAll } from "../dom.js";
import { clockName, onClock } from "../numbers.js";
import { referenceOf } from "../trace/layers.js";
import { CLOCKS, hasRace, isOn } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";
import { actsOf } from "./acts.js";
import { bindFlags } from "./flags.js";
import { SPEEDS, isMoving } from "./instants.js";
import { bindKeys } from "./keys.js";
import { drawLayers } from "./layer_buttons.js";
import { bindCanvas } from "./pointing.js";
import { bindBar, stopAt } from "./toolbar.js";

/**
 * Wire the board's controls to `go`. Return the functions that draw them.
 * @param {HTMLElement} root @param {Board} board
 */
export function bindControls(root, board) {
  const { state, go } = board;
  const part = finder(root);
  const acts = actsOf(root, board);
  const scrub = part("scrub", HTMLInputElement);
  const choices = bindChoices(part, board);
  bindButtons(part, board, acts);
  bindKeys(board, scrub, acts);
  root.addEventListener("click", (event) => {
    const term = closest(event, ".term");
    if (term instanceof HTMLElement) acts.help(term.dataset.entry);
  });
  const drawFlags = bindFlags(part("flags"), state, () => go({}));

  /** Bind the controls of the lanes, once for each race. @param {Card[]} cards */
  function bindLanes(cards) {
    if (!state.race) return;
    const { lanes } = state.race;
    choices.list(lanes, acts.show);
    cards.forEach((card, i) => {
      const end = () => go({ lane: i, step: lanes[i].count, playing: false });
      card.part("number").addEventListener("click", () => acts.show(i));
      card.part("post").addEventListener("click", end);
      bindCanvas(card.canvas, i, board);
    });
  }

  /**
   * Draw all controls, or only the controls that change with the instant.
   * @param {number} length of the scrubber, on the clock @param {boolean} all
   */
  function drawControls(length, all) {
    if (!hasRace(state)) return;
    if (all) {
      choices.draw(state);
      drawTransport(part, state, length);
    }
    const { race, clock, t } = state;
    if (scrub.max !== String(length || 1)) scrub.max = String(length || 1);
    if (Number(scrub.value) !== t) scrub.value = String(t);
    for (const bar of [scrub, part("hairline")])
      bar.style.setProperty("--share", String(length ? t / length : 0));
    attribute(scrub, "aria-valuetext", `${onClock(t, clock)} ${clockName(clock)}`);
    drawFlags(state, isOn(race) && state.live ? t : length, length);
  }

  return { bindLanes, drawControls };
}

/**
 * Wire the buttons and the scrubber.
 * @param {Finder} part @param {Board} board @param {Acts} acts
 */
function bindButtons(part, { go }, acts) {
  const scrub = part("scrub", HTMLInputElement);
  scrub.addEventListener("input", () => {
    const { value, max } = scrub;
    go({ playing: false });
    go(Number(value) < Number(max) ? { t: Number(value) } : { live: true });
  });
  /** @type {Record<string, (event: Event) => void>} */
  const clicks = {
    "previous-finish": () => acts.finish(true),
    "step-back": () => acts.step(true),
    play: acts.toggle,
    "step-on": () => acts.step(false),
    "next-finish": () => acts.finish(false),
    "live-button": () => go({ live: true }),
    "again-slowly": acts.slowly,
    "look-inside": () => acts.lookInside(true),
    fewer: () => acts.lookInside(false),
    stage: acts.stage,
    "speaker-open": acts.speaker,
    help: () => acts.help(),
    token: (event) => closest(event, ".token-close") && go({ cell: null }),
  };
  for (const [name, act] of Object.entries(clicks)) part(name).addEventListener("click", act);
}

/**
 * Wire the choices of layer, clock, lanes and speed. Return one function that lists a race's lanes
 * in the choices, and one that draws the choices.
 * @param {Finder} part @param {Board} board
 */
function bindChoices(part, { state, go }) {
  const member = part("member", HTMLSelectElement);
  const reference = part("reference", HTMLSelectElement);
  const speeds = part("speed", HTMLSelectElement);
  const stepping = part("stepping", HTMLSelectElement);
  const clocks = queryAll(part("clocks"), "button");
  drawLayers(part("layers"), member, state, go);
  for (const bar of ["layers", "shown", "clocks"]) bindBar(part(bar));
  for (const button of clocks) {
    const clock = CLOCKS.find((name) => name === button.dataset.clock);
    button.addEventListener("click", () => go({ clock }));
  }
  member.addEventListener("change", () => go({ layer: member.value }));
  reference.addEventListener("change", () => go({ against: Number(reference.value) }));
  speeds.append(...SPEEDS.map((each) => new Option(`${each}×`, String(each))));
  speeds.addEventListener("change", () => go({ speed: Number(speeds.value) }));
  stepping.addEventListener("change", () => {
    go({ stepping: stepping.value === "" ? null : Number(stepping.value) });
  });

  /** @param {Lane[]} lanes @param {(lane: number) => void} show */
  function list(lanes, show) {
    const buttons = lanes.map(
      ({ title }, i) =>
        html`<button
          type="button"
          title="Show or hide ${title} (${i + 1})"
          aria-label="Show ${title}"
          @click=${() => show(i)}
        >
          ${i + 1}
        </button>`,
    );
    render(buttons, part("shown"));
    stopAt(part("shown"), part("shown").firstElementChild);
    const options = lanes.map(({ title }, i) => html`<option value=${i}>${title}</option>`);
    render([html`<option value="">all</option>`, options], stepping);
    render(options, reference);
  }

  /** @param {Raced} raced */
  function draw({ race, clock, hidden, against }) {
    drawLayers(part("layers"), member, state, go);
    part("against").hidden = state.layer !== "differs";
    reference.value = String(referenceOf(race, against));
    for (const button of clocks) attribute(button, "aria-pressed", button.dataset.clock === clock);
    queryAll(part("shown"), "button").forEach((button, i) =>
      attribute(button, "aria-pressed", !hidden.has(i)),
    );
    speeds.value = String(state.speed);
    stepping.value = String(state.stepping ?? "");
  }
  return { list, draw };
}

/** @param {Finder} part @param {Raced} state @param {number} length */
function drawTransport(part, state, length) {
  attribute(part("stage"), "aria-pressed", state.present);
  attribute(part("stage"), "aria-label", state.present ? "Leave the stage" : "Full screen");
  const play = state.live && length ? "Play again" : "Play";
  attribute(part("play"), "aria-label", isMoving(state) ? "Pause" : play);
  attribute(part("play"), "data-moving", Number(isMoving(state)));
  part("live-button").hidden = state.live || state.race.snapshot.state !== "racing";
  for (const name of ["previous-finish", "step-back", "play", "step-on", "next-finish"])
    part(name, HTMLButtonElement).disabled = !length;
  part("scrub", HTMLInputElement).disabled = !length;
}
