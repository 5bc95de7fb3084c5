// What the page's modules say of data on standard input, for tests in Python:
// `node report.js <what>`.

import { argv, stdin } from "node:process";
import { json } from "node:stream/consumers";

import * as layers from "../../static/trace/layers.js";
import { hashOf, hashesOf, laneAt, stepAt } from "../../static/trace/replay.js";
import { readRace } from "../../static/trace/step_table.js";
import { prose } from "./prose.js";

const indices = (length) => [...Array(length).keys()];
const drawn = (lane, k) => hashesOf(lane, laneAt(lane, k));

const reports = {
  // What the board says in sentences.
  prose: () => prose,

  replays: (races) => races.map(reports.replay),

  hash: hashOf,

  // Ends with an error where a script does not parse.
  parse(scripts) {
    for (const script of scripts) new Function("element", "props", script);
    return "parsed";
  },

  // The hashes of every lane after every one of its steps, from a wire received snapshot by
  // snapshot, and from the last alone.
  replay(shots) {
    const live = shots[0].lanes.map(() => []);
    let race = null;
    for (const shot of shots) {
      race = readRace(shot, race);
      race.lanes.forEach((lane, i) => {
        for (let k = live[i].length; k <= lane.count; k++) live[i].push(drawn(lane, k));
      });
    }
    const whole = readRace(shots.at(-1), null);
    const replayed = whole.lanes.map((lane) => indices(lane.count + 1).map((k) => drawn(lane, k)));
    return [live, replayed];
  },

  // All that the layers show of a race, after every step.
  layers(shot) {
    const race = readRace(shot, null);
    const reference = race.lanes[layers.referenceOf(race, null)];
    const named = layers.LAYERS.filter(({ kind }) => kind !== "picture").map(({ name }) => name);
    const shown = (lane, view, cells) => (name) => [
      name,
      cells.map((cell) => layers.layerValue(lane, view, cell, name, reference)),
    ];
    const ranges = layers.LAYERS.map((layer) => [layer.name, layers.rangeOf(race, layer)]);
    return {
      ranges: Object.fromEntries(ranges),
      lanes: race.lanes.map((lane) =>
        indices(lane.count + 1).map((k) => {
          const view = laneAt(lane, k);
          const cells = [...lane.order.slice(0, view.n), ...view.drafts];
          return {
            ...view,
            cells,
            drafts: view.drafts.length,
            differs: layers.differing(lane, view, reference),
            at: ["seconds", "passes"].map((clock) => stepAt(lane, clock, view[clock] + 1e-9)),
            values: Object.fromEntries(named.map(shown(lane, view, cells))),
          };
        }),
      ),
    };
  },

  // Colours of shares on each scale, and places of counts on ranges.
  scales: ({ shares, counts }) => ({
    colours: layers.LAYERS.filter(({ scale }) => scale).map(({ scale }) =>
      shares.map((share) => layers.colourOf(scale, share)),
    ),
    counts: counts.map(([values, range]) => values.map((value) => layers.countShare(value, range))),
  }),
};

console.log(JSON.stringify(reports[argv[2]](await json(stdin))));
