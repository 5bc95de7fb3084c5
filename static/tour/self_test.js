// The tour's questions, one after another, each checked against what is chosen on the board.

import { closest, query } from "../dom.js";
import { hasRace } from "../trace/replay.js";
import { html, nothing } from "../vendor/lit-html.js";

/** A visitor's progress through the questions of a race. */
export class SelfTest {
  #questions;
  #board;
  #at = 0;
  #tried = false; // whether this question was answered wrongly
  #right = 0; // at the first try
  #verdict = { mark: "", words: "" };

  /** @param {Question[]} questions @param {Board} board */
  constructor(questions, board) {
    this.#questions = questions;
    this.#board = board;
  }

  /** Draw the question, and the verdict on the visitor's answer. @param {() => void} redraw */
  picture(redraw) {
    const count = this.#questions.length;
    const isOver = this.#at === count;
    const { mark, words } = this.#verdict;
    const after = this.#at + 1 < count ? "Next question" : "Show the score";
    const next = isOver ? "Begin again" : mark === "right" ? after : "Skip";
    const ask = isOver
      ? `${this.#right} of ${count} right at the first try.`
      : `${this.#at + 1} of ${count}: ${this.#questions[this.#at].ask}`;
    /** @param {() => void} act */
    const then = (act) => (/** @type {Event} */ event) => {
      const test = closest(event, ".self-test");
      act.call(this);
      redraw();
      if (test && !test.contains(document.activeElement)) query(test, ".self-test-next").focus();
    };
    const check = html`<button class="self-test-check" type="button" @click=${then(this.#judge)}>
      Check
    </button>`;
    return html`<div class="self-test" data-verdict=${mark}>
      <p class="self-test-ask">${ask}</p>
      <div>
        ${isOver || mark === "right" ? nothing : check}
        <button class="self-test-next" type="button" @click=${then(this.#move)}>${next}</button>
      </div>
      <p class="self-test-verdict" role="status">${words}</p>
    </div>`;
  }

  #judge() {
    const { state } = this.#board;
    const answer = hasRace(state) ? this.#questions[this.#at].judge(state) : null;
    if (!answer) {
      this.#verdict = { mark: "", words: "Choose a token in one of the pictures first." };
    } else if (answer.right) {
      this.#verdict = { mark: "right", words: `Right: ${answer.words}.` };
      this.#right += Number(!this.#tried);
    } else {
      this.#verdict = { mark: "wrong", words: `No: ${answer.words}.` };
      this.#tried = true;
    }
  }

  #move() {
    this.#at = this.#at < this.#questions.length ? this.#at + 1 : 0;
    if (!this.#at) this.#right = 0;
    this.#tried = false;
    this.#verdict = { mark: "", words: "" };
    this.#board.go({ cell: null });
  }
}
