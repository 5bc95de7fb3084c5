// The tour's questions, one after another, each checked against what is chosen on the board.

import { make } from "../dom.js";
import { hasRace } from "../trace/replay.js";

/**
 * The questions as an element, which keeps how far its visitor has come.
 * @param {Question[]} questions @param {Board} board @returns {HTMLElement}
 */
export function selfTest(questions, { state, go }) {
  let at = 0;
  let tried = false; // whether this question was answered wrongly
  let right = 0; // at the first try
  const ask = make("p.self-test-ask");
  const verdict = make("p.self-test-verdict", { role: "status" });
  const check = make("button.self-test-check", "Check", { type: "button", onclick: judge });
  const next = make("button.self-test-next", { type: "button", onclick: move });
  const element = make("div.self-test", ask, make("div", check, next), verdict);

  function judge() {
    const answer = hasRace(state) ? questions[at].judge(state) : null;
    if (!answer) return say("", "Choose a token in one of the pictures first.");
    say(answer.right ? "right" : "wrong", `${answer.right ? "Right" : "No"}: ${answer.words}.`);
    if (!answer.right) tried = true;
    else {
      right += Number(!tried);
      check.hidden = true;
      next.textContent = at + 1 < questions.length ? "Next question" : "How many?";
      next.focus();
    }
  }

  /** @param {string} mark @param {string} words */
  function say(mark, words) {
    element.dataset.verdict = mark;
    verdict.textContent = words;
  }

  function move() {
    at = at < questions.length ? at + 1 : 0;
    if (!at) right = 0;
    tried = false;
    go({ cell: null });
    draw();
  }

  function draw() {
    const isOver = at === questions.length;
    ask.textContent = isOver
      ? `${right} of ${questions.length} right at the first try.`
      : `${at + 1} of ${questions.length}: ${questions[at].ask}`;
    check.hidden = isOver;
    next.textContent = isOver ? "Begin again" : "Skip";
    say("", "");
  }
  draw();
  return element;
}
