// What a visitor does to the board: the transport, the choosers, pointing at a lane, and the keys
// that do the same.

import { attribute, make } from "./dom.js";
import { LAYERS } from "./layers.js";
import { inSeconds } from "./numbers.js";
import { clockAt, clockOf, finishers, lengthOf, nextStep, stepAt } from "./replay.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

/**
 * The instant that a step on (or back) leads to: of one lane, or of all lanes that are shown; by
 * passes all move to the next.
 * @param {State} state @param {boolean} back
 */
export function stepTarget({ race, clock, t, hidden, stepping }, back) {
  if (stepping === null && clock === "passes") {
    return back ? Math.max(0, Math.ceil(t) - 1) : Math.floor(t) + 1;
  }
  const shown = race.lanes.filter((_, i) => (stepping === null ? !hidden.has(i) : i === stepping));
  return nextStep(shown.length ? shown : race.lanes, clock, t, back);
}

/**
 * The instant of the next (or previous) finish; the start and the end of what there is stand for
 * one.
 * @param {State} state @param {boolean} back
 */
export function finishTarget({ race, clock, t }, back) {
  const times = finishers(race.lanes, clock).map((i) => clockOf(race.lanes[i], clock));
  if (back) return times.findLast((time) => time < t) ?? 0;
  return times.find((time) => time > t) ?? lengthOf(race, clock);
}

/**
 * The instant on another clock at which a lane has made as many steps: the lane pointed at, or else
 * the slowest.
 * @param {State} state @param {Clock} other
 */
export function sameInstant({ race, clock, t, cell }, other) {
  const slower = (a, b) => (clockOf(b, clock) > clockOf(a, clock) ? b : a);
  const lane = cell ? race.lanes[cell.lane] : race.lanes.reduce(slower);
  return clockAt(lane, other, stepAt(lane, clock, t));
}

export const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

export function neighbour({ lane, cell }, [down, right], [rows, columns]) {
  const row = Math.min(rows - 1, Math.max(0, Math.floor(cell / columns) + down));
  const column = Math.min(columns - 1, Math.max(0, (cell % columns) + right));
  return { lane, cell: row * columns + column, pinned: true };
}

// Whether a key belongs to what has the focus: a field, or a button that it would press. The
// scrubber's arrows are ours.
export function isTyped(event, scrub) {
  const target =
    event.target.closest?.("input, textarea, select, [contenteditable], dialog") ?? null;
  if (target && target !== scrub) return true;
  if (target === scrub && ["Home", "End", "PageUp", "PageDown"].includes(event.key)) return true;
  const pressed = event.target.closest?.(
    "button, a, summary, [role=tab], [role=option], [role=button]",
  );
  return Boolean(pressed) && [" ", "Enter"].includes(event.key);
}

/**
 * Wires the controls of the board to `go`. Returns what draws them as the state is.
 * @param {HTMLElement} root @param {Board} board
 */
export function bindControls(root, board) {
  const { state, go } = board;
  const part = (name) => /** @type {any} */ (root.querySelector("." + name));
  const step = (back) => {
    const t = state.race && stepTarget(state, back);
    if (t !== null) go({ t, playing: false });
  };
  const finish = (back) => state.race && go({ t: finishTarget(state, back), playing: false });
  const moving = () => state.playing || (state.live && state.race?.snapshot.state === "racing");
  const toggle = () => go({ playing: !moving() });
  const layer = (by) => {
    const at = LAYERS.findIndex((one) => one.name === state.layer);
    go({ layer: LAYERS[(at + by + LAYERS.length) % LAYERS.length].name });
  };
  const show = (i) => {
    const hidden = new Set(state.hidden);
    if (!hidden.delete(i)) hidden.add(i);
    go({ hidden });
  };
  const stage = () => {
    go({ present: !state.present });
    if (state.present)
      root.requestFullscreen?.().catch(() => {}); // else the page itself is the stage
    else if (document.fullscreenElement) document.exitFullscreen();
  };
  const help = () => toggleHelp(root);
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement && state.present) go({ present: false });
  });

  for (const { name, title, words } of LAYERS) {
    const onclick = () => go({ layer: name });
    part("layers").append(
      make("button", title, { type: "button", title: words, "data-layer": name, onclick }),
    );
  }
  for (const button of part("clocks").children) {
    button.addEventListener("click", () => go({ clock: button.dataset.clock }));
  }
  part("speed").append(...SPEEDS.map((speed) => new Option(`${speed}×`, String(speed))));
  part("speed").addEventListener("change", () => go({ speed: Number(part("speed").value) }));
  part("stepping").addEventListener("change", () => {
    go({ stepping: part("stepping").value === "" ? null : Number(part("stepping").value) });
  });
  part("scrub").addEventListener("input", () => {
    const { value, max } = part("scrub");
    go(Number(value) < Number(max) ? { t: Number(value), playing: false } : { live: true });
  });
  const clicks = {
    "previous-finish": () => finish(true),
    "step-back": () => step(true),
    play: toggle,
    "step-on": () => step(false),
    "next-finish": () => finish(false),
    "live-button": () => go({ live: true }),
    stage,
    help,
    token: (event) => event.target.closest(".token-close") && go({ cell: null }),
  };
  for (const [name, act] of Object.entries(clicks)) part(name).addEventListener("click", act);

  const keys = {
    " ": toggle,
    ArrowLeft: () => step(true),
    ArrowRight: () => step(false),
    l: () => layer(1),
    f: stage,
    "?": help,
    Escape: () => (state.cell ? go({ cell: null }) : state.present && stage()),
  };
  const shifted = {
    ArrowLeft: () => finish(true),
    ArrowRight: () => finish(false),
    l: () => layer(-1),
    "?": help,
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!state.race || isTyped(event, part("scrub"))) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const [move, number] = [MOVES[name], Number(name)];
    const focused = document.activeElement?.closest?.(".lane canvas");
    let act = (event.shiftKey ? shifted : keys)[name];
    if (move && !event.shiftKey && focused && state.cell) {
      act = () => go({ cell: neighbour(state.cell, move, state.race.grid) });
    } else if (number >= 1 && number <= state.race.lanes.length) act = () => show(number - 1);
    if (!act) return;
    event.preventDefault();
    act();
  });

  /** The lanes' own controls, once for every race. @param {Card[]} cards */
  function bindLanes(cards) {
    const { lanes } = state.race;
    const buttons = lanes.map(({ title }, i) =>
      make("button", i + 1, {
        ...{ type: "button", title: `Show or hide ${title} (${i + 1})` },
        ...{ "aria-label": `Show ${title}`, onclick: () => show(i) },
      }),
    );
    part("shown").replaceChildren(...buttons);
    const options = lanes.map((lane, i) => new Option(lane.title, String(i)));
    part("stepping").replaceChildren(new Option("all", ""), ...options);
    cards.forEach((card, i) => {
      const end = () => go({ lane: i, step: lanes[i].count, playing: false });
      card.part("number").addEventListener("click", () => show(i));
      card.part("post").addEventListener("click", end);
      bindCanvas(card.canvas, i, { state, go });
    });
  }

  function drawControls(length) {
    const { race, clock, t, hidden } = state;
    const press = (button, pressed) => attribute(button, "aria-pressed", pressed);
    for (const button of part("layers").children)
      press(button, button.dataset.layer === state.layer);
    for (const button of part("clocks").children) press(button, button.dataset.clock === clock);
    [...part("shown").children].forEach((button, i) => press(button, !hidden.has(i)));
    press(part("stage"), state.present);
    const words = moving() ? "Pause" : state.live && length ? "Play again" : "Play";
    attribute(part("play"), "aria-label", words);
    attribute(part("play"), "data-moving", Number(moving()));
    part("live-button").hidden = state.live || race.snapshot.state !== "racing";
    const scrub = part("scrub");
    if (scrub.max !== String(length || 1)) scrub.max = length || 1;
    if (Number(scrub.value) !== t) scrub.value = t;
    scrub.style.setProperty("--share", length ? t / length : 0);
    const instant = clock === "seconds" ? `${inSeconds(t)} seconds` : `${Math.floor(t)} passes`;
    attribute(scrub, "aria-valuetext", instant);
    const moves = ["previous-finish", "step-back", "play", "step-on", "next-finish", "scrub"];
    for (const name of moves) part(name).disabled = !length;
    part("speed").value = state.speed;
    part("stepping").value = state.stepping ?? "";
    drawFlags(part("flags"), race, clock, length);
  }

  return { bindLanes, drawControls };
}

// The flags of the lanes that have finished, over the scrubber; made again only when one has.
function drawFlags(panel, race, clock, length) {
  const done = finishers(race.lanes, clock);
  const key = [clock, length, ...done].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  let [edge, level] = [-Infinity, 0];
  const flags = done.map((i) => {
    const share = length ? Math.min(1, clockOf(race.lanes[i], clock) / length) : 0;
    level = share - edge < 0.05 ? (level + 1) % 3 : 0; // or it would hide the last
    edge = share;
    const style = `left: ${100 * share}%; --level: ${level}`;
    return make(share > 0.97 ? "i.flag.inwards" : "i.flag", { style }, make("b", i + 1));
  });
  panel.replaceChildren(...flags);
}

// Pointing previews a cell, a click pins it or lets it go, and the keyboard's focus selects.
function bindCanvas(canvas, lane, { state, go }) {
  const cellAt = (event) => {
    const [rows, columns] = state.race.grid;
    const box = canvas.getBoundingClientRect();
    const at = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value * most)));
    const row = at((event.clientY - box.top) / box.height, rows);
    return row * columns + at((event.clientX - box.left) / box.width, columns);
  };
  const is = (cell) => state.cell?.lane === lane && state.cell.cell === cell;
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    const free = event.pointerType !== "touch" && !state.cell?.pinned;
    if (free && !is(cell)) go({ cell: { lane, cell, pinned: false } });
  });
  canvas.addEventListener("pointerleave", () => {
    if (state.cell && !state.cell.pinned) go({ cell: null });
  });
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    go({ cell: is(cell) && state.cell.pinned ? null : { lane, cell, pinned: true } });
  });
  canvas.addEventListener("focus", () => {
    if (!canvas.matches(":focus-visible")) return;
    go({ cell: { lane, cell: state.cell?.cell ?? 0, pinned: true } });
  });
}

// Opens the help, or closes it. A modal dialog keeps the focus, and gives it back.
function toggleHelp(root) {
  const open = root.querySelector("dialog.keys");
  if (open) return open.close();
  const dialog = root.querySelector(".keys-template").content.firstElementChild.cloneNode(true);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the board's keys rest meanwhile
    if (event.key === "?") dialog.close();
  });
  root.append(dialog);
  dialog.showModal();
}
