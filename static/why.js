// Why a cell holds its token, in words, from its records in one lane. Nothing here touches the page.

const DID = { ACCEPTED: 0, RESAMPLED: 1, FRESH: 2, FORCED: 3, REFINED: 4, REJECTED: 5 }; // engine.records.Status
const GRAIN = 0.5 / 65534; // half of what a share on the wire is rounded to

// A probability with two or three significant digits.
function chance(value) {
  if (!isKnown(value)) return "–";
  if (value > 0 && value < 0.0001) return "<0.0001";
  if (value >= 0.995 && value < 0.9995) return value.toFixed(3);
  return value >= 0.1 || value === 0 ? String(Number(value.toFixed(2))) : String(Number(value.toPrecision(2)));
}

// A uniform number against the chance it was drawn for, with as many digits as tell them apart: "0.31 < 0.74", in one piece.
function versus(uniform, acceptance) {
  let [a, b] = [chance(uniform), chance(acceptance)];
  for (let digits = 3; a === b && uniform !== acceptance && digits < 6; digits++) {
    [a, b] = [uniform.toFixed(digits), acceptance.toFixed(digits)];
  }
  return [a, uniform < acceptance ? "<" : "≥", b].join("\u00a0");
}

const isKnown = (...values) => values.every((value) => value !== null && value !== undefined);
const inTimes = (n) => ["never", "once", "twice"][n] || `${n} times`;
const countOf = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

// A cell's life in a lane over its first `until` steps: its records, oldest first, each with `pass` (the forward pass), `at`
// (the step's index), `ahead` (how many cells that step committed before this one) and whether it `committed` this one.
function lifeOf(lane, cell, until) {
  const life = [];
  for (let at = 0; at < until; at++) {
    const step = lane.steps[at];
    if (step.before > cell) break; // committed: nothing touches it again
    if (cell >= step.before + step.touched) continue;
    const record = lane.record(step.first + cell - step.before);
    life.push({ ...record, pass: step.nfe, at, ahead: cell - step.before, committed: cell < step.after });
  }
  return life;
}

// Whether p(x) / q(x) alone would have refused a draft that was accepted, whatever the rounding on the wire.
function savedByKin({ status, uniform, p, q }) {
  return status === DID.ACCEPTED && isKnown(uniform, p, q) && uniform * (q - GRAIN) >= p + GRAIN;
}

// Left untested by a decoder that then drafts anew (LANTERN's, behind a refusal).
const isDropped = (record) => record.status === DID.REJECTED && !isKnown(record.uniform);

// The uniform number and the chance that decided: those of the last candidate tried, where there were several.
function decisive({ siblings, uniform, acceptance }) {
  const last = siblings.length > 1 ? siblings[siblings.length - 1] : { uniform, acceptance };
  return [last.uniform, last.acceptance];
}

// Why this cell holds what it holds, in a sentence or two; `life` is what lifeOf gives.
function whyToken(decoder, life) {
  if (!life.length) return "No step has reached this cell yet.";
  const [before, last] = [life.slice(0, -1), life[life.length - 1]];
  if (last.status === DID.FORCED) return "Fixed by the model's layout: no decoder samples it.";
  if (last.status === DID.FRESH) return whyFresh(decoder, before, last);
  if (!last.committed) return `Not committed yet: ${pastOf(life)}. ${whatNext(last)}`;
  const past = pastOf(before, last);
  if (last.siblings.length > 1) return capital(`${before.length ? `${past}; ` : ""}${whyCandidates(last)}`);
  const accepted = last.status === DID.ACCEPTED;
  const reason = whyJudged(decoder, last, accepted);
  const judged = `${past.endsWith("drafted") || past.endsWith("anew") ? " and" : ","} ${accepted ? "accepted" : "refused"}`;
  return capital(`${past}${judged} at pass ${last.pass}${reason && `: ${reason}`}.`)
    + (accepted ? neededKin(last) : replaced(decoder, last));
}

// What came of the cell before `last`: where its draft came from, and how often it was refined.
function pastOf(before, last = null) {
  const drafts = before.filter((record) => record.draft !== null);
  const dropped = drafts.filter(isDropped).length;
  if (dropped) {
    const [drafted, them] = dropped === 1 ? ["an earlier draft was", "it"] : [`${dropped} earlier drafts were`, "them"];
    return `${drafted} dropped untested, because one before ${them} was refused${last ? "; drafted anew" : ""}`;
  }
  if (!before.length) return last.topDraft.length === 1 && last.q > 0.999 ? "a fresh guess" : "drafted";
  const tested = drafts.filter((record) => isKnown(record.uniform));
  const kept = tested.filter((record) => record.draft === record.token).length;
  const events = [[kept, "kept"], [tested.length - kept, "redrawn"], [drafts.length - tested.length, "refined"]];
  const happened = events.filter(([n]) => n).map(([n, what]) => `${what} ${inTimes(n)}`);
  return [`drafted at pass ${before[0].pass}`, ...happened].join(", ");
}

function whatNext(last) {
  if (isDropped(last)) return "The next pass drafts it anew.";
  return `After pass ${last.pass} the guess is token ${last.token}; a later pass will test it.`;
}

// Why a draft passed or not: the two masses compared, and the number drawn; "" where the record does not say.
function whyJudged(decoder, record, accepted) {
  const other = `token ${record.token} instead`;
  if (decoder === "fpi") return `the same dice, under the newer law, gave ${accepted ? "the same token" : other}`;
  if (decoder === "jacobi") {
    const odds = isKnown(record.acceptance) ? `, and would repeat the draft with probability ${chance(record.acceptance)}` : "";
    return `a second, independent draw gave ${accepted ? "the same token" : other}${odds}`;
  }
  const masses = massesOf(decoder, record);
  const { uniform, acceptance } = record;
  if (!isKnown(uniform, acceptance)) return masses;
  const ratio = masses ? "their ratio" : "its chance to pass";
  if (accepted && acceptance >= 1 - GRAIN) return masses ? `${masses}, which is sure to pass` : "it was sure to pass";
  const test = `the number drawn was ${accepted ? "" : "not "}below ${ratio}, ${versus(uniform, acceptance)}`;
  return masses ? `${masses}, and ${test}` : test;
}

function massesOf(decoder, { kin, p, q }) {
  if (kin && kin.count > 1 && decoder === "gsd") {
    return `its group of ${kin.count} tokens held ${chance(kin.p)} of p and ${chance(kin.q)} of q`;
  }
  if (kin && kin.count > 1) {
    const neighbours = countOf(kin.count - 1, "neighbour");
    return `with ${neighbours} it held ${chance(kin.p)} of p, against ${chance(kin.q)} of q by itself`;
  }
  return isKnown(p, q) ? `p gave the draft ${chance(p)} and q ${chance(q)}` : "";
}

// SJD-PAC, several candidates tried: how that ended.
function whyCandidates(record) {
  const { pass, siblings, status, token } = record;
  const [n, last] = [siblings.length, siblings[siblings.length - 1]];
  const test = versus(last.uniform, last.acceptance);
  const left = `what the others left of p gave it ${chance(last.p)} and q ${chance(last.q)}`;
  if (status === DID.ACCEPTED) {
    const refused = n === 2 ? "the draft was refused and candidate 2" : `${n - 1} candidates were refused and candidate ${n}`;
    return `at pass ${pass} ${refused} accepted: ${left}, and the number drawn was below their ratio, ${test}.`;
  }
  return `at pass ${pass} all ${n} candidates were refused, the last one with ${test}. `
    + `Token ${token} was drawn from what they left of p.`;
}

// What to add on an accepted draft: that it needed its kin.
function neededKin(record) {
  if (!record.kin || !savedByKin(record)) return "";
  return ` Alone, with ${chance(record.p)} of p and ${chance(record.q)} of q, it would have been refused.`;
}

function replaced(decoder, { token }) {
  if (decoder === "jacobi") return " That draw stays: it comes from the exact law.";
  if (decoder === "fpi") return " That one stays: it is vanilla AR's own token.";
  const moved = decoder === "lantern" ? ", its neighbours' mass counted with the draft's," : "";
  return ` Token ${token} was drawn in its place, from what p${moved} has more of than q.`;
}

function whyFresh(decoder, before, last) {
  const share = last.top.find(([token]) => token === last.token);
  const drawn = `from p${share ? `, which gave it ${chance(share[1])}` : ""}`;
  if (decoder === "ar") return `Drawn at pass ${last.pass} ${drawn}. Vanilla AR has no drafts: each pass draws one token.`;
  if (before.some((record) => record.draft !== null && !isDropped(record))) {
    const past = capital(pastOf(before));
    return `${past}; then a cell before it took another candidate, whose branch ended here, and pass ${last.pass} drew token `
      + `${last.token} ${drawn}.`;
  }
  const drafts = last.ahead === 1 ? "the draft before it was" : `all ${last.ahead} drafts before it were`;
  const why = last.ahead ? `${drafts} accepted, and the pass gave one token more` : "that pass had no draft to test here";
  return `Drawn at pass ${last.pass} ${drawn}: ${why}.`;
}

// What one step did to the cell, in a few words: "accepted, 0.31 < 0.74".
function judgedInWords(decoder, record) {
  const { status, draft, token, siblings } = record;
  if (status === DID.FORCED) return "fixed by the layout";
  if (status === DID.FRESH) return "drawn from p, no draft";
  if (draft === null) return "first drafted";
  if (isDropped(record)) return "dropped untested";
  const [uniform, acceptance] = decisive(record);
  const sure = acceptance >= 1 - GRAIN && uniform < acceptance;
  const test = !isKnown(uniform, acceptance) ? "" : sure ? ", certain" : `, ${versus(uniform, acceptance)}`;
  if (status === DID.REFINED || status === DID.REJECTED) {
    return test ? (draft === token ? "kept" : "redrawn") + test : "refined";
  }
  const accepted = status === DID.ACCEPTED;
  if (decoder === "jacobi" || decoder === "fpi") return accepted ? "the same again" : `then ${token}`;
  if (siblings.length > 1) {
    return accepted ? `candidate ${siblings.length} accepted${test}` : `${siblings.length} candidates refused`;
  }
  return (accepted ? "accepted" : "refused") + test;
}
