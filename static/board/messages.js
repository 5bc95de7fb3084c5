// Messages between the board and the page that shows it in a frame, a slide or an article: what may
// be sent and what is answered stands in docs/embedding.md.

import { hasRace, isOn, lengthOf, stepsShown } from "../trace/replay.js";

const MEASURED = /** @type {const} */ (["seconds", "passes"]); // the clocks that a race was run by
const WRONG =
  'The board does not know this message. Send { photoFinish: "play" }, the same with "pause" or ' +
  '"state", or { photoFinish: "seek", t, clock }: t is a number from 0 or "end"; clock, if there ' +
  'is one, "seconds" or "passes".';

/**
 * Read the change that a message asks of the board. Return an empty change if the message asks for
 * the state, and null if the message is not for the board. Throw a RangeError if a message for the
 * board is malformed.
 * @param {unknown} data @returns {Change | null}
 */
export function readMessage(data) {
  if (typeof data !== "object" || data === null || !("photoFinish" in data)) return null;
  const { photoFinish, t, clock } = /** @type {Record<string, unknown>} */ (data);
  if (photoFinish === "play") return { playing: true };
  if (photoFinish === "pause") return { playing: false };
  if (photoFinish === "state") return {};
  const by = MEASURED.find((name) => name === clock);
  if (photoFinish !== "seek" || (clock !== undefined && !by)) throw new RangeError(WRONG);
  const change = by ? { clock: by } : {};
  if (t === "end") return { ...change, live: true };
  if (typeof t === "number" && t >= 0 && t < Infinity) return { ...change, t };
  throw new RangeError(WRONG);
}

/**
 * Return the message that describes the board's state, with the lanes that are shown.
 * @param {Raced} state
 */
export function stateMessage(state) {
  const { race, clock, t, layer, live } = state;
  const steps = stepsShown(state);
  const lanes = race.lanes.flatMap(({ title, decoder, total, steps: made }, i) => {
    if (state.hidden.has(i)) return [];
    const last = steps[i] ? made[steps[i] - 1] : null;
    return { title, decoder, total, tokens: last?.after ?? 0, passes: last?.passes ?? 0 };
  });
  const { prompt, seed } = race.snapshot;
  const playing = state.playing || (live && isOn(race));
  const ended = live && !isOn(race);
  const length = lengthOf(race, clock);
  return {
    photoFinish: "state",
    race: { prompt, seed },
    clock,
    t,
    length,
    playing,
    ended,
    layer,
    lanes,
  };
}

/**
 * Obey the messages of the page around this frame, and answer only that page. Once a race is on the
 * board, tell the page so, and do what the page asked for earlier. After the page's first request,
 * tell it of every change.
 * @param {Board} board
 */
export function answerMessages({ state, go, onChange }) {
  const { parent } = window;
  if (parent === window) return;
  let ready = false;
  /** @type {Change[]} the changes asked for before a race was on the board */
  const held = [];
  let target = ""; // the origin that the answers are for
  let sent = ""; // what was sent last

  function tell() {
    if (!hasRace(state)) return;
    const answer = stateMessage(state);
    const text = JSON.stringify(answer);
    if (!target || text === sent) return;
    sent = text;
    parent.postMessage(answer, target);
  }

  window.addEventListener("message", ({ data, source, origin }) => {
    if (source !== parent) return;
    // A page from a disk has no origin that an answer could name.
    const asker = /^https?:/.test(origin) ? origin : "*";
    try {
      const change = readMessage(data);
      if (!change) return;
      target = asker;
      sent = ""; // whoever asks is answered
      if (!ready) held.push(change);
      else if (Object.keys(change).length) go(change);
      else tell();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      parent.postMessage({ photoFinish: "error", error: error.message }, asker);
    }
  });
  onChange(({ race }) => {
    if (!race.snapshot.prompt) return; // the board waits for a race
    if (!ready) parent.postMessage({ photoFinish: "ready" }, "*"); // it says nothing of the race
    ready = true;
    for (const change of held.splice(0)) go(change);
    tell();
  });
}
