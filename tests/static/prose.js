// All that the board says in sentences of races that are written by hand: sections with a title and
// their lines, for the snapshot tests/prose.txt.

import * as announce from "../../static/board/announce.js";
import { betInWords, tallyInWords } from "../../static/board/bet.js";
import { announceMask } from "../../static/form/mask.js";
import { outcomeOf, whySentence } from "../../static/panels/results.js";
import { tourOf } from "../../static/tour/chapters.js";
import { overlapInWords } from "../../static/tour/overlap_picture.js";
import { questionsOf } from "../../static/tour/questions.js";
import { DID, experimentInWords, lifeOf, shiftInWords } from "../../static/trace/explain.js";
import { stepInWords, whyToken } from "../../static/trace/explain.js";
import { modelLanes, presetsOf, verdictOf } from "../../static/trace/modelled_clock.js";
import { shiftOutside, whyOutside } from "../../static/trace/outside.js";
import { seenInWords } from "../../static/trace/neighbours.js";
import { laneAt } from "../../static/trace/replay.js";
import { candidates, refined, row, weighed } from "./rows.js";
import * as races from "./tour/races.js";
import {
  Wire,
  filledIn,
  forked,
  laneOf,
  plain,
  raceOf,
  range,
  rolling,
  threeSteps,
} from "./wire.js";

const { ACCEPTED, RESAMPLED, FRESH, FORCED, REFINED, REJECTED, DROPPED } = DID;

/** What is said of a life, and in short of its last row. */
function sentences(rule, ...life) {
  const short = life.length ? `\n  in short: ${stepInWords(rule, life.at(-1))}` : "";
  return plain(whyToken(rule, life) + short);
}

const group = (count, p, q) => ({ count, p, q, tokens: [77, ...range(count - 1)] });
const certain = { topDraft: [[77, 1]] };
const instead = { token: 8 };
const inBlock = { acceptance: 0.4, p: 0.2, q: 0.1 };
const again = (known) => row(REFINED, { at: 12, uniform: 0.1, acceptance: 0.5, ...known });
const redrawn = row(REJECTED, { at: 13, token: 9, uniform: 0.9, acceptance: 0.5 });
const first = row(REFINED, { at: 11, draft: null });
const dropped = (at) => row(DROPPED, { at, draft: 5, token: 5 });
const tree = [
  [0.1, 0.5, 0.6],
  [0.2, 0.4, 0.3],
];
const typical = (status, p, acceptance, known = {}) =>
  weighed(status, p, 1, 0.5, { acceptance, group: group(1, p, 0.0412), ...known });

const lives = {
  "any rule": [
    ["sjd"],
    ["sjd", row(FORCED)],
    ["sjd", first],
    ["sjd", ...refined(2)],
    ["sjd", ...refined(1), row(ACCEPTED)],
  ],
  "vanilla AR": [
    [
      "ar",
      row(FRESH, {
        draft: null,
        top: [
          [3, 0.5],
          [77, 0.25],
        ],
      }),
    ],
    ["ar", row(FRESH, { draft: null })],
  ],
  "Jacobi and the fixed point": [
    ["jacobi", ...refined(2), row(ACCEPTED, { acceptance: 0.25 })],
    ["jacobi", ...refined(2), row(RESAMPLED, instead)],
    ["fpi", ...refined(2), row(ACCEPTED)],
    ["fpi", ...refined(2), row(RESAMPLED, instead)],
  ],
  SJD: [
    ["sjd", ...refined(3), weighed(ACCEPTED, 0.12, 0.16, 0.31)],
    ["sjd", ...refined(1), weighed(ACCEPTED, 0.5, 0.25, 0.999)],
    ["sjd", ...refined(1), weighed(RESAMPLED, 0.05, 0.16, 0.91, instead)],
    ["sjd", weighed(ACCEPTED, 0.4, 1, 0.1, certain)],
    ...[0, 1, 4].map((ahead) => ["sjd", row(FRESH, { draft: null, ahead })]),
  ],
  blocks: [
    ["block", ...refined(1), row(ACCEPTED, { ...inBlock, uniform: 0.7 })],
    ["block", ...refined(1), row(ACCEPTED, { ...inBlock, uniform: 0.1 })],
    ["block", ...refined(1), row(RESAMPLED, { ...inBlock, uniform: 0.7, ...instead })],
  ],
  runs: [
    ["runs", ...refined(1), row(ACCEPTED, { ...inBlock, uniform: 0.7 })],
    ["runs", ...refined(1), row(RESAMPLED, { ...inBlock, uniform: 0.7, ...instead })],
  ],
  "from the leaves up": [
    ["traversal", ...refined(1), row(ACCEPTED, { ...inBlock, uniform: 0.7 })],
    ["traversal", ...refined(1), row(RESAMPLED, { ...inBlock, uniform: 0.7, ...instead })],
    ["traversal", row(ACCEPTED, { ...inBlock, candidates: candidates(...tree) })],
    ["traversal", row(ACCEPTED, { candidates: candidates(tree[0], tree[1], tree[0]) })],
    ["traversal", row(RESAMPLED, { ...instead, candidates: candidates(tree[0], tree[0]) })],
  ],
  "Auto-correct": [
    ["auto-correct", weighed(RESAMPLED, 0.05, 1, 0.31, { ...certain, ...instead })],
    ["auto-correct", first, again(), redrawn, row(ACCEPTED, { acceptance: 1 })],
  ],
  "typical acceptance": [
    ["typical", ...refined(1), typical(ACCEPTED, 0.05, 1)],
    ["typical", typical(RESAMPLED, 0.04118, 0, instead)],
    ["typical", typical(RESAMPLED, 0.04118, 0)],
  ],
  GSD: [
    ["gsd", weighed(ACCEPTED, 0.01, 0.1, 0.31, { acceptance: 1, group: group(9, 0.42, 0.4) })],
    ["gsd", weighed(ACCEPTED, 0.09, 0.1, 0.31, { acceptance: 1, group: group(9, 0.42, 0.4) })],
    ["gsd", weighed(ACCEPTED, 0.09, 0.1, 0.31, { group: group(1, 0.09, 0.1) })],
  ],
  LANTERN: [
    [
      "lantern",
      dropped(12),
      dropped(13),
      weighed(ACCEPTED, 0.02, 0.16, 0.5, { acceptance: 0.75, group: group(4, 0.12, 0.16) }),
    ],
    [
      "lantern",
      weighed(RESAMPLED, 0.02, 0.16, 0.9, {
        token: 6,
        acceptance: 0.75,
        group: group(4, 0.12, 0.16),
      }),
    ],
    ["lantern", dropped(12)],
  ],
  "SJD-PAC": [
    ["sjd-pac", first, again()],
    ["sjd-pac", first, again(), redrawn],
    ["sjd-pac", first, again(), redrawn, row(ACCEPTED, { candidates: candidates(...tree) })],
    ["sjd-pac", row(ACCEPTED, { candidates: candidates(tree[0], [0, 0.4, 0.3], tree[1]) })],
    ["sjd-pac", row(RESAMPLED, { ...instead, candidates: candidates(tree[0], [0.1, 0.4, 0.3]) })],
    ["sjd-pac", weighed(ACCEPTED, 0.3, 0.5, 0.2, { candidates: candidates([0.3, 0.5, 0.2]) })],
    ["sjd-pac", first, again(), row(FRESH, { draft: null, ahead: 2, top: [[77, 0.3]] })],
  ],
  "parts that are filled in": ["assd", "parallel"].flatMap((decoder) => {
    const [lane] = filledIn(decoder).lanes;
    return [4, 0].map((cell) => [decoder, ...lifeOf(lane, cell, lane.count)]);
  }),
};

const rejected = weighed(RESAMPLED, 0.2, 0.5, 0.7, { draft: 5, token: 8 });
const accepted = weighed(ACCEPTED, 0.2, 0.5, 0.1, { draft: 5, token: 5 });
const kept = row(REFINED, { draft: 5, token: 5, uniform: 0.1, acceptance: 0.5 });
const failed = row(RESAMPLED, { token: 8, candidates: candidates(tree[0], [0.2, 0.4, 0.7]) });
const experiments = [
  [rejected, 0.7],
  [rejected, 0.31],
  [rejected, 0.9],
  [accepted, 0.4],
  [kept, 0.6],
  [failed, 0.3],
  [row(FRESH), 0.5],
].map(([one, number]) => plain(experimentInWords("any", one, number)));

const shifts = [
  shiftInWords(row(FRESH, { shift: null }), {}),
  shiftInWords(row(ACCEPTED, { shift: 0 }), {}),
  shiftInWords(row(RESAMPLED, { shift: 0.125 }), {}),
  shiftInWords(row(FRESH, { shift: 0.125 }), { priced: true }),
  shiftInWords(row(REFINED, { shift: 0.125 }), { priced: true }),
  ...[
    [row(ACCEPTED, { shift: null, ruleShift: 0 }), false],
    [row(RESAMPLED, { shift: null, ruleShift: null }), false],
    [row(REFINED, { shift: null, ruleShift: null }), false],
    [row(RESAMPLED, { shift: 0.021, ruleShift: 0 }), true],
    [row(FRESH, { shift: 0, ruleShift: null }), true],
    [row(ACCEPTED, { shift: 0.021, ruleShift: null }), true],
  ].map(([one, priced]) => shiftInWords(one, { priced, isRolling: true })),
];

// Of lanes from outside: what the step table has, and min(1, p / q) only where it agrees.
const odd = { acceptance: 0.4, p: 0.12, q: 0.16 };
const tops = {
  top: [
    [3, 0.5],
    [8, 0.25],
  ],
  topDraft: [[8, 0.125]],
};
const outside = [
  [],
  [row(FORCED)],
  [first],
  [dropped(12)],
  [...refined(2)],
  [...refined(3), weighed(ACCEPTED, 0.12, 0.16, 0.31)],
  [...refined(1), weighed(ACCEPTED, 0.5, 0.25, 0.999)],
  [...refined(1), weighed(RESAMPLED, 0.05, 0.16, 0.91, { ...instead, ...tops })],
  [weighed(RESAMPLED, 0.05, 0.16, 0.91)],
  [weighed(ACCEPTED, 0.4, 1, 0.1, certain)],
  [first, again(), redrawn, row(ACCEPTED)],
  [row(ACCEPTED, { ...odd, uniform: 0.3 })],
  [row(ACCEPTED, { ...odd, uniform: 0.7 })],
  [row(RESAMPLED, { ...odd, uniform: 0.7, ...instead })],
  [row(RESAMPLED, { ...odd, acceptance: 0.75, uniform: 0.3, ...instead })],
  [weighed(ACCEPTED, 0.02, 0.16, 0.05, { group: group(4, 0.12, 0.16) })],
  [row(ACCEPTED, { candidates: candidates(...tree) })],
  [row(RESAMPLED, { ...instead, candidates: candidates(tree[0], [0.1, 0.4, 0.3]) })],
  ...[0, 1, 4].map((ahead) => [row(FRESH, { draft: null, ahead, token: 3, ...tops })]),
  [first, again(), row(FRESH, { draft: null, ahead: 2 })],
].map((life) => {
  const short = life.length ? `\n  in short: ${stepInWords("outside", life.at(-1))}` : "";
  return plain(whyOutside("outside", life) + short);
});
const claims = ["not judged", "changed distribution", "same distribution"].flatMap((badge) =>
  [0, 0.125].map((shift) => shiftOutside(row(ACCEPTED, { shift }), { badge, priced: false })),
);

/** What the tokens of 2 x 3 saw that are drawn by waves, a row one token behind the row above. */
function neighbours() {
  const wire = new Wire("zipar", "finished", range(6), [0, 1, 3, 2, 4, 5]);
  wire.step(1, 1, 1).cell(10, FRESH);
  wire.step(2, 2, 2).cell(11, FRESH).cell(13, FRESH);
  wire.step(3, 2, 2).cell(12, FRESH).cell(14, FRESH);
  const lane = laneOf(wire.step(4, 1, 1).cell(15, FRESH));
  return range(6).map((cell) => seenInWords(lane, lifeOf(lane, cell, lane.count).at(-1), 3));
}

/** What the tokens saw, and why they are there, where each row has a window of its own. */
function inRows() {
  const lane = laneOf(rolling());
  return range(6).map((cell) => {
    const life = lifeOf(lane, cell, lane.count);
    return plain(`${whyToken("rows", life)}\n  ${seenInWords(lane, life.at(-1), 3)}`);
  });
}

const betOn = (bet, facts = {}) => {
  const lanes = [
    { title: "SJD-PAC", state: "finished", passes: 10, seconds: 3 },
    { title: "GSD", state: "stopped", passes: 5, seconds: 1 },
    { title: "SJD", state: "finished", passes: 20, seconds: 2 },
  ];
  const snapshot = { id: "a", state: "finished", bets: [5, 0, 2], ...facts };
  const race = { lanes, snapshot };
  const words = betInWords(race, bet === null ? null : { race: "a", lane: bet });
  return [words, tallyInWords(race)].map((each) => plain(each) || "(nothing)").join(" ");
};
const bets = [
  betOn(0),
  betOn(1, { state: "stopped", bets: undefined }),
  betOn(null, { bets: [0, 0, 0] }),
  betOn(0, { state: "racing", bets: [1, 0, 0] }),
  betOn(0, { id: "b" }),
  betOn(7),
];

/** A lane of so many passes over so many rows, each of which took so many milliseconds. */
function lane(title, decoder, badge, known) {
  const { passes, rows = 1, forward, verify = 0, draft = 0, drafter = 0, seconds } = known;
  const split = [(passes * forward) / 1000, verify, 0, draft];
  const sum = split.reduce((all, part) => all + part);
  const steps = range(passes).map(() => ({ rows }));
  return { title, decoder, badge, passes, split, seconds: seconds ?? sum, steps, drafter };
}
const ar = lane("Vanilla AR", "ar", "identical image", { passes: 100, forward: 10 });
const facts = { passes: 50, rows: 16, forward: 20, verify: 0.5 };
const sjd = lane("SJD", "sjd", "same distribution", facts);
const fpi = lane("Fixed point", "fpi", "identical image", { passes: 60, rows: 16, forward: 10 });
const scd = { ...fpi, title: "SCD", badge: "same distribution", seconds: 1.01 * fpi.seconds };
const drafting = { passes: 50, rows: 4, forward: 12, drafter: 150, draft: 0.6 };
const lantern = lane("LANTERN", "lantern", "changed distribution", drafting);

/** How a race of these lanes came out, and why. */
function finish(lanes, { recorded = false, model = "big", differs = null, hides = [] } = {}) {
  const results = lanes.map((_, i) => ({ lane: i, differs }));
  const race = { snapshot: { results, recorded, model, lanes }, lanes, cells: 256 };
  const state = { race, hidden: new Set(hides) };
  return `${outcomeOf(state)} ${whySentence(state).replace(RULE, "")}`.trim();
}
const alone = { snapshot: { results: [{ lane: 0 }] }, lanes: [sjd] };
const RULE = whySentence({ race: alone, hidden: new Set() });
const finishes = [
  RULE, // all that is said of a lane alone
  finish([ar, sjd, fpi]),
  finish([ar, sjd, fpi], { hides: [1] }),
  finish([ar, sjd], { recorded: true }),
  finish([ar, fpi, scd]),
  finish([ar, { ...fpi, seconds: 0.99 }]), // no faster picture, but for noise
  finish([ar, fpi], { differs: 9 }),
  finish([ar, { ...sjd, split: [1, 9, 1, 0] }]),
  finish([ar, lantern]),
  finish([ar, lantern], { model: "embedded" }),
  finish([ar, { ...ar, title: "Cached AR", passes: 99, seconds: 2 }]), // fewer passes, none wider
];

/** The verdict on the modelled clock of lanes of n passes over so many rows, at b seconds a row. */
function verdict(row, ...lanes) {
  const wires = lanes.map(([decoder, passes, rows, state = "finished"]) => {
    const wire = new Wire(decoder, state);
    for (const i of range(passes)) {
      wire.step(i + 1, 6 / passes, 6 / passes, { rows });
      for (let n = 0; n < 6 / passes; n++) wire.cell(1, FRESH);
    }
    return wire;
  });
  const race = raceOf(...wires);
  modelLanes(race.lanes, { pass: 0.01, row, drafter: 0 });
  return verdictOf(race.lanes);
}
const three = [
  ["ar", 6, 1],
  ["sjd", 3, 8],
  ["sjd-pac", 2, 24],
];
const verdicts = [
  verdict(0, ...three),
  verdict(0.0012, ...three), // 67.2, 58.8 and 77.6 ms
  verdict(0.01, ...three),
  verdict(0, ["sjd", 3, 8]),
  verdict(0, ["ar", 6, 1, "racing"]),
];
const fit = { costs: { pass: 0.004, row: 0.0003, drafter: 0.001 }, passes: 9, windows: true };
const presets = [
  { ...fit, explained: 0.91, error: 0.125 },
  { ...fit, windows: false, explained: null, error: 0.125 },
  { ...fit, passes: 0, explained: null, error: null },
].flatMap((one, i) =>
  presetsOf(one)
    .slice(0, i ? 1 : 4)
    .map(({ title, words }) => `${title}: ${words}`),
);

const endedAfter = (passes) => ({
  title: `Lane of ${passes}`,
  state: "finished",
  passes,
  seconds: passes / 10,
});

/** What is said aloud. */
function aloud() {
  const region = { textContent: "", dataset: {} };
  const words = [];
  const say = (act) => {
    region.textContent = "";
    act(region);
    words.push(region.textContent || "(nothing)");
  };
  const count = "2 of 36 tokens to fill in";
  for (const cells of [[0], [8], [0, 1, 6, 7]])
    say((live) => announceMask(live, cells, new Set([0, 1]), 6, count));
  const [known] = filledIn().lanes;
  say((live) => announce.announceToken(live, known, laneAt(known, 2), 1, 3));
  const race = raceOf(threeSteps());
  for (const [k, cell] of [
    [1, 0],
    [1, 2],
    [1, 5],
    [1, 5],
  ])
    say((live) => announce.announceToken(live, race.lanes[0], laneAt(race.lanes[0], k), cell, 3));
  say((live) => announce.announceStart(live, race.snapshot));
  const lanes = ["SJD", "GSD"].map((title) => ({ title, total: 8 }));
  const quarters = new Set();
  const stateOf = (shown) => ({ race: shown, hidden: new Set(), bet: null });
  for (const [a, b, ...places] of [
    "1 0 1",
    "1 2 2 1",
    "3 3 1 1",
    "4 4 1 1",
    "7 4 1 2",
    "8 4 1 2",
  ].map((text) => text.split(" ").map(Number)))
    say((live) =>
      announce.announceLeader(live, stateOf({ lanes }), [{ n: a }, { n: b }], places, quarters),
    );
  const said = new Set();
  const over = { ...race, snapshot: { ...race.snapshot, state: "stopped", results: [] } };
  over.lanes[0].seconds = 0.002734;
  Object.assign(over.lanes[0], { state: "finished", passes: 4 });
  for (const each of [race, over, over])
    say((live) => announce.announceEnds(live, stateOf(each), ["finished"], said));
  const two = { snapshot: { state: "racing" }, lanes: [3, 2, 4].map(endedAfter) };
  two.lanes[2].state = "failed";
  const heard = new Set();
  for (const states of ["racing racing failed", "finished finished failed"])
    say((live) => announce.announceEnds(live, stateOf(two), states.split(" "), heard));
  return words;
}

/** The instant that a view shows; the board stands still there. */
function instantOf({ lane, step, t, live, playing }) {
  if (playing) return "playing";
  if (live) return "the end";
  return t === undefined ? `lane ${lane}, step ${step}` : `instant ${t}`;
}

/** A chapter: what it shows, its lines, and the parts that are played again. */
function chapterInWords({ number, title, lines, say, view, test, replay, reference }) {
  const { cell, layer, clock, hidden, costs } = view;
  const hides = hidden.size ? `, without lanes ${[...hidden].join()}` : "";
  const machine = costs ? `, costs of ${costs.preset}` : "";
  const where = cell ? `, cell ${cell.cell} of lane ${cell.lane}` : "";
  const odds = test
    ? `, p ${test.p.toFixed(3)} q ${test.q.toFixed(3)}, drew ${test.uniform.toFixed(3)}`
    : "";
  const frames = replay.frames.map(
    (frame) => `  > ${frame.words} [${frame.view.layer}, ${instantOf(frame.view)}]`,
  );
  return [
    `${number} ${title}: ${instantOf(view)} by ${clock}, ${layer}${where}${machine}${hides}${odds}`,
    ...lines.map((line) => `  ${plain(line)}`),
    ...(frames.length ? [`  ${replay.title}`, ...frames] : []),
    `  Say: ${say}`,
    ...(reference ? [`  (${reference})`] : []),
  ].join("\n");
}

function tourInWords({ chapters, missing }) {
  const left = missing.map(({ number, title }) => `${number} ${title}`).join("; ");
  return [...chapters.map(chapterInWords), ...(left ? [`Left out: ${left}`] : [])];
}

/** Each question to a race, and what is said to the first right choice and the first wrong one. */
function questionsInWords(race) {
  return questionsOf(race).map(({ ask, judge }) => {
    const said = race.lanes.flatMap((_, lane) =>
      range(race.cells).map((cell) =>
        judge({ race, layer: "tv", clock: "passes", cell: { lane, cell, pinned: true } }),
      ),
    );
    const first = (right) => said.find((answer) => answer?.right === right)?.words;
    const words = [`Right: ${first(true)}`, `No: ${first(false)}`].filter(
      (one) => !one.endsWith("undefined"),
    );
    return plain([ask, ...words].join("\n  "));
  });
}

const rows = () => races.front(1, [1, 2, 2, 1], [0, 1, 3, 2, 4, 5]);
const slowerRows = () => races.front(2, [1, 1, 2, 1, 1], [0, 1, 2, 3, 4, 5]);
/** A race of an older trace: statuses, but neither uniforms nor groups nor candidates. */
const older = ["sjd", "gsd", "lantern", "sjd-pac"].map((decoder) => {
  const wire = new Wire(decoder, "finished").step(1, 3, 3).cell(1, ACCEPTED, { draft: 1 });
  wire.cell(2, ACCEPTED, { draft: 2 }).cell(3, RESAMPLED, { draft: 9 });
  return wire.step(2, 3, 3).cell(4, FRESH).cell(5, FRESH).cell(6, FRESH);
});
const tours = {
  "all lanes": races.tour(
    races.ar(),
    races.jacobi(),
    races.fpi(),
    races.sjd(),
    races.scd(),
    races.relaxed("gsd"),
    races.relaxed("lantern"),
    races.pac(),
    rows(),
    slowerRows(),
    rolling().prices(...range(6).map(() => 0.125)),
  ),
  "some lanes, and a fixed point that differs": races.tour(
    races.sjd(),
    races.ar(),
    races.fpi(8),
    new Wire("gsd", "failed"),
  ),
  "a fixed point alone": races.tour(races.fpi()),
  "rows at once alone": races.tour(rows()),
  "an older trace": races.tour(...older),
  "a fresh guess beside a draft": races.tour(races.freshGuess()),
  "nothing happened": races.tour(new Wire("ar", "waiting")),
  "a part that is filled in": tourOf(filledIn()),
  "a fork": tourOf(forked()),
};

export const prose = [
  ...Object.entries(lives).map(([name, all]) => [
    `Why a token: ${name}`,
    all.map((one) => sentences(...one)),
  ]),
  ["Another number drawn", experiments],
  ["Why a token: decoders from outside", outside],
  ["Shift of a decoder from outside: not judged, changed, the same", claims],
  ["Shift of a test, and the price of a token", shifts],
  ["What a token saw around it", neighbours()],
  ["Where each row has a window of its own", inRows()],
  ["Bets", bets],
  ["How a race came out, and why", finishes],
  ["Modelled clock: who wins", verdicts],
  ["Modelled clock: the machines", presets],
  ["Said aloud", aloud()],
  ["What p and q share", [0, 0.25].map((share) => overlapInWords(0.43, share))],
  [
    "Questions, with a right answer and a wrong one",
    questionsInWords(raceOf(races.sjd(), races.relaxed("gsd"), races.pac())),
  ],
  ...Object.entries(tours).map(([name, found]) => [`Tour: ${name}`, tourInWords(found)]),
];
