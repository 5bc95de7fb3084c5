// The life of a token: its rows, and their explanation in words, for every decoder and status.

import assert from "node:assert/strict";
import test from "node:test";

import { announceToken } from "../../../static/board/announce.js";
import {
  DID,
  experimentInWords,
  lifeOf,
  neededGroup,
  shiftInWords,
  stepInWords,
  whyToken,
} from "../../../static/trace/explain.js";
import { laneAt } from "../../../static/trace/replay.js";
import { Wire, fieldsOf, filledIn, laneOf, near, plain, range, threeSteps, top } from "../wire.js";

const { ACCEPTED, RESAMPLED, FRESH, FORCED, REFINED, REJECTED, DROPPED } = DID;

/**
 * A row as lifeOf gives it, of token 77 drafted as 77, committed unless its status says otherwise.
 */
function row(status, { at = 14, ...known } = {}) {
  const committed = ![REFINED, REJECTED, DROPPED].includes(status);
  return {
    ...{ status, pass: at + 1, at, ahead: 0, committed, draft: 77, token: 77 },
    ...{ top1: 0.4, top1Draft: null, tv: null, acceptance: null, uniform: null, p: null, q: null },
    ...{ top: [], topDraft: [], group: null, candidates: [], ...known },
  };
}

const weighed = (status, p, q, uniform, known = {}) =>
  row(status, { p, q, acceptance: Math.min(1, p / q), uniform, ...known });

/** Drafted at pass 12, and refined as often. */
const refined = (passes) => [
  row(REFINED, { at: 11, draft: null }),
  ...range(passes).map((i) => row(REFINED, { at: 12 + i, draft: 50 + i })),
];

const why = (decoder, ...life) => plain(whyToken(decoder, life));

test("a test's shift is put into words, and none where there was no test", () => {
  assert.equal(shiftInWords(row(FRESH, { shift: null })), "");
  assert.match(shiftInWords(row(ACCEPTED, { shift: 0 })), /^Shift 0: .* exactly the model's/);
  const words = shiftInWords(row(RESAMPLED, { shift: 0.125 }));
  assert.match(words, /^Shift 0\.13: .* of this step alone, .* not of the whole picture\.$/);
});

test("another number drawn flips the verdict, and the words say what would have come", () => {
  const say = (one, number) => plain(experimentInWords(one, number));
  const rejected = weighed(RESAMPLED, 0.2, 0.5, 0.7, { draft: 5, token: 8 });
  assert.equal(say(rejected, 0.7), "The number drawn was 0.7: rejected, 0.7 ≥ 0.4.");
  const stayed = "Had the number been 0.31: accepted, 0.31 < 0.4; token 5 would have stayed.";
  assert.equal(say(rejected, 0.31), stayed);
  assert.equal(say(rejected, 0.9), "Had the number been 0.9: rejected, 0.9 ≥ 0.4; no change.");
  const accepted = weighed(ACCEPTED, 0.2, 0.5, 0.1, { draft: 5, token: 5 });
  const replaced = "another token would have taken its place";
  assert.equal(say(accepted, 0.4), `Had the number been 0.4: rejected, 0.4 ≥ 0.4; ${replaced}.`);
  const kept = row(REFINED, { draft: 5, token: 5, uniform: 0.1, acceptance: 0.5 });
  assert.ok(say(kept, 0.6).startsWith("Had the number been 0.6: redrawn, 0.6 ≥ 0.5"));
  const second = candidates([0.1, 0.5, 0.6], [0.2, 0.4, 0.7]);
  const failed = row(RESAMPLED, { token: 8, candidates: second });
  assert.ok(say(failed, 0.3).endsWith("accepted, 0.3 < 0.5; token 71 would have stayed."));
  assert.equal(say(row(FRESH), 0.5), "", "no number decided");
});

test("a life is every row of the cell up to a step", () => {
  const lane = laneOf(threeSteps());
  const names = ["pass", "at", "ahead", "committed", "status", "token"];
  assert.deepEqual(fieldsOf(lifeOf(lane, 3, 3), ...names), [
    [3, 1, 1, false, REJECTED, 1],
    [4, 2, 0, true, ACCEPTED, 1],
  ]);
  assert.equal(lifeOf(lane, 3, 2).length, 1);
  assert.equal(lifeOf(lane, 0, 3)[0].pass, 1);
  assert.deepEqual(lifeOf(lane, 5, 2), []);
});

test("a life keeps the diagnostics that came over the wire", () => {
  const wire = new Wire("gsd").step(1, 1, 1);
  const shares = [0.5, 1, 0.5, 0.9, 0.8, 0.25, 1];
  wire.cell(4, ACCEPTED, { draft: 4, kind: 0b101, shares, tops: [top([4, 0.25], [2, 0.125])] });
  wire.group(3, 0.9, 1.0, 4, 2);
  const [one] = lifeOf(laneOf(wire), 0, 1);
  assert.deepEqual(one.group.tokens, [4, 2]);
  near(one.uniform, 0.8, 1e-4);
  assert.deepEqual(one.topDraft, [[4, 1]]);
  assert.equal(neededGroup(one), true);
});

test("nothing is said of a cell that no step has reached", () => {
  assert.equal(why("sjd"), "No step has reached this cell yet.");
});

test("vanilla AR says what the distribution gave", () => {
  const given = [
    [3, 0.5],
    [77, 0.25],
  ];
  assert.equal(
    why("ar", row(FRESH, { draft: null, top: given })),
    "Drawn at pass 15 from p, which gave it 0.25. " +
      "Vanilla AR has no drafts: each pass draws one token.",
  );
  assert.ok(!why("ar", row(FRESH, { draft: null })).includes("gave it"));
});

test("SJD accepts with both masses and the number drawn", () => {
  assert.equal(
    why("sjd", ...refined(3), weighed(ACCEPTED, 0.12, 0.16, 0.31)),
    "Drafted at pass 12, refined 3 times, accepted at pass 15: p gave the draft 0.12 and q 0.16, " +
      "and the number drawn was below their ratio, 0.31 < 0.75.",
  );
  const sure = why("sjd", ...refined(1), weighed(ACCEPTED, 0.5, 0.25, 0.999));
  assert.ok(sure.includes("which is sure to pass"));
});

test("SJD rejects and says what came in its place", () => {
  assert.equal(
    why("sjd", ...refined(1), weighed(RESAMPLED, 0.05, 0.16, 0.91, { token: 8 })),
    "Drafted at pass 12, refined once, rejected at pass 15: p gave the draft 0.05 and q 0.16, and " +
      "the number drawn was not below their ratio, 0.91 ≥ 0.31. Token 8 was drawn in its place, " +
      "from what p has more of than q.",
  );
});

test("a draft of a block that failed its own test is said to be saved by one behind it", () => {
  const test = { acceptance: 0.4, p: 0.2, q: 0.1 };
  const saved = row(ACCEPTED, { ...test, uniform: 0.7 });
  assert.equal(
    why("block", ...refined(1), saved),
    "Drafted at pass 12, refined once, accepted at pass 15: it failed its own test, 0.7 ≥ 0.4, and was " +
      "saved: a draft behind it in the block passed, and takes all before it along.",
  );
  assert.equal(plain(stepInWords("block", saved)), "saved, 0.7 ≥ 0.4");
  const passed = row(ACCEPTED, { ...test, uniform: 0.1 });
  assert.match(
    why("block", ...refined(1), passed),
    /the number drawn was below it, 0\.1 < 0\.4\.$/,
  );
  assert.equal(plain(stepInWords("block", passed)), "accepted, 0.1 < 0.4");
  const failed = why("block", ...refined(1), row(RESAMPLED, { ...test, uniform: 0.7, token: 8 }));
  assert.match(
    failed,
    /not below it, 0\.7 ≥ 0\.4, and no later draft saved it\. Token 8 was drawn/,
  );
});

test("typical acceptance says what p gave the draft, and the threshold", () => {
  const test = (status, p, known = {}) =>
    weighed(status, p, 1.0, 0.5, { group: { count: 1, tokens: [77], p, q: 0.0412 }, ...known });
  const passed = test(ACCEPTED, 0.05, { acceptance: 1 });
  assert.equal(
    why("typical", ...refined(1), passed),
    "Drafted at pass 12, refined once, accepted at pass 15: p gave the draft 0.05, and the threshold, " +
      "the less of ε and √ε exp(-H) with H the entropy of p, was below it, 0.041 < 0.05.",
  );
  assert.equal(plain(stepInWords("typical", passed)), "accepted, threshold 0.041 < 0.05");
  const failed = test(RESAMPLED, 0.04118, { acceptance: 0, token: 8 });
  const end = "was not below it, 0.04120 ≥ 0.04118. Token 8 was drawn in its place, from p.";
  assert.ok(why("typical", failed).endsWith(end));
  assert.equal(plain(stepInWords("typical", failed)), "rejected, threshold 0.04120 ≥ 0.04118");
  assert.ok(why("typical", { ...failed, token: 77 }).endsWith("from p: the draft again."));
});

test("a fresh guess is called one", () => {
  const guess = weighed(ACCEPTED, 0.4, 1.0, 0.1, { topDraft: [[77, 1]] });
  assert.ok(why("sjd", guess).startsWith("A fresh guess, accepted at pass 15: "));
});

test("a bonus says that all before it were accepted", () => {
  const words = [0, 1, 4].map((ahead) => why("sjd", row(FRESH, { draft: null, ahead })));
  assert.deepEqual(words, [
    "Drawn at pass 15 from p: that pass had no draft to test here.",
    "Drawn at pass 15 from p: the draft before it was accepted, and the pass gave one token more.",
    "Drawn at pass 15 from p: all 4 drafts before it were accepted, " +
      "and the pass gave one token more.",
  ]);
});

test("GSD tells of the group and whether it was needed", () => {
  const group = { count: 9, tokens: [77, 3], p: 0.42, q: 0.4 };
  const needed = weighed(ACCEPTED, 0.01, 0.1, 0.31, { acceptance: 1, group });
  assert.equal(
    why("gsd", ...refined(3), needed),
    "Drafted at pass 12, refined 3 times, accepted at pass 15: its group of 9 tokens held 0.42 of " +
      "p and 0.4 of q, which is sure to pass. " +
      "Alone, with 0.01 of p and 0.1 of q, it would have been rejected.",
  );
  const unneeded = weighed(ACCEPTED, 0.09, 0.1, 0.31, { acceptance: 1, group });
  assert.ok(!why("gsd", ...refined(3), unneeded).includes("Alone"));
  const alone = { count: 1, tokens: [77], p: 0.09, q: 0.1 };
  const single = weighed(ACCEPTED, 0.09, 0.1, 0.31, { group: alone });
  assert.ok(why("gsd", single).includes("p gave the draft 0.09 and q 0.1"));
});

test("LANTERN tells of its neighbours and of drafts that were dropped", () => {
  const dropped = [12, 13].map((at) => row(DROPPED, { at, draft: 5, token: 5 }));
  const group = { count: 4, tokens: [77, 1, 2, 3], p: 0.12, q: 0.16 };
  const accepted = weighed(ACCEPTED, 0.02, 0.16, 0.5, { acceptance: 0.75, group });
  assert.equal(
    why("lantern", ...dropped, accepted),
    "2 earlier drafts were dropped untested, because one before them was rejected; drafted anew " +
      "and accepted at pass 15: with 3 neighbours it held 0.12 of p, against 0.16 of q by itself, " +
      "and the number drawn was below their ratio, 0.5 < 0.75. " +
      "Alone, with 0.02 of p and 0.16 of q, it would have been rejected.",
  );
  const rejected = why("lantern", weighed(RESAMPLED, 0.02, 0.16, 0.9, { token: 6, group }));
  const from = "what p, its neighbours' mass counted with the draft's, has more of than q.";
  assert.ok(rejected.endsWith(`Token 6 was drawn in its place, from ${from}`));
  assert.equal(
    why("lantern", dropped[0]),
    "Not committed yet: an earlier draft was dropped untested, because one before it was " +
      "rejected. The next pass drafts it anew.",
  );
});

const candidates = (...tried) =>
  tried.map(([p, q, uniform], i) => {
    return { token: 70 + i, p, q, acceptance: Math.min(1, p / q), uniform };
  });

test("SJD-PAC tells which candidate passed", () => {
  const kept = [
    row(REFINED, { at: 11, draft: null }),
    row(REFINED, { at: 12, uniform: 0.1, acceptance: 0.5 }),
    row(REJECTED, { at: 13, token: 9, uniform: 0.9, acceptance: 0.5 }),
  ];
  const second = candidates([0.1, 0.5, 0.6], [0.2, 0.4, 0.3]);
  assert.equal(
    why("sjd-pac", ...kept, row(ACCEPTED, { candidates: second })),
    "Drafted at pass 12, kept once, redrawn once; at pass 15 the draft was rejected and candidate " +
      "2 accepted: what the others left of p gave it 0.2 and q 0.4, and the number drawn was " +
      "below their ratio, 0.3 < 0.5.",
  );
  const third = candidates([0.1, 0.5, 0.6], [0, 0.4, 0.3], [0.2, 0.4, 0.3]);
  const words = why("sjd-pac", row(ACCEPTED, { candidates: third }));
  assert.ok(words.includes("2 candidates were rejected and candidate 3 accepted"));
});

test("SJD-PAC tells that all candidates failed or that the first passed", () => {
  const failed = candidates([0.1, 0.5, 0.6], [0.1, 0.4, 0.3]);
  assert.equal(
    why("sjd-pac", row(RESAMPLED, { token: 8, candidates: failed })),
    "At pass 15 all 2 candidates were rejected, the last one with 0.3 ≥ 0.25. " +
      "Token 8 was drawn from what they left of p.",
  );
  const first = weighed(ACCEPTED, 0.3, 0.5, 0.2, { candidates: candidates([0.3, 0.5, 0.2]) });
  const start = "Drafted and accepted at pass 15: p gave the draft 0.3 and q 0.5";
  assert.ok(why("sjd-pac", first).startsWith(start));
});

test("SJD-PAC tells of a branch that ended", () => {
  const life = [
    row(REFINED, { at: 11, draft: null }),
    row(REFINED, { at: 12, uniform: 0.1, acceptance: 0.5 }),
    row(FRESH, { draft: null, ahead: 2, top: [[77, 0.3]] }),
  ];
  assert.equal(
    why("sjd-pac", ...life),
    "Drafted at pass 12, kept once; then a cell before it took another candidate, whose branch " +
      "ended here, and pass 15 drew token 77 from p, which gave it 0.3.",
  );
});

test("Jacobi compares two draws and the fixed point the same noise", () => {
  assert.equal(
    why("jacobi", ...refined(2), row(ACCEPTED, { acceptance: 0.25 })),
    "Drafted at pass 12, refined twice, accepted at pass 15: a second, independent draw gave the " +
      "same token, and would repeat the draft with probability 0.25.",
  );
  assert.equal(
    why("jacobi", ...refined(2), row(RESAMPLED, { token: 8 })),
    "Drafted at pass 12, refined twice, rejected at pass 15: a second, independent draw gave " +
      "token 8 instead. That draw stays: it comes from the exact distribution.",
  );
  const fpi = (...life) => why("fpi", ...refined(2), ...life);
  const noise = "the same noise, under the newer distribution, gave";
  const instead = `${noise} token 8 instead. That one stays: it is vanilla AR's own token.`;
  assert.ok(fpi(row(RESAMPLED, { token: 8 })).endsWith(instead));
  assert.ok(fpi(row(ACCEPTED)).endsWith(`${noise} the same token.`));
});

test("a draft that stands is not committed yet", () => {
  assert.equal(
    why("sjd", ...refined(2)),
    "Not committed yet: drafted at pass 12, refined twice. " +
      "After pass 14 the guess is token 77; a later pass will test it.",
  );
  const layout = "Fixed by the model's layout: no decoder samples it.";
  assert.equal(why("sjd", row(FORCED)), layout);
});

test("missing diagnostics leave words out and never a hole", () => {
  const rows = Object.values(DID).flatMap((did) => [null, 5].map((draft) => row(did, { draft })));
  const lives = rows.flatMap((last) => [[last], [row(REFINED, { at: 11 }), last]]);
  for (const decoder of ["ar", "jacobi", "fpi", "sjd", "scd", "gsd", "lantern", "sjd-pac"]) {
    for (const life of lives) {
      for (const text of [whyToken(decoder, life), stepInWords(decoder, life.at(-1))]) {
        assert.ok(text, `${decoder} ${JSON.stringify(life)}`);
        assert.doesNotMatch(text, /undefined|null|NaN|–/, decoder);
      }
    }
  }
});

test("each step is explained in a few words", () => {
  const [second, failed] = [0.4, 0.1].map((p) => candidates([0, 1, 0.2], [p, 0.8, 0.2]));
  for (const [decoder, one, words] of [
    ["ar", row(FRESH, { draft: null }), "drawn from p, no draft"],
    ["sjd", row(REFINED, { draft: null }), "first drafted"],
    ["sjd", row(REFINED), "refined"],
    ["sjd", weighed(ACCEPTED, 0.37, 0.5, 0.31), "accepted, 0.31 < 0.74"],
    ["sjd", weighed(ACCEPTED, 0.5, 0.25, 0.31), "accepted, certain"],
    ["sjd", weighed(RESAMPLED, 0.1, 0.5, 0.91), "rejected, 0.91 ≥ 0.2"],
    ["jacobi", row(ACCEPTED), "the same again"],
    ["fpi", row(RESAMPLED, { token: 8 }), "then 8"],
    ["lantern", row(DROPPED), "dropped untested"],
    ["sjd-pac", row(REFINED, { uniform: 0.1, acceptance: 0.5 }), "kept, 0.1 < 0.5"],
    ["sjd-pac", row(REJECTED, { token: 8, uniform: 0.6, acceptance: 0.5 }), "redrawn, 0.6 ≥ 0.5"],
    ["sjd-pac", row(ACCEPTED, { candidates: second }), "candidate 2 accepted, 0.2 < 0.5"],
    ["sjd-pac", row(RESAMPLED, { candidates: failed }), "2 candidates rejected"],
  ]) {
    assert.equal(plain(stepInWords(decoder, one)), words);
  }
});

test("rounding on the wire never makes a draft needy", () => {
  // p and q are known to half a share; only what no rounding could have turned is said.
  const close = weighed(ACCEPTED, 3 / 65534, 4 / 65534, 0.76, { acceptance: 1 });
  const clear = weighed(ACCEPTED, 3 / 65534, 400 / 65534, 0.76, { acceptance: 1 });
  assert.deepEqual([close, clear].map(neededGroup), [false, true]);
});

test("a cell that was known has no life, and says so aloud", () => {
  const [lane] = filledIn().lanes;
  assert.deepEqual(lifeOf(lane, 1, lane.count), []);
  const region = { textContent: "", dataset: {} };
  announceToken(region, lane, laneAt(lane, lane.count), 1, 3);
  assert.equal(region.textContent, "ASSD, row 1, column 2: token 11, known from the start.");
});

test("ASSD's first guess is final, and what is drawn in parallel is never tested", () => {
  const [assd] = filledIn().lanes;
  assert.match(whyToken("assd", lifeOf(assd, 4, assd.count)), /needs no test: it is final/);
  assert.match(whyToken("assd", lifeOf(assd, 0, assd.count)), /accepted at pass 2/);
  const [parallel] = filledIn("parallel").lanes;
  assert.match(whyToken("parallel", lifeOf(parallel, 0, parallel.count)), /It stayed untested/);
  assert.match(whyToken("parallel", lifeOf(parallel, 4, parallel.count)), /at once with others/);
  assert.equal(stepInWords("parallel", lifeOf(parallel, 0, 2).at(-1)), "kept untested");
});
