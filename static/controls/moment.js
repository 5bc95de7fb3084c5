// A race, and a moment of it, as a link: its settings as a query (which the page sends with it),
// its id, and the board's state.

import { LAYERS } from "../trace/layers.js";
import { fitCosts, presetsOf } from "../trace/modelled_clock.js";
import { CLOCKS, clockAt, isOver, lanesOn, stepAt } from "../trace/replay.js";
import { isAtEnd, stepOf } from "./instants.js";

const LARGEST_COST = 1; // second of a cost, as the panel's sliders have it
const RACE_FIELDS = ["recorded", "race", "prompt"]; // fields that name a race
// Fields that are of no race.
const LASTING = /^(present|embed|view|logs|deep_link|header|footer|__.*)$/;

/** @param {Snapshot} snapshot */
const isRecorded = ({ link = "" }) => link.startsWith("?recorded=");
/** @param {Snapshot} snapshot */
const withId = ({ link, id }) => `${link ? `${link}&` : "?"}race=${id}`;

/**
 * Return the query of the page's address while a race is on the board. The query brings back the
 * race, or its settings.
 * @param {Snapshot} snapshot @param {string} before the page's query without a race
 */
export function addressOf(snapshot, before) {
  const lasting = [...new URLSearchParams(before)].filter(([name]) => LASTING.test(name));
  const rest = new URLSearchParams(lasting).toString();
  return (isRecorded(snapshot) ? (snapshot.link ?? "") : withId(snapshot)) + (rest && `&${rest}`);
}

/**
 * Return the query of a link to the board's present moment. The end of a race that is over is
 * `t=end`. Any other instant is a time on the board's clock in all its digits, because a step may
 * be at exactly that time. `costs` is the modelled clock's machine. `pass` is a lane and its
 * passes, because a race that is no longer kept is run again and takes other seconds.
 * @param {Raced} state
 */
export function writeMoment(state) {
  const { race, clock, costs, t, layer, cell, hidden } = state;
  const recorded = isRecorded(race.snapshot);
  const link = recorded ? race.snapshot.link : `${withId(race.snapshot)}&go=1`;
  const ends = isAtEnd(state);
  const { lane, step } = stepOf(state);
  const passes = clockAt(race.lanes[lane], "passes", step);
  const shown = lanesOn(state).map((i) => i + 1);
  const fields = [
    `clock=${clock}`,
    clock === "modelled" && `costs=${writeCosts(costs, isOver(race))}`,
    `t=${ends ? "end" : t}`,
    !recorded && !ends && clock !== "passes" && `pass=${lane + 1},${passes}`,
    `layer=${layer}`,
    cell?.pinned && `cell=${cell.lane + 1},${cell.cell}`,
    hidden.size && `lane=${shown.join()}`,
  ];
  return [link, ...fields.filter(Boolean)].join("&");
}

/**
 * Write the modelled clock's machine: its name, or a, b and d in seconds. A named machine's costs
 * are fitted to the race, and change until the race is over.
 * @param {State["costs"]} costs @param {boolean} over
 */
const writeCosts = ({ preset, pass, row, drafter }, over) =>
  (over && preset) || [pass, row, drafter].join();

/**
 * Read costs that `writeCosts` wrote. Return null if the text describes no machine.
 * @param {string} text @param {Lane[]} lanes @returns {State["costs"] | null}
 */
function readCosts(text, lanes) {
  const known = presetsOf(fitCosts(lanes)).find(({ name }) => name === text);
  if (known) return { ...known.costs, preset: known.name };
  const costs = text.split(",").map(Number);
  const [pass, row, drafter] = costs;
  const possible = costs.length === 3 && costs.every((cost) => cost >= 0 && cost <= LARGEST_COST);
  return possible && pass > 0 ? { pass, row, drafter, preset: null } : null;
}

/**
 * Test whether a page's query, `asked`, is about the race of `link`. The query of an embedded board
 * that names no race counts, because such a board opens with a race of its own.
 * @param {string} link @param {string} asked
 */
export function isLinked(link, asked) {
  const here = new URLSearchParams(asked);
  if (here.has("embed") && !RACE_FIELDS.some((name) => here.has(name))) return true;
  const fields = [...new URLSearchParams(link)];
  return fields.length > 0 && fields.every(([name, value]) => here.get(name) === value);
}

/**
 * Read the change that a page's query asks of the board. Leave out what this race cannot show.
 * @param {string} asked @param {Race} race
 * @returns {Change}
 */
export function readMoment(asked, { snapshot, lanes, cells }) {
  const fields = new URLSearchParams(asked);
  /** @param {string} name */
  const numbers = (name) => (fields.get(name) ?? "").split(",").map((text) => parseInt(text, 10));
  const clock = CLOCKS.find((name) => name === fields.get("clock"));
  const costs = readCosts(fields.get("costs") ?? "", lanes);
  const layer = LAYERS.find(({ name }) => name === fields.get("layer"))?.name;
  const t = fields.get("t") ?? "";
  const [lane, cell] = numbers("cell");
  const names = (fields.get("lane") ?? fields.get("shown") ?? "").split(","); // shown: older links
  /** @param {LaneFacts} lane @param {number} i */
  const isNamed = ({ decoder }, i) => names.includes(decoder) || names.includes(String(i + 1));
  const others = lanes.flatMap((lane, i) => (isNamed(lane, i) ? [] : i));
  /** @type {Change} */
  const change = {};
  if (clock) change.clock = clock;
  if (costs) change.costs = costs;
  if (layer) change.layer = layer;
  if (others.length < lanes.length) change.hidden = new Set(others);
  if (lane >= 1 && lane <= lanes.length && cell >= 0 && cell < cells)
    change.cell = { lane: lane - 1, cell, pinned: true };
  const again = fields.has("race") && fields.get("race") !== snapshot.id; // it is run again
  const [runner, passes] = numbers("pass");
  const known = runner >= 1 && runner <= lanes.length && passes >= 0;
  if (t === "end") change.live = true;
  else if (again && clock !== "passes" && known) {
    change.lane = runner - 1;
    change.step = stepAt(lanes[change.lane], "passes", passes);
    change.playing = false;
  } else if (t && Number(t) >= 0) {
    change.t = Number(t);
    change.playing = false;
  }
  return change;
}
