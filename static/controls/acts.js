// The acts of the board: keys and buttons call them.

import { keepInside } from "../board/inside.js";
import { query } from "../dom.js";
import { openSpeaker } from "../stage/speaker_link.js";
import { LAYERS } from "../trace/layers.js";
import { CLOCKS, hasRace, isOn, lengthOf } from "../trace/replay.js";
import { SPEEDS, finishTarget, isMoving, stepTarget, watchable } from "./instants.js";
import { largestTv, outcomeTarget } from "./jumps.js";
import { toggleHelp } from "./keys.js";
import { askForPrompt } from "./prompt_dialog.js";

/** @param {HTMLElement} root @param {Board} board @returns {Acts} */
export function actsOf(root, { state, go }) {
  const isFirstScreen = () => !state.inside && !state.present && !root.dataset.tour;
  const screen = fullScreen(root, { state, go });
  return {
    toggle: () => go({ playing: !isMoving(state) }),
    step(back) {
      const t = hasRace(state) ? stepTarget(state, back) : null;
      if (t !== null) go({ t, playing: false });
    },
    finish(back) {
      if (hasRace(state)) go({ t: finishTarget(state, back), playing: false });
    },
    slowly() {
      if (!state.race) return;
      go({ t: 0, speed: watchable(lengthOf(state.race, "seconds")), playing: true });
    },
    layer(by) {
      const at = LAYERS.findIndex((one) => one.name === state.layer);
      go({ layer: LAYERS[(at + by + LAYERS.length) % LAYERS.length].name });
    },
    clock: () => go({ clock: CLOCKS[(CLOCKS.indexOf(state.clock) + 1) % CLOCKS.length] }),
    speed: (by) => go({ speed: SPEEDS[SPEEDS.indexOf(state.speed) + by] ?? state.speed }),
    show(i) {
      if (isFirstScreen()) return go({ front: i });
      const hidden = new Set(state.hidden);
      if (!hidden.delete(i)) hidden.add(i);
      go({ hidden, front: i });
    },
    only(i) {
      if (!state.race) return;
      if (isFirstScreen()) return go({ front: i });
      const others = state.race.lanes.map((_, lane) => lane).filter((lane) => lane !== i);
      const alone = !state.hidden.has(i) && state.hidden.size === others.length;
      go({ hidden: new Set(alone ? [] : others), front: i });
    },
    // Press the form's own Race or Stop button: the form holds the settings, and knows whether a
    // race may start.
    again() {
      const detail = state.race && isOn(state.race) ? "stop" : "race";
      document.dispatchEvent(new CustomEvent("photo-finish-press", { detail }));
    },
    jump(outcome, back) {
      const change = hasRace(state) && outcomeTarget(state, outcome, back);
      if (change) go(change);
    },
    furthest() {
      const change = hasRace(state) && largestTv(state);
      if (change) go(change);
    },
    lookInside(inside) {
      keepInside(inside);
      /** @type {Change} the settings that the first screen has no controls for */
      const plain = { layer: "picture", clock: "seconds", hidden: new Set(), cell: null };
      go({ ...(inside ? {} : { ...plain, stepping: null }), inside, spread: false });
      query(root, inside ? ".fewer" : ".look-inside").focus({ preventScroll: true });
    },
    ideas: () => void (root.dataset.ideas = root.dataset.ideas === "1" ? "0" : "1"),
    help: (entry) => toggleHelp(root, entry),
    ask: () => askForPrompt(root, state),
    ...screen,
  };
}

/**
 * Return the acts of the stage and of the speaker's window. The stage fills the screen if the
 * browser allows it; opening the speaker's window may end the full screen.
 * @param {HTMLElement} root @param {Pick<Board, "state" | "go">} board
 */
function fullScreen(root, { state, go }) {
  let yields = false; // whether a new window, the speaker's view, may end the full screen
  document.addEventListener("fullscreenchange", () => {
    if (state.present && !yields && !document.fullscreenElement) go({ present: false });
  });
  // Without the full screen the page itself is the stage. The browser may tell of it late, after
  // the speaker's view was opened.
  function fill() {
    yields = false;
    root.requestFullscreen?.().catch(() => {});
  }
  return {
    blank() {
      root.dataset.blank = String(Number(state.present && root.dataset.blank !== "1"));
    },
    speaker() {
      yields = document.fullscreenElement !== null;
      openSpeaker();
    },
    stage() {
      root.dataset.blank = "0";
      if (state.present && yields && !document.fullscreenElement) return fill();
      go({ present: !state.present });
      if (state.present) fill();
      else if (document.fullscreenElement) document.exitFullscreen();
    },
  };
}
