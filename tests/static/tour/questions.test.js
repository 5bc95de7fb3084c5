// The questions of the tour: what answers them, and that only those are asked that a race answers.

import assert from "node:assert/strict";
import test from "node:test";

import { questionsOf } from "../../../static/tour/questions.js";
import { raceOf } from "../wire.js";
import * as races from "./races.js";

const race = raceOf(races.ar(), races.sjd(), races.relaxed("gsd"), races.pac());
const questions = questionsOf(race);
const asked = (words) => questions.find(({ ask }) => ask.includes(words));
const chosen = (lane, cell) => ({ race, cell: { lane, cell, pinned: true } });
const [AR, SJD, GSD] = [0, 1, 2];

/** All that can be chosen on the board. */
function* choices({ lanes, cells }) {
  for (const lane of lanes.keys())
    for (let cell = 0; cell < cells; cell++) yield { cell: { lane, cell, pinned: true } };
  for (const layer of ["tv", "shift"]) yield { layer };
  for (const clock of ["seconds", "passes"]) yield { clock };
}

test("every question that is asked has a right answer and a wrong one, each with its reason", () => {
  const several = [race, raceOf(races.sjd(), races.pac()), raceOf(races.scd())];
  for (const one of several) {
    for (const { ask, judge } of questionsOf(one)) {
      const answers = [...choices(one)].map((choice) => judge({ race: one, ...choice }));
      const verdicts = new Set(answers.filter(Boolean).map(({ right }) => right));
      assert.deepEqual([...verdicts].sort(), [false, true], ask);
      for (const answer of answers.filter(Boolean)) assert.ok(answer.words.length > 9, ask);
    }
  }
  assert.equal(questions.length, 8);
});

test("a token answers by what its last pass did to it", () => {
  const { judge } = asked("in place of a rejected draft");
  assert.equal(judge({ race, cell: null }), null);
  assert.deepEqual(judge(chosen(SJD, 2)), {
    right: true,
    words: "draft 3 was rejected at pass 1, and token 8 was drawn in its place",
  });
  assert.deepEqual(judge(chosen(SJD, 0)), {
    right: false,
    words: "draft 1 was accepted at pass 1",
  });
  assert.equal(judge(chosen(AR, 0)), null, "the chapter does not show that lane");
});

test("a token that was saved is known from one that passed by itself", () => {
  const { judge } = asked("alone would have rejected");
  assert.equal(judge(chosen(GSD, 2)).right, true);
  const passed = judge(chosen(GSD, 0));
  assert.equal(passed.right, false);
  assert.match(passed.words, /no group or neighbour saved it/);
});

test("a lane answers by its passes and its badge", () => {
  const fewest = asked("fewest passes").judge(chosen(SJD, 0));
  assert.match(fewest.words, /^SJD took 3 passes, and another lane shown took only 2$/);
  assert.equal(asked("not have the model's distribution").judge(chosen(GSD, 0)).right, true);
});

test("a race of one lossless lane is not asked which lane, or which clock", () => {
  const alone = questionsOf(raceOf(races.sjd()));
  assert.ok(alone.length);
  assert.ok(!alone.some(({ ask }) => /lane|clock/.test(ask)));
});
