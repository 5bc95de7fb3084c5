// Two races that are over on one board: their lanes side by side, on one clock.

import { picturesOf } from "../trace/updates.js";
import { isFork } from "./fork.js";

const TWO_MACHINES = "A and B ran on different machines: compare their passes, not their seconds.";
const LANES = 4; // lanes of each race: on a stage eight stand in two rows, and each has a key

/**
 * Test whether a snapshot is of two races: no single race's id contains a "+".
 * @param {Snapshot} race
 */
export const isPair = ({ id = "" }) => id.includes("+");

/** @param {LaneSnapshot} lane */
const isFinished = ({ state }) => state === "finished";

/**
 * Say why two races cannot share a board; "" if they can. Both must draw the same cells of the same
 * grid with the same model, and each must have a finished lane. A fork counts as a race of whole
 * pictures. Races of two machines compare only by passes.
 * @param {Snapshot} a @param {Snapshot} b
 */
export function whyApart(a, b) {
  /** @param {Snapshot} race */
  const facts = ({ grid, cells, codes, infilling }) => {
    const part = infilling && !isFork(infilling) && [cells, infilling.known];
    return JSON.stringify([grid, codes, part || null]);
  };
  if (a.model !== b.model) return "Different model";
  if (facts(a) !== facts(b)) return "Different tokens drawn";
  if (![a, b].every(({ lanes }) => lanes.some(isFinished))) return "No lane finished";
  return "";
}

/**
 * Combine two races, A and B, into one. Take at most LANES finished lanes from each race: the lanes
 * with these titles, or else the first lanes. The pair has no verdict.
 * @param {Snapshot} a @param {Snapshot} b @param {string[]} titles @returns {Shown}
 */
export function pairOf(a, b, titles) {
  const lanes = [...lanesOf("A", a, titles), ...lanesOf("B", b, titles)];
  const together = a.machine === b.machine && a.apart === b.apart;
  /** @type {Shown} */
  const pair = {
    ...a,
    id: `${a.id}+${b.id}`,
    link: "",
    state: "finished",
    note: together ? "" : TWO_MACHINES,
    machine: together ? a.machine : "two machines",
    untimed: !together,
    elsewhere: false,
    recorded: false,
    bets: [],
    prompt: `A: ${inWords(a)}. B: ${inWords(b)}.`,
    infilling: String(a.infilling?.known) === String(b.infilling?.known) ? a.infilling : null,
    sampling: a.sampling === b.sampling ? a.sampling : `A: ${a.sampling}; B: ${b.sampling}`,
    lanes,
    results: [],
  };
  return { ...pair, paintings: picturesOf(pair) };
}

/** @param {Snapshot} race */
const inWords = ({ prompt, seed, infilling }) =>
  `${prompt}, seed ${seed}${isFork(infilling) ? ", a fork" : ""}`;

/** @param {string} name @param {Snapshot} race @param {string[]} titles */
function lanesOf(name, { lanes, cells, infilling }, titles) {
  const finished = lanes.filter(isFinished);
  const wanted = finished.filter(({ title }) => titles.includes(title));
  const chosen = (wanted.length ? wanted : finished).slice(0, LANES);
  return chosen.map((lane) => ({
    ...lane,
    own_cells: lane.own_cells.length ? lane.own_cells : cells,
    infilling,
    title: `${name} ${lane.title}`,
  }));
}
