// The panel of the modelled clock: the machines to choose from, a slider for each cost, and which
// lane wins.

import { finder, say } from "../dom.js";
import { inMilliseconds, lastOf } from "../numbers.js";
import { fitCosts, presetsOf, verdictOf } from "../trace/modelled_clock.js";
import { hasRace, shownLanes } from "../trace/replay.js";
import { html, render } from "../vendor/lit-html.js";

const STEPS = 1000; // of a slider: 0 is no cost, and from 1 on the cost's logarithm grows evenly
/** @type {{name: keyof Costs, letter: string, title: string, least: number, most: number}[]} */
const COSTS = [
  { name: "pass", letter: "a", title: "a pass", least: 1e-4, most: 1 },
  { name: "row", letter: "b", title: "each row of its window", least: 1e-6, most: 0.1 },
  { name: "drafter", letter: "d", title: "a pass of the drafter", least: 1e-5, most: 1 },
];

/**
 * Return a slider's place, 0 to STEPS, for a cost in seconds.
 * @param {number} seconds @param {{ least: number, most: number }} cost
 */
export function placeOf(seconds, { least, most }) {
  const share = Math.log(seconds / least) / Math.log(most / least);
  return Math.min(STEPS, Math.max(0, 1 + Math.round((STEPS - 1) * share)));
}
/**
 * Return the seconds that a slider's place stands for.
 * @param {number} place @param {{ least: number, most: number }} cost
 */
export const secondsAt = (place, { least, most }) =>
  place > 0 ? least * (most / least) ** ((place - 1) / (STEPS - 1)) : 0;

/**
 * Return the function that draws the panel.
 * @param {HTMLElement} panel @param {Board} board
 */
export function bindModelled(panel, { state, go }) {
  const part = finder(panel);

  return function drawModelled() {
    const { clock, costs } = state;
    panel.hidden = clock !== "modelled";
    if (panel.hidden || !hasRace(state)) return;
    const { lanes } = state.race;
    const presets = presetsOf(fitCosts(lanes));
    const buttons = presets.map(({ name, title }) => {
      const choose = () => go({ costs: { ...costs, preset: name } });
      return html`<button
        type="button"
        data-preset=${name}
        aria-pressed=${name === costs.preset}
        @click=${choose}
      >
        ${title}
      </button>`;
    });
    render(buttons, part("presets"));
    const drafts = lanes.some((lane) => lane.count > 0 && lastOf(lane.steps).drafted > 0);
    const shown = COSTS.filter(({ name }) => name !== "drafter" || drafts);
    render(
      shown.map((cost) => slider(cost, costs, go)),
      part("costs"),
    );
    const own = "Your own machine: a pass costs a + b × the rows of its window.";
    say(part("model-words"), presets.find(({ name }) => name === costs.preset)?.words ?? own);
    say(part("verdict"), verdictOf(shownLanes(state)));
  };
}

/**
 * @param {(typeof COSTS)[number]} cost @param {State["costs"]} costs
 * @param {(change: Change) => void} go
 */
function slider(cost, costs, go) {
  const { name, letter, title } = cost;
  const words = inMilliseconds(costs[name]);
  /** @param {Event} event */
  const change = ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    go({ costs: { ...costs, preset: null, [name]: secondsAt(Number(target.value), cost) } });
  };
  return html`<label class="cost">
    <span><b>${letter}</b> ${title}</span>
    <input
      type="range"
      min=${name === "pass" ? 1 : 0 /* no pass is for nothing */}
      max=${STEPS}
      step="1"
      .value=${String(placeOf(costs[name], cost))}
      aria-label="${letter}: ${title}"
      aria-valuetext="${words} milliseconds"
      @input=${change}
    />
    <span class="cost-value" aria-hidden="true">${words} ms</span>
  </label>`;
}
