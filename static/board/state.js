// The board's state, from which everything on it is drawn, and how a change is applied to it.

import { sameInstant } from "../controls/instants.js";
import { isPhone } from "../stage/stage.js";
import { fitCosts, modelLanes, presetsOf } from "../trace/modelled_clock.js";
import { clockAt, hasRace } from "../trace/replay.js";

/** Return the state of a board without a race. @returns {State} */
export function newState() {
  return {
    race: null,
    clock: "seconds",
    costs: { preset: "fitted", pass: 0, row: 0, drafter: 0 },
    t: 0,
    playing: false,
    speed: 1,
    live: true,
    layer: "picture",
    hidden: new Set(),
    cell: null,
    against: null,
    bet: null,
    pressed: "",
    stepping: null,
    present: false,
    hall: [],
    front: -1,
    inside: true,
    spread: false,
  };
}

/**
 * Set the modelled clock of a race's lanes. A named machine gets the costs that fit this race.
 * `costs` without a name are seconds, which are used as they are.
 * @param {State} state @param {Lane[]} lanes @param {State["costs"]} costs
 */
export function remodel(state, lanes, costs) {
  const presets = presetsOf(fitCosts(lanes));
  const named = presets.find(({ name }) => name === costs.preset);
  state.costs = { ...(named?.costs ?? costs), preset: costs.preset };
  modelLanes(lanes, state.costs);
}

/**
 * Apply a change to the state. Return whether to lay the lanes out again.
 * @param {State} state @param {Playback} playback that moves its instant
 * @param {Change} change
 */
export function applyChange(state, playback, change) {
  const { lane, step, t, live, playing, clock, costs, ...plain } = change;
  if (!hasRace(state)) {
    Object.assign(state, plain);
    state.clock = clock ?? state.clock;
    state.costs = costs ?? state.costs;
    return false;
  }
  if (costs) changeCosts(state, playback, costs);
  if (clock && clock !== state.clock) {
    state.t = sameInstant(state, clock);
    state.clock = clock;
  }
  Object.assign(state, plain);
  if (plain.hidden) state.hidden = new Set(plain.hidden);
  if (plain.cell?.pinned) state.front = plain.cell.lane;
  if (live) playback.catchUp();
  if (lane !== undefined && step !== undefined)
    playback.moveTo(clockAt(state.race.lanes[lane], state.clock, step));
  if (t !== undefined) playback.moveTo(t);
  if (playing !== undefined) playback.play(playing);
  const arranging = ["hidden", "present", "inside", "spread"];
  const chosen = "front" in plain || plain.cell?.pinned;
  if (chosen && (isPhone(state) || !state.inside)) return true;
  return arranging.some((name) => name in plain);
}

/**
 * Change the modelled machine's costs. On the modelled clock the instant keeps its share of the
 * race.
 * @param {Raced} state @param {Playback} playback @param {State["costs"]} costs
 */
function changeCosts(state, playback, costs) {
  const before = playback.length;
  remodel(state, state.race.lanes, costs);
  if (state.clock === "modelled") state.t = before ? (state.t / before) * playback.length : 0;
}
