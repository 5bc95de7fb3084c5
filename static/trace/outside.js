// Why a cell of a lane from outside holds its token, in words. Its rule is not known here, so the
// words repeat the step table, and say that min(1, p / q) decided only where the numbers agree with
// it.

import { capital, chance, countOf, dividing, isKnown, lastOf, versus } from "../numbers.js";
import { DID, decisive, isDropped, pastOf, ROUNDING, shiftInWords, whyToken } from "./explain.js";

/**
 * Say in a sentence or two why a cell holds its token.
 * @param {string} rule @param {LifeRow[]} life
 */
export function whyOutside(rule, life) {
  const before = life.slice(0, -1);
  const last = lastOf(life);
  if (!life.length || last.status === DID.FORCED) return whyToken(rule, life);
  if (!last.committed) {
    const guess = isDropped(last)
      ? ""
      : ` After pass ${last.pass} the guess is token ${last.token}.`;
    return `Not committed yet: ${pastOf(life)}.${guess}`;
  }
  if (last.draft === null)
    return capital(`${before.length ? `${pastOf(before)}; ` : ""}${undrafted(last)}`);
  const past = pastOf(before, last);
  const isJoined = last.candidates.length < 2 && /(drafted|anew)$/.test(past);
  const joint = isJoined ? " and" : last.candidates.length < 2 ? "," : ";";
  const outcome = capital(`${past}${joint} ${becameWords(last)} at pass ${last.pass}`);
  return `${outcome}${testWords(last)}.${insteadWords(last)}`;
}

/**
 * Test whether a row's numbers agree with a test by min(1, p / q): this is the acceptance
 * probability, up to rounding, and the drawn number gives the outcome.
 * @param {LifeRow} row
 */
export function isRatioTest({ status, draft, token, p, q, acceptance, uniform, ...row }) {
  if (draft === null || row.group || row.candidates.length > 1) return false;
  if (p === null || q === null || acceptance === null || uniform === null) return false;
  if (q <= 2 * ROUNDING) return false;
  const least = Math.min(1, Math.max(0, p - ROUNDING) / (q + ROUNDING));
  const most = Math.min(1, (p + ROUNDING) / (q - ROUNDING));
  if (acceptance < least - ROUNDING || acceptance > most + ROUNDING) return false;
  if (status === DID.RESAMPLED || status === DID.REJECTED) return uniform >= acceptance;
  return uniform < acceptance && (status === DID.ACCEPTED || draft === token);
}

/**
 * Say what a test's shift means for this lane's badge; "" if there is no shift. A decoder whose
 * author calls it lossless records 0.
 * @param {LifeRow} row @param {Lane} lane
 */
export function shiftOutside(row, lane) {
  const { badge, priced, isRolling } = lane;
  const isChanged = badge.startsWith("changed");
  const isProved = !isChanged && !badge.startsWith("not");
  if (!isKnown(row.shift) || priced || isRolling || (row.shift === 0 && isProved))
    return shiftInWords(row, lane);
  if (row.shift > 0)
    return `${shiftInWords(row, lane)} The code of the decoder's author computed this shift.`;
  if (isChanged)
    return "Shift 0 is the claim of the decoder's author, but the verdict is that the decoder's distribution is not the model's.";
  return "Shift 0 is the claim of the decoder's author and is not judged. To judge it, run: photo-finish judge FILE.";
}

/** @param {LifeRow} row */
function undrafted({ pass, ahead, token, top }) {
  const others = ahead ? `, after ${countOf(ahead, "token")} of the same pass` : "";
  const share = shareOf(top, token);
  return `token ${token} was committed at pass ${pass} without a draft${others}${share ? `; p gave it ${share}` : ""}.`;
}

/** @param {LifeRow} row */
function becameWords({ status, candidates }) {
  const accepted = status === DID.ACCEPTED;
  if (candidates.length > 1) {
    const which = accepted ? "the last" : "none";
    return `${which} of ${candidates.length} candidates was accepted`;
  }
  if (accepted) return "accepted";
  return status === DID.RESAMPLED || status === DID.REJECTED ? "rejected" : "committed";
}

// Write the numbers behind an outcome; "" where the row has none.
/** @param {LifeRow} row */
function testWords(row) {
  const { p, q, candidates } = row;
  const [uniform, acceptance] = decisive(row);
  if (isRatioTest(row)) {
    const [ofP, ofQ] = dividing(Number(p), Number(q), acceptance);
    const masses = `: p gave the draft ${ofP} and q ${ofQ}`;
    if (Number(acceptance) >= 1 - ROUNDING)
      return `${masses}, a ratio of 1 or more, so it was sure to pass`;
    const below = row.status === DID.ACCEPTED ? "below" : "not below";
    return `${masses}, and the number drawn was ${below} their ratio, ${versus(Number(uniform), Number(acceptance))}`;
  }
  const tested = candidates.length > 1 ? lastOf(candidates) : { p, q };
  const numbers = Object.entries({
    p: tested.p,
    q: tested.q,
    acceptance,
    "number drawn": uniform,
  }).filter(([, number]) => isKnown(number));
  if (!numbers.length) return "";
  const words = numbers.map(([name, number]) => `${name} = ${chance(number)}`).join(", ");
  return `. Recorded for ${candidates.length > 1 ? "the last candidate" : "the draft"}: ${words}`;
}

/** @param {LifeRow} row */
function insteadWords({ status, draft, token, top, topDraft }) {
  if (status !== DID.RESAMPLED) return "";
  const [p, q] = [shareOf(top, token), shareOf(topDraft, token)];
  const shares = [p && `p gave it ${p}`, q && `q ${q}`].filter(Boolean).join(" and ");
  const again = token === draft ? ", the same as the draft," : "";
  return ` Token ${token}${again} was committed in its place${shares ? `: ${shares}` : ""}.`;
}

// Write a token's probability in a distribution; "" where it is not among the likeliest that are
// recorded.
/** @param {Share[]} top @param {number} token */
function shareOf(top, token) {
  const share = top.find(([id]) => id === token);
  return share ? chance(share[1]) : "";
}
