// The tour's chapters: what each says about the race on the board, and the instant that shows it, found in the race's own
// records. Nothing here touches the page.

const PAPERS = {
  ar: "The baseline of the papers that follow; set out in So et al., Grouped Speculative Decoding, ICCV 2025, Sec. 2.1.",
  jacobi: "Song et al., Accelerating Feedforward Computation via Parallel Nonlinear Equation Solving, ICML 2021; "
    + "the sampling baseline (JD) of Teng et al., ICLR 2025, Tables 4 and 5.",
  sjd: "Teng et al., Speculative Jacobi Decoding, ICLR 2025 (arXiv 2410.01699), Eq. 1 to 3 and Theorem 1.",
  hard: "So et al., Grouped Speculative Decoding, ICCV 2025, Sec. 3, Fig. 2 and 5, Proposition 1; "
    + "Jang et al., LANTERN, ICLR 2025, Sec. 2.2.",
  gsd: "So et al., Grouped Speculative Decoding, ICCV 2025, Sec. 4.1, Alg. 3 and 5.",
  lantern: "Jang et al., LANTERN, ICLR 2025 (arXiv 2410.03355), Sec. 3.2 and 3.3, Alg. 1.",
  "sjd-pac": "Kang et al., SJD-PAC, 2026 (arXiv 2603.18599), Sec. 4.1 and 4.2, Alg. 1, Theorem 2.",
};

// Number, title, the decoders of which the first that raced is shown, those shown beside it, and who writes it.
const CHAPTERS = [
  [1, "One token at a time", ["ar"], [], oneAtATime],
  [2, "Guess in parallel", ["jacobi"], ["ar"], guessInParallel],
  [3, "Guess with a law", ["sjd"], ["ar"], guessWithALaw],
  [4, "Why image tokens are hard", ["sjd", "gsd", "sjd-pac", "lantern"], [], whyHard],
  [5, "Accept a group", ["gsd"], ["sjd"], acceptAGroup],
  [6, "Accept a neighbour", ["lantern"], ["sjd"], acceptANeighbour],
  [7, "Do not stop at a rejection, and draft a tree", ["sjd-pac"], ["sjd"], treeAndContinuation],
];

// The tour of a race: {chapters, missing}. A chapter has its number, title, lines, reference, and `view`, what `go` takes;
// `missing` are those, as {number, title}, whose decoder made no step in this race.
function tourOf(race) {
  const [chapters, missing] = [[], []];
  for (const [number, title, wanted, beside, write] of CHAPTERS) {
    const raced = (name) => race.lanes.findIndex((lane) => lane.decoder === name && lane.count > 0);
    const index = wanted.map(raced).find((i) => i >= 0);
    if (index === undefined) {
      missing.push({ number, title });
      continue;
    }
    const shown = new Set([index, ...beside.map(raced)]);
    const hidden = new Set(race.lanes.map((_, i) => i).filter((i) => !shown.has(i)));
    const told = write(race.lanes[index], race);
    const cell = told.cell === null ? null : { lane: index, cell: told.cell, pinned: true };
    const view = { layer: told.layer || "picture", clock: "passes", playing: false, hidden, lane: index, step: told.step, cell };
    chapters.push({ number, title, lines: told.lines, reference: PAPERS[number === 4 ? "hard" : wanted[0]], view });
  }
  return { chapters, missing };
}

// Every record of a lane with its step, oldest first: [{step, at, committed, ...record}].
function recordsOf(lane) {
  return lane.steps.flatMap((step, at) => Array.from({ length: step.touched }, (_, i) => {
    return Object.assign(lane.record(step.first + i), { at, pass: step.nfe, committed: step.before + i < step.after });
  }));
}

const best = (items, score) => items.reduce((top, item) => (top === null || score(item) > score(top) ? item : top), null);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const percent = (part, whole) => `${Math.round((100 * part) / whole)}%`;

// Whether a draft makes a good example: drawn from a law, no fresh guess, with odds that can be read.
const isTelling = ({ p, q }) => isKnown(p, q) && p >= 0.001 && q >= 0.01 && q < 0.999;

// Whether a cell lies where there is a picture to be seen around it.
const isAmidst = ({ cell }, { cells }) => cell >= 0.3 * cells && cell < 0.85 * cells;

// What a lane did in all: "256 tokens in 117 passes, 2.19 a pass".
function summary(lane) {
  const [tokens, passes] = [lane.steps.reduce((sum, step) => sum + step.tokens, 0), lane.steps[lane.count - 1].nfe];
  return `${countOf(tokens, "token")} in ${countOf(passes, "pass", "passes")}, ${(tokens / passes).toFixed(2)} a pass`;
}

// What another lane that raced too took: "; SJD took 117 passes for 256", or nothing.
function against(race, decoder) {
  const other = race.lanes.find((lane) => lane.decoder === decoder && lane.count > 0);
  if (!other) return "";
  const last = other.steps[other.count - 1];
  return `; ${other.title} took ${countOf(last.nfe, "pass", "passes")} for ${last.after}`;
}

// A pass in the middle of the picture at which the model was as sure as it usually was.
function oneAtATime(lane, race) {
  const records = recordsOf(lane);
  const usual = median(records.map((record) => record.top1));
  const middle = records.slice(Math.floor(records.length / 4), Math.ceil((3 * records.length) / 4));
  const shown = best(middle.length ? middle : records, (record) => -Math.abs(record.top1 - usual));
  const share = shown.top.find(([token]) => token === shown.token);
  const last = lane.steps[lane.count - 1];
  return {
    step: shown.at + 1, cell: shown.cell,
    lines: [
      `Vanilla AR runs the whole model once for every token: ${summary(lane)}, ${inSeconds(last.seconds)} s on this device.`,
      `A pass gives the law p of the next token alone, over all ${race.snapshot.codes.toLocaleString("en")} codes. One is drawn, `
        + "and only then can the next pass begin.",
      `At pass ${shown.pass} the likeliest code had a probability of ${chance(shown.top1)}; token ${shown.token} was drawn`
        + `${share ? `, with ${chance(share[1])}` : ""}.`,
    ],
  };
}

// The pass that repeated the most guesses.
function guessInParallel(lane) {
  const tested = recordsOf(lane).filter(({ status, draft }) => draft !== null && [DID.ACCEPTED, DID.RESAMPLED].includes(status));
  const agreed = tested.filter(({ status }) => status === DID.ACCEPTED);
  const at = best(lane.steps.map((_, i) => i), (i) => agreed.filter((record) => record.at === i).length);
  const here = agreed.filter((record) => record.at === at);
  const [step, widest] = [lane.steps[at], Math.max(...lane.steps.map(({ touched }) => touched))];
  const share = tested.length ? ` (${percent(agreed.length, tested.length)})` : "";
  return {
    step: at + 1, cell: here.length ? here[here.length - 1].cell : step.after - 1,
    lines: [
      `Jacobi decoding guesses ahead: one pass over the window gives the laws of up to ${widest} positions at once.`,
      "Every guess is drawn again from its newer law and stands only if the second draw repeats it. The flatter the laws, the "
        + `rarer that is: here ${agreed.length} of the ${tested.length} guesses tested were repeated${share}.`,
      `Shown is pass ${step.nfe}, its best, with ${here.length} repeated. In all ${summary(lane)}.`,
    ],
  };
}

// A step that accepted some drafts and refused the next: the refused cell, and why.
function guessWithALaw(lane, race) {
  const records = recordsOf(lane);
  const refused = records.filter(({ status, draft, at, cell }) => (
    status === DID.RESAMPLED && draft !== null && cell - lane.steps[at].before >= 2
  ));
  const told = refused.filter((record) => isKnown(record.uniform) && isTelling(record));
  const shown = best(told.length ? told : refused, ({ at, cell }) => cell - lane.steps[at].before);
  const law = "Accept a draft x with probability min(1, p(x) / q(x)): q is the law it was drawn from, p its law now. "
    + "The first refused one is replaced by a draw from max(p − q, 0). So the law of the picture stays exactly vanilla AR's.";
  const total = `In all ${summary(lane)}${against(race, "ar")}.`;
  if (!shown) return { step: lane.count, cell: null, lines: [law, total] };
  const passed = shown.cell - lane.steps[shown.at].before;
  const { p, q, uniform, acceptance } = shown;
  const why = isKnown(p, q, uniform, acceptance)
    ? `: p gave it ${chance(p)} and q ${chance(q)}, and ${versus(uniform, acceptance)}` : "";
  const middle = `At pass ${shown.pass}, ${passed} drafts were accepted and the next, token ${shown.draft}, refused${why}. `
    + `Token ${shown.token} took its place.`;
  return { step: shown.at + 1, cell: shown.cell, lines: [law, middle, total] };
}

// Where both laws are flat and still far apart; fresh guesses, certain of themselves, are left out.
function whyHard(lane) {
  const committed = recordsOf(lane).filter((record) => record.committed);
  const drafted = ({ draft, uniform, tv, top1Draft }) => draft !== null && isKnown(uniform, tv, top1Draft) && top1Draft < 0.999;
  const tested = committed.filter(drafted);
  const middle = (name, records = tested) => median(records.map((record) => record[name]));
  const flat = `For half of the tokens the likeliest code has a probability of ${chance(middle("top1", committed))} or less: `
    + "many codes would do, so a guess seldom hits the one that is drawn.";
  if (!tested.length) return { layer: "top1", step: lane.count, cell: null, lines: [flat] };
  const shown = best(tested, ({ tv, top1, top1Draft }) => tv * (1 - top1) * (1 - top1Draft));
  const mean = tested.reduce((sum, record) => sum + 1 - record.tv, 0) / tested.length;
  return {
    layer: "tv", step: lane.count, cell: shown.cell,
    lines: [
      flat,
      "And two flat laws share little: small differences add up. Draft law q and model law p lie a median TV of "
        + `${chance(middle("tv"))} apart, and an exact rule accepts with probability 1 − TV, on average ${chance(mean)}.`,
      `The chosen token: top-1 of p ${chance(shown.top1)}, of q ${chance(shown.top1Draft)}, yet TV ${chance(shown.tv)}.`,
    ],
  };
}

function acceptAGroup(lane, race) {
  const rule = "GSD sorts the codes by p and lets those around the draft, of much the same probability, speak with it: it is "
    + "accepted with probability min(1, p(C) / q(C)) for the whole group C.";
  const together = (kin) => `Its group of ${kin.count} held ${chance(kin.p)} of p and ${chance(kin.q)} of q`;
  return relaxed(lane, race, rule, together, "their group");
}

function acceptANeighbour(lane, race) {
  const rule = `${lane.drafter ? "A small network drafts" : "The model drafts for itself"}. LANTERN lets a draft x borrow the `
    + "probability of the codes nearest to it, up to δ in all: it is accepted with probability min(1, p(A) / q(x)).";
  const together = (kin) => `With ${countOf(kin.count - 1, "neighbour")} it held ${chance(kin.p)} of p`;
  return relaxed(lane, race, rule, together, "a neighbour");
}

// A relaxed rule's chapter: the plainest acceptance that p(x) / q(x) alone would have refused, and how many there were.
function relaxed(lane, race, rule, together, whom) {
  const accepted = recordsOf(lane).filter(({ status }) => status === DID.ACCEPTED);
  const saved = accepted.filter((record) => record.kin && savedByKin(record));
  const total = `In all ${summary(lane)}${against(race, "sjd")}. The price: the picture's law is no longer the model's own.`;
  if (!saved.length) {
    return { ...busiest(lane), lines: [rule, `No acceptance of this race is known to have needed ${whom}.`, total] };
  }
  const { at, cell, pass, draft, p, q, uniform, acceptance, kin } = best(saved, (record) => (
    record.acceptance - record.p / record.q
      + (isTelling(record) && record.kin.count > 2 ? 2 : 0) + (isAmidst(record, race) ? 1 : 0)
  ));
  return {
    step: at + 1, cell,
    lines: [
      rule,
      `At pass ${pass} token ${draft} had ${chance(p)} of p and ${chance(q)} of q by itself: refused, by `
        + `${versus(uniform, Math.min(1, p / q))}. ${together(kin)}: accepted, by ${versus(uniform, acceptance)}.`,
      `${saved.length} of its ${countOf(accepted.length, "acceptance")} needed ${whom}. ${total}`,
    ],
  };
}

// The step that committed the most, for a lane whose records do not say more.
function busiest(lane) {
  const at = best(lane.steps.map((_, i) => i), (i) => lane.steps[i].tokens);
  return { step: at + 1, cell: lane.steps[at].after - 1 };
}

// A later candidate accepted, if it can be amidst the picture, in a step that ended at a refusal and kept many drafts behind it.
function treeAndContinuation(lane, race) {
  const records = recordsOf(lane);
  const ends = lane.steps.map(() => ({ refused: false, tested: 0, kept: 0 }));
  for (const { at, committed, status, draft, token, uniform } of records) {
    if (status === DID.RESAMPLED) ends[at].refused = true;
    if (committed || draft === null || !isKnown(uniform)) continue;
    ends[at].tested += 1;
    ends[at].kept += Number(draft === token);
  }
  const later = records.filter(({ status, siblings }) => status === DID.ACCEPTED && siblings.length > 1);
  const shown = best(later, (record) => (
    (isAmidst(record, race) ? 1000 : 0) + (ends[record.at].refused ? 500 : 0) + ends[record.at].kept
  ));
  const at = shown ? shown.at : best(lane.steps.map((_, i) => i), (i) => (ends[i].refused ? ends[i].kept : -1));
  const whole = ends.reduce((sum, { tested, kept }) => ({ tested: sum.tested + tested, kept: sum.kept + kept }));
  return {
    step: at + 1, cell: shown ? shown.cell : lane.steps[at].after - 1,
    lines: [
      `Draft a tree: the first positions have several candidates each; the first to pass is taken. ${aboutTree(later, shown)}`,
      `Do not stop at a rejection: a draft behind it stays with probability min(1, p / q). ${aboutEnd(ends[at], whole)}`,
      `In all ${summary(lane)}${against(race, "sjd")}. The law is exactly vanilla AR's.`,
    ],
  };
}

function aboutTree(later, shown) {
  if (!shown) return "In this race no later candidate is known to have been taken.";
  const { siblings, pass } = shown;
  const last = siblings[siblings.length - 1];
  const failed = siblings.length === 2 ? "the first" : `the first ${siblings.length - 1}`;
  const test = versus(last.uniform, last.acceptance);
  return `At pass ${pass} candidate ${siblings.length} passed here (${test}) after ${failed} had failed; `
    + `a later candidate was taken ${inTimes(later.length)} in this race.`;
}

function aboutEnd(here, whole) {
  if (!whole.tested) return "In this race no draft is known to have been tested behind one.";
  const all = `in the whole race ${percent(whole.kept, whole.tested)} did`;
  return here.refused && here.tested ? `At this pass ${here.kept} of ${here.tested} did; ${all}.` : `${capital(all)}.`;
}
