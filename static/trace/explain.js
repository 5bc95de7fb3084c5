// Why a cell holds its token, in words, from its rows in one lane's step table.

import {
  asTokens,
  capital,
  chance,
  countOf,
  dividing,
  inTimes,
  isKnown,
  lastOf,
  compared,
  versus,
} from "../numbers.js";

// The rule of a decoder from outside, of which nothing is known here (engine.race.request.rule_of).
export const OUTSIDE = "outside";
// engine.trace.Status
export const DID = {
  ACCEPTED: 0,
  RESAMPLED: 1,
  FRESH: 2,
  FORCED: 3,
  REFINED: 4,
  REJECTED: 5,
  DROPPED: 6,
};
export const ROUNDING = 0.5 / 65534; // by which a share on the wire is off, at most

/**
 * Return the rows of one cell over the first `until` steps of a lane, oldest first.
 * @param {Lane} lane @returns {LifeRow[]}
 * @param {number} cell @param {number} until
 */
export function lifeOf(lane, cell, until) {
  /** @type {LifeRow[]} */
  const life = [];
  for (const row of lane.touches[cell] ?? []) {
    const at = lane.stepOf(row);
    if (at >= until) break;
    life.push(rowOfStep(lane, at, row - lane.steps[at].first));
  }
  return life;
}

/**
 * Return the i-th row of a lane's step, with the step's facts. Fields of the row that are read only
 * on use are not read here.
 * @param {Lane} lane @param {number} at the step's index @param {number} i
 * @returns {LifeRow}
 */
export function rowOfStep(lane, at, i) {
  const step = lane.steps[at];
  const committed = step.before + i < step.after;
  const ahead = lane.isRolling ? aheadInRow(lane, step.first, i) : i;
  return Object.assign(lane.row(step.first + i), { pass: step.nfe, at, ahead, committed });
}

// Count the rows from `first` to before the i-th that are in the same row of the picture as the
// i-th.
/** @param {Lane} lane @param {number} first @param {number} i */
function aheadInRow(lane, first, i) {
  const own = lane.gridRow(lane.cellOf(first + i));
  let ahead = 0;
  for (let n = 0; n < i; n++) ahead += Number(lane.gridRow(lane.cellOf(first + n)) === own);
  return ahead;
}

// Test whether p(x) / q(x) alone would have rejected a draft that was accepted, however the numbers
// were rounded on the wire.
/** @param {Row} row */
export function neededGroup({ status, uniform, p, q }) {
  if (status !== DID.ACCEPTED || uniform === null || p === null || q === null) return false;
  return uniform * (q - ROUNDING) >= p + ROUNDING;
}

// Rules that test drafts together, and what they call those drafts.
/** @type {Record<string, string>} */
export const TOGETHER = { block: "block", runs: "run", traversal: "branch" };

// Test whether a draft that was tested with others failed its own test, and a later one passed.
/** @param {Pick<Row, "status" | "uniform" | "acceptance">} row */
const isSaved = ({ status, uniform, acceptance }) =>
  status === DID.ACCEPTED && uniform !== null && acceptance !== null && uniform >= acceptance;

/**
 * Test whether an accepted draft would have been rejected alone: its group, its neighbourhood or a
 * later draft of its block, run or branch saved it.
 * @param {string} rule @param {Row} row
 */
export const wasSaved = (rule, row) =>
  rule in TOGETHER ? isSaved(row) : rule !== "typical" && Boolean(row.group) && neededGroup(row);

// Test whether a draft was left untested by a decoder that then drafts anew (after LANTERN's
// rejections).
/** @param {Row} row */
export const isDropped = (row) => row.status === DID.DROPPED;

// Return the uniform number and the acceptance probability that decided: those of the last
// candidate tried, where there were several.
/** @param {Row} row */
export function decisive({ candidates, uniform, acceptance }) {
  const last = candidates.length > 1 ? lastOf(candidates) : { uniform, acceptance };
  return [last.uniform, last.acceptance];
}

export const WHY_KNOWN =
  "This token was known from the start: this race fills in other tokens. No lane draws it, and the model reads it " +
  "before any other token is drawn.";

/**
 * Say in a sentence or two why a cell holds its token.
 * @param {LifeRow[]} life @param {string} rule what tests its drafts
 */
export function whyToken(rule, life) {
  if (!life.length) return "No step has reached this cell yet.";
  const before = life.slice(0, -1);
  const last = lastOf(life);
  if (last.status === DID.FORCED)
    return "The model's layout fixes this token: no decoder samples it.";
  if (last.status === DID.FRESH) return whyFresh(rule, before, last);
  if (!last.committed) return `Not committed yet: ${pastOf(life)}. ${whatNext(rule, last)}`;
  const past = pastOf(before, last);
  if (rule === "parallel")
    return `${capital(past)}, from p given the earlier rounds. It was kept without a test: nothing checks whether it fits the other tokens of its round.`;
  if (rule === "auto-correct" && last.uniform === null)
    return `${capital(past)}. It was kept without a test: its row had used up its passes, and this pass only read it.`;
  if (last.candidates.length > 1) {
    return `${before.length ? `${capital(past)}. ` : ""}${whyCandidates(rule, last)}`;
  }
  const accepted = last.status === DID.ACCEPTED;
  const reason = whyVerified(rule, last, accepted);
  const joint = past.endsWith("drafted") || past.endsWith("anew") ? " and" : ",";
  const outcome = `${joint} ${accepted ? "accepted" : "rejected"} at pass ${last.pass}`;
  const sentence = capital(`${past}${outcome}${reason && `: ${reason}`}.`);
  return sentence + (accepted ? aloneWords(rule, last) : replacedWords(rule, last));
}

// Say what happened to the cell before `last`: where its draft came from, and how often it was
// refined.
/** @param {LifeRow[]} before @param {LifeRow} [last] */
export function pastOf(before, last) {
  const drafts = before.filter((row) => row.draft !== null);
  const dropped = drafts.filter(isDropped).length;
  if (dropped) {
    const many = dropped > 1;
    const drafted = many ? `${dropped} drafts for this cell were` : "a draft for this cell was";
    const why = "because a draft for an earlier cell was rejected";
    return `${drafted} dropped untested, ${why}${last ? ". Drafted anew" : ""}`;
  }
  if (!before.length)
    return last?.topDraft.length === 1 && Number(last.q) > 0.999 ? "a fresh guess" : "drafted";
  const tested = drafts.filter((row) => isKnown(row.uniform));
  const kept = tested.filter((row) => row.draft === row.token).length;
  const redrawn = tested.length - kept;
  const refined = drafts.length - tested.length;
  const events = Object.entries({ kept, redrawn, refined }).filter(([, n]) => n);
  return [
    `drafted at pass ${before[0].pass}`,
    ...events.map(([what, n]) => `${what} ${inTimes(n)}`),
  ].join(", ");
}

/** @param {string} rule @param {LifeRow} last */
function whatNext(rule, last) {
  if (isDropped(last)) return "The next pass drafts this token anew.";
  const ends = rule === "auto-correct" ? ", or keep it once its row has used up its passes" : "";
  return `After pass ${last.pass} the guess is token ${last.token}; a later pass will test it${ends}.`;
}

// Say why a draft was accepted or not: the two masses compared, and the number drawn; "" where the
// row does not say.
/** @param {string} rule @param {LifeRow} row @param {boolean} accepted */
function whyVerified(rule, row, accepted) {
  const { uniform, acceptance } = row;
  const other = accepted ? "the same token" : `token ${row.token} instead`;
  if (rule === "fpi") return `the same noise, under the newer distribution, gave ${other}`;
  if (rule === "jacobi") {
    const odds = `; such a draw repeats the draft with probability ${chance(acceptance)}`;
    return `a second, independent draw gave ${other}${isKnown(acceptance) ? odds : ""}`;
  }
  if (rule in TOGETHER) return whyTogether(row, TOGETHER[rule]);
  if (rule === "typical") return whyTypical(row);
  const masses = massesOf(rule, row);
  if (uniform === null || acceptance === null) return masses;
  if (accepted && acceptance >= 1 - ROUNDING) {
    return masses ? `${masses}, so it was sure to pass` : "it was sure to pass";
  }
  const ratio = masses ? "their ratio" : "its chance to pass";
  const test = `the number drawn was ${accepted ? "" : "not "}below ${ratio}, ${versus(uniform, acceptance)}`;
  return masses ? `${masses}, and ${test}` : test;
}

// Say why a draft was accepted or not that was tested with others, its block, run or branch.
/** @param {LifeRow} row @param {string} what */
function whyTogether(row, what) {
  const { uniform, acceptance, status } = row;
  if (uniform === null || acceptance === null) return "";
  const test = versus(uniform, acceptance);
  const odds = `the ${what} up to this draft passes its test with probability ${chance(acceptance)}`;
  if (status !== DID.ACCEPTED)
    return `${odds}, and the number drawn was not below that, ${test}. No later draft of the ${what} saved it`;
  if (isSaved(row))
    return `the draft failed its own test, ${test}, but a later draft of its ${what} passed, and that accepts all earlier drafts of the ${what}`;
  return `${odds}, and the number drawn was below that, ${test}`;
}

// Say why a draft was accepted or not where p alone decides, by a threshold.
/** @param {LifeRow} row */
function whyTypical({ group, p, status }) {
  const gave = `p gave the draft ${chance(group?.p ?? p)}`;
  if (!group) return gave;
  const below = status === DID.ACCEPTED ? "below that" : "not below that";
  return `${gave}, and the threshold was ${below}, ${versus(group.q, group.p)}. The threshold is the smaller of ε and √ε exp(-H), with H the entropy of p`;
}

/** @param {string} decoder @param {LifeRow} row */
function massesOf(decoder, { group, p, q, acceptance }) {
  if (group && group.count > 1) {
    const [ofP, ofQ] = dividing(group.p, group.q, acceptance);
    if (decoder === "gsd")
      return `its group of ${group.count} tokens held ${ofP} of p and ${ofQ} of q`;
    const neighbours = countOf(group.count - 1, "neighbour");
    return `the draft and ${neighbours} held ${ofP} of p, the draft alone ${ofQ} of q`;
  }
  if (p === null || q === null) return "";
  const [ofP, ofQ] = dividing(p, q, acceptance);
  return `p gave the draft ${ofP} and q ${ofQ}`;
}

// Say how the test ended where several candidates of a tree were tried.
/** @param {string} decoder @param {LifeRow} row */
function whyCandidates(decoder, { pass, candidates, status, token }) {
  const n = candidates.length;
  const last = lastOf(candidates);
  const test = versus(last.uniform, last.acceptance);
  const all = n === 2 ? "both" : `all ${n}`;
  if (decoder === "traversal") {
    if (status !== DID.ACCEPTED)
      return `At pass ${pass}, ${all} candidates failed, and so did every draft after them. The last candidate's own test was ${test}. Token ${token} was drawn from the part of p that was left.`;
    const others =
      n === 2 ? "the draft and what follows it" : `${n - 1} candidates and what follows them`;
    const why = isSaved({ ...last, status })
      ? `This candidate failed its own test, ${test}, but a draft that follows it passed`
      : `This candidate passed its own test, ${test}, though no draft after it did`;
    return `At pass ${pass}, ${others} failed, and candidate ${n} was accepted. ${why}.`;
  }
  if (status !== DID.ACCEPTED) {
    const drawn = `Token ${token} was drawn from the part of p that they left.`;
    return `At pass ${pass}, ${all} candidates were rejected, the last one with ${test}. ${drawn}`;
  }
  const rejected = n === 2 ? "the draft was" : `${n - 1} candidates were`;
  const whom = decoder === "lantern" ? "it with its neighbours" : "it";
  const [p, q] = dividing(last.p, last.q, last.acceptance);
  const left = `the residual of p gave ${whom} ${p}, q gave it ${q}`;
  const why = `${left}, and the number drawn was below their ratio, ${test}`;
  return `At pass ${pass}, ${rejected} rejected and candidate ${n} was accepted: ${why}.`;
}

// Add what an accepted draft would have been without its group; "" if it did not need the group.
/** @param {string} rule @param {LifeRow} row */
function aloneWords(rule, row) {
  if (rule in TOGETHER || !wasSaved(rule, row)) return "";
  return ` Alone, with ${chance(row.p)} of p and ${chance(row.q)} of q, the draft would have been rejected.`;
}

/** @param {string} rule @param {LifeRow} row */
function replacedWords(rule, { draft, token }) {
  if (rule === "jacobi") return ` Token ${token} stays: it was drawn from the exact distribution.`;
  if (rule === "fpi") return ` Token ${token} stays: it is vanilla AR's own token.`;
  if (rule === "block" || rule === "traversal")
    return ` Token ${token} was drawn in its place, from the part of a·p that exceeds q, where a is the ${TOGETHER[rule]}'s remaining probability.`;
  if (rule === "typical")
    return ` Token ${token}${token === draft ? ", the same as the draft," : ""} was drawn from p in its place.`;
  const moved = rule === "lantern" ? ". This p has the neighbours' mass moved to the draft" : "";
  return ` Token ${token} was drawn in its place, from the part of p that exceeds q${moved}.`;
}

/** @param {string} decoder @param {LifeRow[]} before @param {LifeRow} row */
function whyFresh(decoder, before, { top, token, pass, ahead }) {
  const share = top.find(([id]) => id === token);
  const drawn = `from p${share ? `, which gave it ${chance(share[1])}` : ""}`;
  if (decoder === "ar") {
    return `Drawn at pass ${pass} ${drawn}. Vanilla AR has no drafts: each pass draws one token.`;
  }
  if (decoder === "parallel") {
    return `Drawn at pass ${pass} ${drawn}, together with other tokens and without a test: nothing checks whether they fit together.`;
  }
  if (decoder === "zipar") {
    return `Drawn at pass ${pass} ${drawn}, together with one token in each other row that had begun. Nothing tests it.`;
  }
  if (before.some((row) => row.draft !== null && !isDropped(row))) {
    const ended = "An earlier cell took another candidate, whose branch had no draft here";
    return `${capital(pastOf(before))}. ${ended}, so pass ${pass} drew token ${token} ${drawn}.`;
  }
  if (decoder === "assd" && !ahead) {
    return `Drawn at pass ${pass} ${drawn}. The first guess of a pass comes from the model's exact distribution here, so it needs no test and is final (Lemma 1).`;
  }
  const drafts = ahead === 1 ? "the draft before it was" : `all ${ahead} drafts before it were`;
  const where = decoder === "rows" ? " in its row" : "";
  const bonus = `${drafts} accepted, so the pass gave one more token${where}`;
  return `Drawn at pass ${pass} ${drawn}: ${ahead ? bonus : "that pass had no draft to test here"}.`;
}

/**
 * Say what another number would have decided; "" where no number decided.
 * @param {string} rule @param {LifeRow} row @param {number} number
 */
export function experimentInWords(rule, row, number) {
  const [drawn, acceptance] = decisive(row);
  if (drawn === null || acceptance === null) return "";
  const was = drawn < acceptance;
  const is = number < acceptance;
  const tested = [DID.ACCEPTED, DID.RESAMPLED].includes(row.status);
  const [yes, no] = tested ? ["accepted", "rejected"] : ["kept", "redrawn"];
  const verdict = is ? yes : no;
  const test = versus(number, acceptance);
  const isOne = row.candidates.length < 2;
  const what = isOne ? "the draft" : "the last candidate";
  if (number === drawn)
    return `The number drawn was ${chance(drawn)}, so ${what} was ${verdict}: ${test}.`;
  const draft = isOne ? row.draft : lastOf(row.candidates).token;
  const another = rule === OUTSIDE ? "another draw" : "another token";
  const other = is ? `token ${draft} would have stayed` : `${another} would have taken its place`;
  const outcome = `${what} would${was === is ? " also" : ""} have been ${verdict}, ${test}`;
  return `With the number ${chance(number)} ${outcome}${was === is ? "" : `, and ${other}`}.`;
}

const ON_NO_CLOCK =
  "This shift was measured in one pass over the finished picture, which no clock counts.";

/**
 * Say what the shift of a test means, or the shift of a token whose price is known. Return "" if
 * there is no shift.
 * @param {LifeRow} row @param {Pick<Lane, "priced" | "isRolling">} lane
 */
export function shiftInWords(row, { priced, isRolling }) {
  const { shift, committed } = row;
  if (isRolling) return committed ? rollingShift(row) : "";
  if (!isKnown(shift)) return "";
  if (priced && committed)
    return (
      `${shiftOf(shift)}. The distribution that this token was drawn from differs by this much (TV) from p given every ` +
      `earlier token. ${ON_NO_CLOCK}`
    );
  if (shift === 0)
    return "Shift 0: the token that this test commits has exactly the model's distribution p, whatever was drafted.";
  return (
    `${shiftOf(shift)}. The distribution that this test commits differs from the model's p by this much (TV). ` +
    "This is for this step alone, given this lane's own tokens, not for the whole picture."
  );
}

// Write a shift, and what it does to tokens.
/** @param {number} shift */
const shiftOf = (shift) => `Shift ${chance(shift)}${shift ? `, ${asTokens(shift)}` : ""}`;

// Say what the shift of a committed token means where each row advances at its own pace. The rule's
// part is known at once, if ever; the part from what its row could not see, once the lane is done.
/** @param {LifeRow} row */
function rollingShift({ shift, ruleShift, status }) {
  const isExact = ruleShift === 0 || status === DID.FRESH;
  if (!isKnown(shift))
    return isExact && status !== DID.FORCED
      ? "Shift 0 from its rule: this token has exactly the model's distribution p, given what its row saw. The tokens that its row did not " +
          "see may add a shift, measured once the picture is complete."
      : "";
  const far = `${shift ? "differs by this much (TV) from" : "equals"} p given every earlier token`;
  if (isExact)
    return (
      `Shift ${chance(shift)}: 0 from the token's rule, and ${chance(shift)} from what its row did not see. The token was drawn ` +
      `from exactly p given what its row saw. That p ${far}. ${ON_NO_CLOCK}`
    );
  return (
    `Shift ${chance(shift)} from what the token's row did not see: p given what the row saw ${far}. ${ON_NO_CLOCK} ` +
    "The shift from the token's rule is not known."
  );
}

/**
 * Say in a few words what one step did to the cell: "accepted, 0.31 < 0.74".
 * @param {LifeRow} row @param {string} rule
 */
export function stepInWords(rule, row) {
  const { status, draft, token, candidates } = row;
  if (status === DID.FORCED) return "fixed by the layout";
  if (status === DID.FRESH) return rule === OUTSIDE ? "no draft" : "drawn from p, no draft";
  if (draft === null) return rule === OUTSIDE ? "drafted" : "first drafted";
  if (isDropped(row)) return "dropped untested";
  if (rule === "parallel") return "kept untested";
  const accepted = status === DID.ACCEPTED;
  if (rule === "typical" && row.group) {
    const [threshold, sign, p] = compared(row.group.q, row.group.p);
    return `${accepted ? "accepted" : "rejected"}, threshold\u00a0${threshold} ${sign}\u00a0p\u00a0${p}`;
  }
  const [uniform, acceptance] = decisive(row);
  let test = "";
  if (uniform !== null && acceptance !== null) {
    const sure = acceptance >= 1 - ROUNDING && uniform < acceptance;
    test = sure ? ", certain" : `, ${versus(uniform, acceptance)}`;
  }
  if (status === DID.REFINED || status === DID.REJECTED) {
    if (!test) return "refined";
    return (draft === token ? "kept" : "redrawn") + test;
  }
  if (rule in TOGETHER && isSaved(row)) return `saved by its ${TOGETHER[rule]}${test}`;
  if (rule === "jacobi" || rule === "fpi")
    return accepted ? "the same token again" : `token ${token} instead`;
  if (candidates.length > 1 && !accepted) return `${candidates.length} candidates rejected`;
  if (candidates.length > 1) return `candidate ${candidates.length} accepted${test}`;
  // A rule from outside may decide against these two numbers.
  const isOdd = rule === OUTSIDE && test && accepted !== Number(uniform) < Number(acceptance);
  return (accepted ? "accepted" : "rejected") + (isOdd ? test.replace(",", ", although") : test);
}
