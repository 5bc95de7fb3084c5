// Asks for the prompt where the form is out of sight: on the stage. The hall's proposals can be
// picked there.

import { promptField, query, queryAll, say, templateCopy } from "../dom.js";
import { html, render } from "../vendor/lit-html.js";

const BEGINS = 15_000; // ms in which a race begins, or waits for others

/**
 * Go to the form's prompt. On the stage, which hides the form, ask for a prompt in a dialog and
 * race it. Do nothing on an embedded board, or on a board without a form.
 * @param {HTMLElement} root @param {Pick<State, "present" | "hall">} state
 */
export function askForPrompt(root, state) {
  if (!document.querySelector("#prompt")?.checkVisibility() || queryAll(root, "dialog").length)
    return;
  const field = promptField();
  if (!state.present) return onceWindowed(() => field.select());
  const template = query(root, ".ask-template", HTMLTemplateElement);
  const dialog = query(templateCopy(template), "dialog", HTMLDialogElement);
  const asked = query(dialog, "input", HTMLInputElement);
  const before = field.value;
  let raced = false;
  /** Type a prompt into the form, which says how its model reads it. @param {string} prompt */
  const tell = (prompt) => {
    field.value = prompt;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** @type {Proposed} the hall's prompt that was picked last */
  let picked = { number: 0, text: "" };
  /** @param {Proposed} proposed */
  const pick = (proposed) => {
    picked = proposed;
    asked.value = proposed.text;
    tell(proposed.text);
    asked.focus(); // Enter races it
  };
  const drawHall = () => {
    const proposed = state.hall.map(
      (one) => html`<button type="button" @click=${() => pick(one)}>${one.text}</button>`,
    );
    render(proposed, query(dialog, ".ask-hall"));
  };
  drawHall();
  document.addEventListener("photo-finish-hall", drawHall);
  asked.value = before;
  asked.addEventListener("input", () => tell(asked.value));
  query(dialog, "form").addEventListener("submit", () => {
    raced = true;
    tell(asked.value);
    const { number, text } = picked;
    if (number && text === asked.value) onceRaced(() => sayPicked(number));
    // the form has taken the prompt in by then
    setTimeout(() =>
      document.dispatchEvent(new CustomEvent("photo-finish-press", { detail: "race" })),
    );
  });
  const reading = query(document, "#reading");
  const words = query(dialog, ".ask-reads");
  const sayReading = () => say(words, reading.querySelector("p")?.textContent ?? "");
  const reads = new MutationObserver(sayReading);
  sayReading();
  reads.observe(reading, { childList: true, characterData: true, subtree: true });
  dialog.addEventListener("close", () => {
    if (!raced && field.value !== before) tell(before);
    reads.disconnect();
    document.removeEventListener("photo-finish-hall", drawHall);
    dialog.remove();
  });
  root.append(dialog);
  dialog.showModal();
  asked.select();
}

/** @param {number} number */
const sayPicked = (number) =>
  document.dispatchEvent(new CustomEvent("photo-finish-picked", { detail: number }));

/** Call `act` once the requested race begins, if it ever begins. @param {() => void} act */
const onceRaced = (act) =>
  document.addEventListener("photo-finish-start", act, {
    once: true,
    signal: AbortSignal.timeout(BEGINS),
  });

/**
 * Call `act` once no element fills the screen: until then no other element can take the focus.
 * @param {() => void} act
 */
function onceWindowed(act) {
  if (document.fullscreenElement)
    document.addEventListener("fullscreenchange", act, { once: true });
  else act();
}
