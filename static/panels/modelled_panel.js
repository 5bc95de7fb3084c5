// The panel of the modelled clock: the machines to choose from, a slider for each cost, and which
// lane wins.

import { attribute, finder, make, queryAll, say } from "../dom.js";
import { inMilliseconds, lastOf } from "../numbers.js";
import { fitCosts, presetsOf, verdictOf } from "../trace/modelled_clock.js";
import { hasRace, lanesOn } from "../trace/replay.js";

const STEPS = 1000; // of a slider: 0 is no cost, and from 1 on the cost's logarithm grows evenly
/** @type {{name: keyof Costs, letter: string, title: string, least: number, most: number}[]} */
const COSTS = [
  { name: "pass", letter: "a", title: "a pass", least: 1e-4, most: 1 },
  { name: "row", letter: "b", title: "each row of its window", least: 1e-6, most: 0.1 },
  { name: "drafter", letter: "d", title: "a pass of the drafter", least: 1e-5, most: 1 },
];

/**
 * A slider's place, 0 to STEPS, for so many seconds.
 * @param {number} seconds @param {{ least: number, most: number }} cost
 */
export function placeOf(seconds, { least, most }) {
  const share = Math.log(seconds / least) / Math.log(most / least);
  return Math.min(STEPS, Math.max(0, 1 + Math.round((STEPS - 1) * share)));
}
/**
 * The seconds that a slider's place stands for.
 * @param {number} place @param {{ least: number, most: number }} cost
 */
export const secondsAt = (place, { least, most }) =>
  place > 0 ? least * (most / least) ** ((place - 1) / (STEPS - 1)) : 0;

/**
 * Fills the panel and wires it to `go`. Returns what draws it as the state is.
 * @param {HTMLElement} panel @param {Board} board
 */
export function bindModelled(panel, { state, go }) {
  const part = finder(panel);
  const sliders = COSTS.map((cost) => {
    const { name, letter, title } = cost;
    const value = make("span.cost-value", { "aria-hidden": "true" });
    const min = name === "pass" ? 1 : 0; // no pass is for nothing
    const range = make("input", {
      type: "range",
      min,
      max: STEPS,
      step: 1,
      "aria-label": `${letter}: ${title}`,
    });
    const change = () => {
      const seconds = secondsAt(Number(range.value), cost);
      go({ costs: { ...state.costs, preset: null, [name]: seconds } });
    };
    range.addEventListener("input", change);
    const label = make("label.cost", make("span", make("b", letter), ` ${title}`), range, value);
    part("costs").append(label);
    return { ...cost, label, range, value };
  });

  return function drawModelled() {
    const { clock, costs, hidden } = state;
    panel.hidden = clock !== "modelled";
    if (panel.hidden || !hasRace(state)) return;
    const { race } = state;
    const { pass, row, drafter, preset } = costs;
    const { seq, prompt, seed } = race.snapshot;
    const states = race.lanes.map((lane) => lane.state);
    const shown = [seq, prompt, seed, preset, pass, row, drafter, ...states, ...hidden].join();
    if (panel.dataset.shown === shown) return;
    panel.dataset.shown = shown;
    const presets = presetsOf(fitCosts(race.lanes));
    const buttons = presets.map(({ name, title }) => {
      const onclick = () => go({ costs: { ...state.costs, preset: name } });
      return make("button", title, { type: "button", "data-preset": name, onclick });
    });
    if (!part("presets").children.length) part("presets").append(...buttons);
    for (const button of queryAll(part("presets"), "button"))
      attribute(button, "aria-pressed", button.dataset.preset === preset);
    const drafts = race.lanes.some((lane) => lane.count > 0 && lastOf(lane.steps).drafted > 0);
    for (const { name, label, range, value, ...cost } of sliders) {
      label.hidden = name === "drafter" && !drafts;
      const place = placeOf(costs[name], cost);
      if (Number(range.value) !== place) range.value = String(place);
      const words = inMilliseconds(costs[name]);
      say(value, `${words} ms`);
      attribute(range, "aria-valuetext", `${words} milliseconds`);
    }
    const own = "Your own machine: a pass costs a + b × the rows of its window.";
    say(part("model-words"), presets.find(({ name }) => name === preset)?.words ?? own);
    say(part("verdict"), verdictOf(lanesOn(state).map((i) => race.lanes[i])));
  };
}
