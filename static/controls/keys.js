// The keys of the board, which do what its controls do, and the help that lists them.

import { closest, keep, kept, query, queryAll, templateCopy } from "../dom.js";
import { LAYERS } from "../trace/layers.js";
import { hasRace } from "../trace/replay.js";
import { glossaryRows, helpRow } from "../panels/terms.js";
import { render } from "../vendor/lit-html.js";
import { MOVES, neighbour } from "./moves.js";

const STORE = "photo-finish-keys"; // kept as "off" where letters, digits and signs are no keys

const SCROLLING = /^(Arrow|Page|Home|End)|^ $/;

// Test whether a key belongs to the element in focus: a field, a table that it scrolls, or a button
// that it would press. The scrubber leaves its arrows to the board.
/** @param {KeyboardEvent} event @param {Element} scrub */
export function isTyped(event, scrub) {
  const target = closest(event, "input, textarea, select, [contenteditable], dialog");
  if (target && target !== scrub) return true;
  if (target === scrub && ["Home", "End", "PageUp", "PageDown"].includes(event.key)) return true;
  if (closest(event, ".scroll") && SCROLLING.test(event.key)) return true;
  const pressed = closest(event, "button, a, summary, [role=tab], [role=option], [role=button]");
  return Boolean(pressed) && [" ", "Enter"].includes(event.key);
}

// Test whether letters, digits and signs act as keys. Visitors who speak to their computer may turn
// them off.
const charactersAct = () => kept(() => localStorage, STORE) !== "off";

/** @param {boolean} on */
const setCharacters = (on) => keep(() => localStorage, STORE, on ? "on" : "off");

/**
 * Test whether the board has to ignore a key. The key may belong to the browser, or to a field
 * other than the scrubber, or the visitor may have turned it off.
 * @param {KeyboardEvent} event
 */
export function isResting(event) {
  const character = event.key.length === 1 && event.key !== " ";
  if (event.ctrlKey || event.altKey || event.metaKey) return true;
  if (closest(event, "input:not([type=range]), textarea, select, [contenteditable]")) return true;
  return event.defaultPrevented || (character && !charactersAct());
}

/** Test whether a dialog or a menu covers the page and takes the keys. */
export const isCovered = () =>
  document.querySelector("dialog[open], [popover=auto]:popover-open") !== null;

/**
 * Bind the keys to the acts of the board's controls.
 * @param {Board} board @param {HTMLInputElement} scrub @param {Acts} acts
 */
export function bindKeys({ state, go }, scrub, acts) {
  const leave = () => state.present && acts.stage();
  /** @type {Record<string, () => void>} */
  const keys = {
    " ": acts.toggle,
    ArrowLeft: () => acts.step(true),
    ArrowRight: () => acts.step(false),
    Home: () => go({ t: 0, playing: false }),
    End: () => go({ live: true }),
    c: acts.clock,
    i: acts.ideas,
    b: acts.blank,
    ".": acts.blank,
    "/": acts.ask,
    x: () => acts.jump("rejected", false),
    s: () => acts.jump("saved", false),
    v: acts.furthest,
    "-": () => acts.speed(-1),
    "=": () => acts.speed(1),
    "+": () => acts.speed(1),
    l: () => acts.layer(1),
    r: acts.again,
    f: acts.stage,
    w: acts.speaker,
    q: leave,
    "?": acts.help,
    Escape: () => (state.cell ? go({ cell: null }) : leave()),
  };
  /** @type {Record<string, () => void>} */
  const shifted = {
    ArrowLeft: () => acts.finish(true),
    ArrowRight: () => acts.finish(false),
    "+": keys["+"],
    l: () => acts.layer(-1),
    x: () => acts.jump("rejected", true),
    s: () => acts.jump("saved", true),
    "/": acts.ask, // a sign that needs Shift on some keyboards
    "?": acts.help,
  };
  document.addEventListener("keydown", (event) => {
    if (isResting(event) || !hasRace(state) || isTyped(event, scrub)) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (name !== "?" && isCovered()) return;
    const move = MOVES[name];
    const number = Number(/^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1]); // shifted, too
    const focused = queryAll(document, ".lane canvas").findIndex(
      (canvas) => canvas === document.activeElement,
    );
    let act = (event.shiftKey ? shifted : keys)[name];
    if (move && !event.shiftKey && state.cell?.lane === focused) {
      const cell = neighbour(state.cell, move, state.race.grid);
      act = () => go({ cell });
    } else if (number >= 1 && number <= state.race.lanes.length) {
      act = () => (event.shiftKey ? acts.only : acts.show)(number - 1);
    }
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/**
 * Open the help, or close it. The help is a modal dialog, which holds the focus and gives it back.
 * @param {HTMLElement} root @param {string} [entry] of the glossary, to scroll to
 */
export function toggleHelp(root, entry) {
  const open = queryAll(root, "dialog.keys");
  if (open[0] instanceof HTMLDialogElement) return open[0].close();
  const template = query(root, ".keys-template", HTMLTemplateElement);
  const dialog = query(templateCopy(template), "dialog", HTMLDialogElement);
  const letters = query(dialog, ".letters", HTMLInputElement);
  letters.checked = charactersAct();
  letters.addEventListener("change", () => setCharacters(letters.checked));
  render(shownWords(root), query(dialog, ".shown-words"));
  render(glossaryRows(), query(dialog, ".glossary-words"));
  dialog.addEventListener("click", (event) => {
    const { target, clientX: x, clientY: y } = event;
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    const outside = x < left || x > right || y < top || y > bottom;
    if (closest(event, ".keys-close") || (target === dialog && outside)) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the board's keys rest meanwhile
    if (event.key === "?") dialog.close();
  });
  root.append(dialog);
  dialog.showModal();
  const row = queryAll(dialog, "[data-entry]").find(({ dataset }) => dataset.entry === entry);
  row?.classList.add("asked");
  row?.scrollIntoView({ block: "center" });
}

// Add the canvases' pointer hints to the help as rows, for those who cannot point.
/** @param {HTMLElement} root */
function shownWords(root) {
  const pointed = ".lane .badge[title], .lane dl [title], .results th[title]";
  const words = new Map(LAYERS.map((layer) => [layer.title, layer.words]));
  for (const element of queryAll(root, pointed)) {
    words.set((element.querySelector("dt") ?? element).textContent, element.title);
  }
  return [...words].map(([name, text]) => helpRow(name, text));
}
