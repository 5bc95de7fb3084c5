// The speaker's view: a window beside the stage with what the stage shows in words, what to say of
// it, what comes next and how long the talk has taken.

import { closest, finder, keep, kept, query, say, templateCopy } from "../dom.js";
import { html, render } from "../vendor/lit-html.js";
import { openChannel } from "./speaker_link.js";

const STARTED = "photo-finish-talk"; // when the talk began, in milliseconds, as long as the window
const SECOND = 1000;
const SILENCE = 3 * SECOND; // after which the stage counts as gone: it answers every second
const NONE =
  "No stage is open in this browser. Press f on the page: this window then follows the stage again.";
/** @type {Record<string, 1 | -1>} */
const TURNS = { PageDown: 1, n: 1, ArrowRight: 1, " ": 1, PageUp: -1, p: -1, ArrowLeft: -1 };

/** Test whether this window is a speaker's view. */
export const isSpeaker = () => new URLSearchParams(location.search).get("speaker") === "1";

/** Write a time as "4:05" or "1:04:05". @param {number} milliseconds */
export function inMinutes(milliseconds) {
  const seconds = Math.floor(Math.max(0, milliseconds) / SECOND);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  /** @param {number} number */
  const two = (number) => String(number).padStart(2, "0");
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
}

/**
 * Show the speaker's view in place of the board.
 * @param {HTMLElement} root that holds the board's markup
 */
export function mountSpeaker(root) {
  const view = templateCopy(query(root, ".speaker-template", HTMLTemplateElement));
  root.replaceChildren(view);
  document.body.classList.add("speaker");
  document.title = "Speaker's view · Photo Finish";
  const part = finder(root);
  const channel = openChannel();
  let heard = Date.now(); // when the stage was heard last
  let started = Number(kept(() => sessionStorage, STARTED)) || start();

  function start() {
    const now = Date.now();
    keep(() => sessionStorage, STARTED, String(now));
    return now;
  }

  /** @param {SpeakerMessage} message */
  const send = (message) => channel?.postMessage(message);

  /** @param {Notes | null} notes */
  function show(notes) {
    say(part("speaker-gone"), notes ? "" : NONE);
    for (const name of ["speaker-count", "speaker-notes", "speaker-next"])
      part(name).hidden = !notes;
    for (const name of ["speaker-back", "speaker-on"])
      part(name, HTMLButtonElement).disabled = !notes;
    if (!notes) return;
    const { count, title, lines, say: words, next } = notes;
    say(part("speaker-count"), count && `Chapter ${count}`);
    say(part("speaker-title"), title);
    say(part("speaker-say"), words);
    say(part("speaker-next"), next ? `Next: ${next}.` : "This is the last chapter.");
    render(
      lines.map((line) => html`<p>${line}</p>`),
      part("speaker-text"),
    );
  }

  function tick() {
    say(part("speaker-time"), inMinutes(Date.now() - started));
    if (Date.now() - heard > SILENCE) show(null);
    send({ ask: true });
  }

  channel?.addEventListener("message", ({ data }) => {
    if (!("notes" in data)) return; // another speaker's view
    heard = data.notes ? Date.now() : 0;
    show(data.notes);
  });
  part("speaker-reset").addEventListener("click", () => {
    started = start();
    tick();
  });
  part("speaker-back").addEventListener("click", () => send({ turn: -1 }));
  part("speaker-on").addEventListener("click", () => send({ turn: 1 }));
  document.addEventListener("keydown", (event) => {
    const by = TURNS[event.key];
    const pressed = event.key === " " && closest(event, "button");
    if (!by || pressed || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    send({ turn: by });
  });
  if (!channel)
    say(
      part("speaker-gone"),
      "This browser blocks messages between the two windows. Open the page outside a frame, or in another browser.",
    );
  tick();
  setInterval(tick, SECOND);
}
