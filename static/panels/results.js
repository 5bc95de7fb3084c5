// A finished race in words and as a table: the verdict, why the clocks differ, the results.

import { countOf, inSeconds, percent } from "../numbers.js";
import { boundOf, lengthOf } from "../trace/replay.js";
import { html, nothing } from "../vendor/lit-html.js";

// Lanes whose seconds differ by less than this share may change places in another run.
const NOISE = 0.02;
const WIDER = 1.2; // times as many tokens a pass that explain a longer pass
const TARGET_LAYERS = { embedded: 6, "LlamaGen-XL": 36 }; // a drafter is one such layer

/** Return the mean number of rows in a lane's windows. @param {Lane} lane */
export const rowsPerPass = ({ steps }) =>
  steps.reduce((sum, step) => sum + step.rows, 0) / steps.length;
/** Return the mean milliseconds of a lane's forward pass. @param {Lane} lane */
export const forwardMs = ({ split, passes }) => (1000 * split[0]) / passes;

/** @param {Lane[]} lanes */
const titlesOf = (lanes) => lanes.map(({ title }) => title).join(" and ");
/**
 * Return the lanes with the smallest value of `of`, and the lanes whose value is larger by at most
 * the share `noise`.
 * @param {Lane[]} lanes @param {(lane: Lane) => number} of
 */
function least(lanes, of, noise = 0) {
  const best = Math.min(...lanes.map(of));
  return lanes.filter((lane) => of(lane) <= best * (1 + noise));
}

/**
 * Return the results of the lanes that are shown.
 * @param {Pick<Raced, "race" | "hidden">} state
 */
const resultsOf = ({ race, hidden }) =>
  race.snapshot.results.filter(({ lane }) => !hidden.has(lane));

/**
 * Say which of the shown lanes had the fewest passes and which the fewest seconds, and why if the
 * two differ. Say which lanes drew vanilla AR's own picture in less time. Return "" before the end,
 * or with fewer than two results.
 * @param {Pick<Raced, "race" | "hidden">} state
 */
export function outcomeOf(state) {
  const { snapshot, lanes } = state.race;
  const results = resultsOf(state);
  const done = results.map((row) => lanes[row.lane]);
  if (done.length < 2) return "";
  const fewest = least(done, (lane) => lane.passes);
  const fastest = least(done, timeOf, NOISE);
  const ar = done.find(({ decoder }) => decoder === "ar");
  const same = results
    .filter((row) => lanes[row.lane].badge.startsWith("identical") && row.differs === null)
    .map((row) => lanes[row.lane])
    .filter((lane) => ar && lane.decoder !== "ar" && timeOf(lane) * (1 + NOISE) < timeOf(ar));
  const time = inSeconds(Math.min(...fastest.map(timeOf)));
  const tie = fastest.length > 1 ? "too near to call, " : "";
  const here = snapshot.recorded ? "" : " here";
  const slower = fewest.some((lane) => fastest.includes(lane)) ? null : fewest[0];
  const why = slower
    ? ` ${slownessOf(slower, fastest[0])}, so ${titlesOf(fewest)} ${fewest.length > 1 ? "were" : "was"} not fastest${here}.`
    : "";
  const each = fewest.length > 1 ? " each" : "";
  const sentences = [
    `Fewest passes: ${titlesOf(fewest)}, with ${fewest[0].passes}${each}.${why}`,
    `Fastest${here}: ${titlesOf(fastest)}, ${tie}in ${time} s.`,
  ];
  if (ar && same.length)
    sentences.push(`Same picture as ${ar.title} in less time: ${titlesOf(same)}.`);
  return sentences.join(" ");
}
/** @param {Lane} lane */
const timeOf = (lane) => lane.seconds;

/**
 * Say why a lane with fewer passes took longer than the lane `faster`.
 * @param {Lane} lane @param {Lane} faster
 */
function slownessOf(lane, faster) {
  const rows = rowsPerPass(lane);
  if (lane.drafter) return `${lane.title}'s small network also ran ${lane.drafter} times`;
  if (rows > WIDER * rowsPerPass(faster))
    return `Each of its passes read ${countOf(Math.round(rows), "token", "tokens")}`;
  const ratio = timeOf(lane) / lane.passes / (timeOf(faster) / faster.passes);
  return `Each of its passes took ${ratio.toFixed(1)} times as long as a pass of ${faster.title}`;
}

/** Say when a race was stopped. @param {Race} race */
export function stoppedWords(race) {
  const seconds = lengthOf(race, "seconds");
  return seconds ? `Stopped at ${inSeconds(seconds)} s.` : "Stopped before it began.";
}

/**
 * Say why the clocks' orders differ, with figures of the lanes that are shown.
 * @param {Raced} state
 */
export function whySentence(state) {
  const { snapshot, lanes } = state.race;
  const done = resultsOf(state).map((row) => lanes[row.lane]);
  const ar = done.find(({ decoder }) => decoder === "ar");
  const widest = [...done].sort((a, b) => rowsPerPass(b) - rowsPerPass(a))[0];
  const rule =
    "Half the passes does not mean half the seconds. More rows make a pass longer, far more so on a CPU than on " +
    "a GPU. A lane also takes time to verify and to draft.";
  const words = [rule];
  if (ar && widest !== ar) {
    const ratio = (forwardMs(widest) / forwardMs(ar)).toFixed(1);
    const compared = Number(ratio) > 1 ? `${ratio} times as long as` : "no longer than";
    words.push(
      `Here a pass of ${widest.title}, over ${rowsPerPass(widest).toFixed(1)} rows on average, ` +
        `took ${compared} a pass of ${ar.title} over one row.`,
    );
  }
  return [
    ...words,
    ...done.filter((lane) => lane.drafter).map((lane) => drafterWords(lane, snapshot.model)),
  ].join(" ");
}

// Say what share of a lane's seconds its drafter took. The embedded model is so small that its
// drafter is large beside it.
/** @param {Lane} lane @param {string} model */
function drafterWords(lane, model) {
  const { title, drafter, split } = lane;
  const total = split.reduce((sum, part) => sum + part, 0);
  const each = (split[3] / drafter / (split[0] / lane.passes)).toFixed(2);
  const own =
    `${title}'s small network took ${percent(split[3], total)} of the lane's seconds: it made ${countOf(drafter, "pass", "passes")}, ` +
    `each ${each} times as long as a pass of the model.`;
  if (model !== "embedded") return own;
  return (
    `${own} That network has one layer. The model that draws here has ${TARGET_LAYERS.embedded}, and LlamaGen-XL, ` +
    `the paper's model, has ${TARGET_LAYERS["LlamaGen-XL"]}.`
  );
}

/** @param {number | null} value */
const timesFaster = (value) => (value === null ? "–" : `${value.toFixed(2)}×`);
/** @param {Result} row @param {Lane} lane */
function badgeOf({ equal, differs }, lane) {
  if (equal === null) return lane.badge;
  const first = differs === null ? "" : `; the first difference is token ${differs}`;
  return `${lane.badge}: ${equal} of ${lane.total} tokens equal${first}`;
}

/**
 * Return the columns of the table of results: a heading, its explanation, and a function that
 * writes a lane's value.
 * @param {Race} race
 * @returns {[string, string, (row: Result, lane: Lane) => string | number][]}
 */
function columnsOf({ snapshot: { recorded, results }, lanes }) {
  /** @typedef {[string, string, (row: Result, lane: Lane) => string | number]} Column */
  /** @type {Column[]} */
  const bounds = results.some(({ lane }) => boundOf(lanes[lane]))
    ? [
        [
          "At most",
          "Largest number of passes that the lane can take",
          (_, lane) => boundOf(lane) ?? "",
        ],
      ]
    : [];
  /** @type {Column[]} */
  const drafts = results.some((row) => row.drafter)
    ? [["Drafter's passes", "Passes of the small network that drafts", (row) => row.drafter || ""]]
    : [];
  /** @type {Column[]} */
  const steps = results.some((row) => row.length !== row.compression)
    ? [["Tokens a step", "Mean acceptance length", (row) => row.length.toFixed(2)]]
    : [];
  return [
    ["Lane", "", (_, lane) => lane.title],
    ["Badge", "The lane's promise about its picture", badgeOf],
    ["Passes", "Forward passes of the model; NFE in the papers", (row) => row.passes],
    ...bounds,
    ...drafts,
    [
      "Tokens a pass",
      "Committed tokens per forward pass; step compression in the papers",
      (row) => row.compression.toFixed(2),
    ],
    ...steps,
    [
      "Rows a pass",
      "Mean rows of a pass's window: passes are not equal work",
      (_, lane) => rowsPerPass(lane).toFixed(1),
    ],
    [
      "Rows a token",
      "Rows that the model read per committed token: its work",
      (row, lane) => (rowsPerPass(lane) / row.compression).toFixed(1),
    ],
    [
      "Seconds",
      recorded ? "On the machine named above" : "On this device",
      (row) => inSeconds(row.seconds),
    ],
    [
      "ms a pass",
      "All of the lane's time, in milliseconds per forward pass",
      (row) => row.pass_ms.toFixed(1),
    ],
    [
      "ms a forward pass",
      "The model's forward pass alone, in milliseconds",
      (_, lane) => forwardMs(lane).toFixed(1),
    ],
    [
      "Passes vs AR",
      "Vanilla AR's passes divided by this lane's",
      (row) => timesFaster(row.faster.passes),
    ],
    [
      "Seconds vs AR",
      "Vanilla AR's seconds divided by this lane's",
      (row) => timesFaster(row.faster.seconds),
    ],
  ];
}

/** Return the rows of the table of results for the lanes that are shown. @param {Raced} state */
export function tableOf(state) {
  const { snapshot } = state.race;
  const race = { ...state.race, snapshot: { ...snapshot, results: resultsOf(state) } };
  const columns = columnsOf(race);
  const head = columns.map(
    ([name, title]) => html`<th scope="col" title=${title || nothing}>${name}</th>`,
  );
  const rows = race.snapshot.results.map((row) => {
    const [name, ...values] = columns.map(([, , text]) => text(row, race.lanes[row.lane]));
    const cells = values.map((text) => html`<td>${text}</td>`);
    return html`<tr>
      <th scope="row">${name}</th>
      ${cells}
    </tr>`;
  });
  return [
    html`<tr>
      ${head}
    </tr>`,
    rows,
  ];
}
