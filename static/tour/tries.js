// The suggestions of the tour's last page. A board without a form has only some of them.

import { askForPrompt } from "../controls/prompt_dialog.js";
import { query, queryAll } from "../dom.js";

const BEYOND = ["gsd", "gsd:G=50"]; // lanes to try: the paper's group, and one five times as large

/**
 * @param {HTMLElement} root @param {Board} board
 * @param {() => void} leave puts back what was there before the tour
 * @param {(change: Change) => void} end ends the tour at this instant
 * @returns {Try[]}
 */
export const triesOf = (root, { state, go }, leave, end) => [
  {
    title: "Race a prompt of your own",
    words: "Type a prompt beside Race, then press Race.",
    needs: "#prompt",
    act: () => {
      leave();
      askForPrompt(query(root, ".board"), state);
    },
  },
  {
    title: "Fill in a part of this picture",
    words: "Paint over a part of it, change the prompt if you like, and race.",
    needs: ".lane:not([hidden]) .fill:not([hidden])",
    act: () => {
      end({ present: false });
      query(root, ".lane:not([hidden]) .fill").click();
    },
  },
  {
    title: "Change a token",
    words: "Each token that could have come has a button, Draw on: what would the picture be?",
    needs: '[data-forks="1"] .lane:not([hidden])',
    act: () => {
      const [rows, columns] = state.race?.grid ?? [1, 1];
      const cell = Math.floor(rows / 2) * columns + Math.floor(columns / 2);
      const lane = queryAll(root, ".lane").findIndex(({ hidden }) => !hidden);
      end({ cell: { lane, cell, pinned: true }, present: false });
    },
  },
  {
    title: "Move to a large GPU",
    words: "The same race in another machine's modelled seconds: who wins there?",
    act: () => go({ clock: "modelled", costs: { ...state.costs, preset: "large" }, live: true }),
  },
  {
    title: "Race GSD against itself",
    words:
      "Groups of 50 tokens beside the paper's groups of 10: are there fewer passes, and is the shift larger?",
    needs: "#race",
    act: () => {
      end({});
      document.dispatchEvent(new CustomEvent("photo-finish-lanes", { detail: BEYOND }));
      setTimeout(() => query(document, "#race").click());
    },
  },
];
