// The finish: the lanes in the order of either clock, why the two orders differ, and the table of
// results.

import { make, sized } from "./dom.js";
import { inSeconds } from "./numbers.js";
import { finishers } from "./replay.js";

/**
 * Shown once the race is over; rebuilt once for each race.
 * @param {HTMLElement} panel @param {Snapshot} snapshot @param {Card[]} cards @param {boolean} over
 */
export function drawFinish(panel, snapshot, cards, over) {
  panel.hidden = !over || !snapshot.results.length;
  if (panel.hidden) return void delete panel.dataset.built;
  if (panel.dataset.built) return;
  panel.dataset.built = "1";
  for (const clock of /** @type {Clock[]} */ (["seconds", "passes"])) {
    const furthest = Math.max(...snapshot.lanes.map((lane) => lane[clock])) || 1;
    const rows = finishers(snapshot.lanes, clock).map((i) => {
      const lane = snapshot.lanes[i];
      const picture = sized(make("canvas"), 96, 96);
      picture.getContext("2d").drawImage(cards[i].picture.canvas, 0, 0, 96, 96);
      const runner = make(
        "span.runner",
        { style: `left: ${(100 * lane[clock]) / furthest}%` },
        picture,
      );
      return make(
        "li",
        make("b.rank", lane.places[clock] ?? ""),
        make("span.name", { title: lane.title }, lane.title),
        make("span.track", runner),
        make("span.value", clock === "seconds" ? `${inSeconds(lane.seconds)} s` : lane.passes),
      );
    });
    panel.querySelector(".by-" + clock).replaceChildren(...rows);
  }
  panel.querySelector(".why").textContent = whySentence(snapshot);
  panel.querySelector(".results").replaceChildren(...tableOf(snapshot));
}

// Why the two orders differ, with the figures of this race where it has them.
function whySentence({ lanes, results }) {
  const ar = results.find((row) => lanes[row.lane].decoder === "ar");
  const widest = [...results].sort((a, b) => b.pass_ms - a.pass_ms)[0];
  const rule =
    "Fewer passes are not proportionally fewer seconds. A pass over a window of 64 tokens costs about four passes over " +
    "a single token on a CPU, and almost one on a GPU.";
  if (!ar || widest === ar) return rule;
  const [slow, base] = [widest, ar].map((row) => lanes[row.lane].title);
  const ratio = (widest.pass_ms / ar.pass_ms).toFixed(1);
  return `${rule} Here a pass of ${slow} took ${ratio} times as long as one of ${base}.`;
}

const timesFaster = (value) => (value === null ? "–" : `${value.toFixed(2)}×`);
const badgeOf = (row, lane) =>
  lane.badge + (row.differs === null ? "" : `, but from token ${row.differs} on`);
const passesOf = (row) => [row.passes, row.drafter].filter(Boolean).join(" + ");
// Heading, its explanation, and a lane's value.
/** @type {[string, string, (row: Result, lane: LaneFacts) => string][]} */
const COLUMNS = [
  ["Lane", "", (_, lane) => lane.title],
  ["Badge", "What the lane promises about its picture", badgeOf],
  ["Step compression", "Committed tokens per forward pass", (row) => row.compression.toFixed(2)],
  [
    "Mean acceptance length",
    "Committed tokens per step, the last sampled token included",
    (row) => row.length.toFixed(2),
  ],
  ["NFE", "Forward passes of the model, and of its drafter", passesOf],
  ["Seconds", "On this device", (row) => inSeconds(row.seconds)],
  ["ms per pass", "Everything the lane did, per forward pass", (row) => row.pass_ms.toFixed(1)],
  [
    "Passes vs AR",
    "Speed-up over vanilla AR in forward passes",
    (row) => timesFaster(row.faster.passes),
  ],
  [
    "Seconds vs AR",
    "Speed-up over vanilla AR in seconds",
    (row) => timesFaster(row.faster.seconds),
  ],
];

function tableOf({ lanes, results }) {
  const head = COLUMNS.map(([name, title]) => make("th", name, { scope: "col", title }));
  const rows = results.map((row) => {
    const [name, ...values] = COLUMNS.map(([, , text]) => text(row, lanes[row.lane]));
    return make(
      "tr",
      make("th", name, { scope: "row" }),
      ...values.map((text) => make("td", text)),
    );
  });
  return [make("tr", ...head), ...rows];
}
