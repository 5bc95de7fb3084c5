// What a visitor does to the board: the transport, the choosers, and pointing at a lane.

import { keepInside } from "../board/inside.js";
import { attribute, closest, finder, make, queryAll } from "../dom.js";
import { clockName, onClock } from "../numbers.js";
import { GROUPS, LAYERS, layerOf, referenceOf } from "../trace/layers.js";
import {
  CLOCKS,
  clockAt,
  clockOf,
  finishers,
  hasRace,
  isOn,
  isOver,
  lanesOn,
  lengthOf,
  nextStep,
  stepsShown,
} from "../trace/replay.js";
import { largestTv, outcomeTarget } from "./jumps.js";
import { MOVES, bindKeys, toggleHelp } from "./keys.js";
import { openSpeaker } from "../stage/speaker_link.js";
import { askForPrompt } from "./prompt_dialog.js";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];
const FLAG = 16; // pixels, the width of a flag on the scrubber, and on the stage by its type:
const FLAG_EMS = 1.15;
const SEEN = 8; // seconds that a recording is to last, roughly

/** The speed at which a recording of so many seconds can be watched. @param {number} seconds */
export function watchable(seconds) {
  /** @param {number} speed */
  const off = (speed) => Math.abs(Math.log(seconds / speed / SEEN));
  return SPEEDS.filter((speed) => speed <= 1).reduce((a, b) => (off(b) < off(a) ? b : a));
}

/**
 * The instant that a step on (or back) leads to: of one lane, or of all lanes that are shown; by
 * passes all move to the next.
 * @param {Raced} state @param {boolean} back
 */
export function stepTarget(state, back) {
  const { race, clock, t, stepping } = state;
  if (stepping === null && clock === "passes") {
    return back ? Math.max(0, Math.ceil(t) - 1) : Math.floor(t) + 1;
  }
  const lanes = (stepping === null ? lanesOn(state) : [stepping]).map((i) => race.lanes[i]);
  return nextStep(lanes.length ? lanes : race.lanes, clock, t, back);
}

/**
 * The instant of the next (or previous) finish. Where there is none, it is the end (or the start)
 * of the race so far.
 * @param {Raced} state @param {boolean} back
 */
export function finishTarget(state, back) {
  const { race, clock, t } = state;
  const lanes = lanesOn(state).map((i) => race.lanes[i]);
  const times = finishers(lanes, clock).map((i) => clockOf(lanes[i], clock));
  if (back) return times.findLast((time) => time < t) ?? 0;
  return times.find((time) => time > t) ?? lengthOf(race, clock);
}

/** Whether the end of a race that is over is shown. @param {Raced} state */
export const isAtEnd = ({ race, clock, t }) => isOver(race) && t >= lengthOf(race, clock);

/**
 * The lane whose step an instant is, and how many steps it has made by then. The lane is the one
 * pointed at, or else the slowest.
 * @param {Raced} state
 */
export function stepOf(state) {
  const { race, clock, cell } = state;
  const ends = race.lanes.map((lane) => clockOf(lane, clock));
  const lane = cell?.lane ?? ends.indexOf(Math.max(...ends));
  return { lane, step: stepsShown(state)[lane] };
}

/**
 * The same instant on another clock: the end of a race that is over is its end, and before it
 * one lane has made as many steps.
 * @param {Raced} state @param {Clock} other
 */
export function sameInstant(state, other) {
  if (isAtEnd(state)) return lengthOf(state.race, other);
  const { lane, step } = stepOf(state);
  return clockAt(state.race.lanes[lane], other, step);
}

/**
 * Wires the controls of the board to `go`. Returns what draws them as the state is.
 * @param {HTMLElement} root @param {Board} board
 */
export function bindControls(root, board) {
  const { state, go } = board;
  const part = finder(root);
  const member = part("member", HTMLSelectElement);
  const reference = part("reference", HTMLSelectElement);
  const speeds = part("speed", HTMLSelectElement);
  const stepping = part("stepping", HTMLSelectElement);
  const scrub = part("scrub", HTMLInputElement);
  /** @param {boolean} back */
  const step = (back) => {
    const t = hasRace(state) ? stepTarget(state, back) : null;
    if (t !== null) go({ t, playing: false });
  };
  /** @param {boolean} back */
  const finish = (back) => {
    if (hasRace(state)) go({ t: finishTarget(state, back), playing: false });
  };
  const moving = () => state.playing || (state.live && state.race?.snapshot.state === "racing");
  const toggle = () => go({ playing: !moving() });
  const slowly = () => {
    if (state.race) go({ t: 0, speed: watchable(lengthOf(state.race, "seconds")), playing: true });
  };
  /** @param {number} by */
  const layer = (by) => {
    const at = LAYERS.findIndex((one) => one.name === state.layer);
    go({ layer: LAYERS[(at + by + LAYERS.length) % LAYERS.length].name });
  };
  const clock = () => go({ clock: CLOCKS[(CLOCKS.indexOf(state.clock) + 1) % CLOCKS.length] });
  /** @param {number} by */
  const speed = (by) => go({ speed: SPEEDS[SPEEDS.indexOf(state.speed) + by] ?? state.speed });
  const isFirstScreen = () => !state.inside && !state.present && !root.dataset.tour;
  /** @param {number} i */
  const show = (i) => {
    if (isFirstScreen()) return go({ front: i });
    const hidden = new Set(state.hidden);
    if (!hidden.delete(i)) hidden.add(i);
    go({ hidden, front: i });
  };
  /** @param {number} i */
  const only = (i) => {
    if (!state.race) return;
    if (isFirstScreen()) return go({ front: i });
    const others = state.race.lanes.map((_, lane) => lane).filter((lane) => lane !== i);
    const alone = !state.hidden.has(i) && state.hidden.size === others.length;
    go({ hidden: new Set(alone ? [] : others), front: i });
  };
  // The page's own buttons are pressed: what is raced, and whether it may, stands in its form.
  const again = () => {
    const detail = state.race && isOn(state.race) ? "stop" : "race";
    document.dispatchEvent(new CustomEvent("photo-finish-press", { detail }));
  };
  /** @param {"rejected" | "saved"} outcome @param {boolean} back */
  const jump = (outcome, back) => {
    const change = hasRace(state) && outcomeTarget(state, outcome, back);
    if (change) go(change);
  };
  const furthest = () => {
    const change = hasRace(state) && largestTv(state);
    if (change) go(change);
  };
  const blank = () => {
    root.dataset.blank = String(Number(state.present && root.dataset.blank !== "1"));
  };
  let yields = false; // whether a new window, the speaker's view, may end the full screen
  const speaker = () => {
    yields = document.fullscreenElement !== null;
    openSpeaker();
  };
  const stage = () => {
    root.dataset.blank = "0";
    if (state.present && yields && !document.fullscreenElement)
      return void root.requestFullscreen();
    go({ present: !state.present });
    if (state.present)
      root.requestFullscreen?.().catch(() => {}); // without it the page itself is the stage
    else if (document.fullscreenElement) document.exitFullscreen();
  };
  /** @param {boolean} inside */
  const lookInside = (inside) => {
    keepInside(inside);
    /** @type {Change} what the first screen has no controls for */
    const plain = { layer: "picture", clock: "seconds", hidden: new Set(), cell: null };
    go({ ...(inside ? {} : { ...plain, stepping: null }), inside, spread: false });
    part(inside ? "fewer" : "look-inside").focus({ preventScroll: true });
  };
  const help = () => toggleHelp(root);
  document.addEventListener("fullscreenchange", () => {
    if (document.fullscreenElement) yields = false;
    else if (state.present && !yields) go({ present: false });
  });

  for (const [group, [{ name, words }, ...others]] of GROUPS) {
    const onclick = () => pressedGroup(state.layer) === group || go({ layer: name });
    const title = others.length ? "" : words;
    part("layers").append(make("button", group, { type: "button", title, onclick }));
  }
  member.addEventListener("change", () => go({ layer: member.value }));
  for (const bar of ["layers", "shown", "clocks"]) bindBar(part(bar));
  for (const button of queryAll(part("clocks"), "button")) {
    const chosen = CLOCKS.find((name) => name === button.dataset.clock);
    button.addEventListener("click", () => go({ clock: chosen }));
  }
  reference.addEventListener("change", () => go({ against: Number(reference.value) }));
  speeds.append(...SPEEDS.map((each) => new Option(`${each}×`, String(each))));
  speeds.addEventListener("change", () => go({ speed: Number(speeds.value) }));
  stepping.addEventListener("change", () => {
    go({ stepping: stepping.value === "" ? null : Number(stepping.value) });
  });
  scrub.addEventListener("input", () => {
    const { value, max } = scrub;
    go({ playing: false });
    go(Number(value) < Number(max) ? { t: Number(value) } : { live: true });
  });
  /** @type {Record<string, (event: Event) => void>} */
  const clicks = {
    "previous-finish": () => finish(true),
    "step-back": () => step(true),
    play: toggle,
    "step-on": () => step(false),
    "next-finish": () => finish(false),
    "live-button": () => go({ live: true }),
    "again-slowly": slowly,
    "look-inside": () => lookInside(true),
    fewer: () => lookInside(false),
    stage,
    "speaker-open": speaker,
    help,
    token: (event) => closest(event, ".token-close") && go({ cell: null }),
  };
  for (const [name, act] of Object.entries(clicks)) part(name).addEventListener("click", act);

  const ideas = () => (root.dataset.ideas = root.dataset.ideas === "1" ? "0" : "1");
  bindKeys(board, scrub, {
    toggle,
    step,
    finish,
    layer,
    clock,
    speed,
    stage,
    speaker,
    help,
    again,
    ideas,
    blank,
    ask: () => askForPrompt(root, state.present),
    jump,
    furthest,
    show,
    only,
  });

  // The scrubber and a flag in pixels; measuring them in each frame would cost a layout.
  const room = { width: 0, flag: FLAG };
  new ResizeObserver(([{ contentRect }]) => {
    room.width = contentRect.width;
    const type = parseFloat(getComputedStyle(part("flags")).fontSize);
    room.flag = state.present ? FLAG_EMS * type : FLAG;
    go({});
  }).observe(part("flags"));

  /** The lanes' own controls, once for every race. @param {Card[]} cards */
  function bindLanes(cards) {
    if (!state.race) return;
    const { lanes } = state.race;
    const buttons = lanes.map(({ title }, i) =>
      make("button", i + 1, {
        type: "button",
        title: `Show or hide ${title} (${i + 1})`,
        "aria-label": `Show ${title}`,
        onclick: () => show(i),
      }),
    );
    part("shown").replaceChildren(...buttons);
    stopAt(part("shown"), buttons[0]);
    const options = () => lanes.map((lane, i) => new Option(lane.title, String(i)));
    stepping.replaceChildren(new Option("all", ""), ...options());
    reference.replaceChildren(...options());
    cards.forEach((card, i) => {
      const end = () => go({ lane: i, step: lanes[i].count, playing: false });
      card.part("number").addEventListener("click", () => show(i));
      card.part("post").addEventListener("click", end);
      bindCanvas(card.canvas, i, board);
    });
  }

  /**
   * Draws all controls, or those that follow the instant.
   * @param {number} length of the scrubber, on the clock @param {boolean} all
   */
  function drawControls(length, all) {
    if (!hasRace(state)) return;
    if (all) drawChoices(state, length);
    const { race, clock, t } = state;
    if (scrub.max !== String(length || 1)) scrub.max = String(length || 1);
    if (Number(scrub.value) !== t) scrub.value = String(t);
    for (const bar of [scrub, part("hairline")])
      bar.style.setProperty("--share", String(length ? t / length : 0));
    attribute(scrub, "aria-valuetext", `${onClock(t, clock)} ${clockName(clock)}`);
    const shown = isOn(race) && state.live ? t : length;
    drawFlags(part("flags"), state, shown, length, room);
  }

  /** @param {Raced} state @param {number} length */
  function drawChoices({ race, clock, hidden }, length) {
    /** @param {Element} button @param {boolean} pressed */
    const press = (button, pressed) => attribute(button, "aria-pressed", pressed);
    const group = pressedGroup(state.layer);
    for (const button of queryAll(part("layers"), "button"))
      press(button, button.textContent === group);
    drawMembers(member, group, state.layer);
    part("against").hidden = state.layer !== "differs";
    reference.value = String(referenceOf(race, state.against));
    for (const button of queryAll(part("clocks"), "button"))
      press(button, button.dataset.clock === clock);
    queryAll(part("shown"), "button").forEach((button, i) => press(button, !hidden.has(i)));
    press(part("stage"), state.present);
    attribute(part("stage"), "aria-label", state.present ? "Leave the stage" : "Full screen");
    const play = state.live && length ? "Play again" : "Play";
    attribute(part("play"), "aria-label", moving() ? "Pause" : play);
    attribute(part("play"), "data-moving", Number(moving()));
    part("live-button").hidden = state.live || race.snapshot.state !== "racing";
    for (const name of ["previous-finish", "step-back", "play", "step-on", "next-finish"])
      part(name, HTMLButtonElement).disabled = !length;
    scrub.disabled = !length;
    speeds.value = String(state.speed);
    stepping.value = String(state.stepping ?? "");
  }

  return { bindLanes, drawControls };
}

/** @param {string} layer */
const pressedGroup = (layer) => layerOf(layer).group;

/**
 * The layers that share the pressed button, to choose from.
 * @param {HTMLSelectElement} member @param {string} group @param {string} layer that is shown
 */
function drawMembers(member, group, layer) {
  const layers = GROUPS.get(group) ?? [];
  const label = member.closest("label");
  if (label) label.hidden = layers.length < 2;
  if (member.dataset.group !== group) {
    const options = layers.map(
      ({ name, plain, title }) => new Option(plain ? `${plain}: ${title}` : title, name),
    );
    member.replaceChildren(...options);
    member.dataset.group = group;
  }
  member.value = layer;
  member.title = layerOf(layer).words;
}

/**
 * The left ends of flags, in pixels and ascending, as near to where they belong as they can be
 * without one flag covering another.
 * @param {number[]} ends where they belong @param {number} width of the scrubber
 * @param {number} flag the width of one
 */
export function sideBySide(ends, width, flag = FLAG) {
  const places = [...ends];
  for (let i = 1; i < places.length; i++) places[i] = Math.max(places[i], places[i - 1] + flag);
  let most = width - flag;
  for (let i = places.length - 1; i >= 0; i--) {
    places[i] = Math.min(places[i], most);
    most -= flag;
  }
  return places;
}

/**
 * Draws the flags of the shown lanes that have finished over the scrubber. They are made again only
 * where one moves by a pixel or so.
 * @param {HTMLElement} panel @param {Raced} state
 * @param {number} until the instant up to which finishes are shown
 * @param {number} length of the scrubber, on the clock
 * @param {{ width: number, flag: number }} room of the scrubber and of a flag, in pixels
 */
function drawFlags(panel, { race, clock, hidden }, until, length, { width, flag }) {
  const done = finishers(race.lanes, clock).filter(
    (i) => !hidden.has(i) && clockOf(race.lanes[i], clock) <= until,
  );
  const shares = done.map((i) => {
    const share = length ? clockOf(race.lanes[i], clock) / length : 0;
    return Math.round(1000 * Math.min(1, share)) / 1000;
  });
  const key = [width, flag, ...done, ...shares].join();
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  const places = sideBySide(
    shares.map((share) => share * width),
    width,
    flag,
  );
  const flags = done.map((i, k) => {
    const nudge = `--nudge: ${(places[k] - shares[k] * width).toFixed(1)}px`;
    return make("i.flag", { style: `left: ${100 * shares[k]}%; ${nudge}` }, make("b", i + 1));
  });
  panel.replaceChildren(...flags);
}

// A row of buttons is one stop of the Tab key, and arrows move within it (WAI-ARIA's toolbar). A
// click takes no focus: arrows stay those of the board.
/** @param {HTMLElement} bar */
function bindBar(bar) {
  stopAt(bar, bar.firstElementChild);
  bar.addEventListener("mousedown", (event) => {
    event.preventDefault();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  bar.addEventListener("focusin", ({ target }) => stopAt(bar, target));
  bar.addEventListener("keydown", (event) => {
    const move = MOVES[event.key]?.[1];
    if (!move || event.shiftKey) return;
    const buttons = queryAll(bar, "button");
    const at = buttons.findIndex((button) => button === event.target);
    buttons.at((at + move) % buttons.length)?.focus();
    event.preventDefault();
  });
}

/** @param {HTMLElement} bar @param {EventTarget | null} stop */
function stopAt(bar, stop) {
  for (const button of queryAll(bar, "button")) button.tabIndex = button === stop ? 0 : -1;
}

// Pointing at a cell previews it, and a click pins it or lets it go. On a lane that has the focus
// Enter pins the cell that was chosen in another one, or else the first.
/** @param {HTMLCanvasElement} canvas @param {number} lane @param {Board} board */
function bindCanvas(canvas, lane, { state, go }) {
  /** @param {MouseEvent} event */
  const cellAt = (event) => {
    const [rows, columns] = state.race?.grid ?? [1, 1];
    const box = canvas.getBoundingClientRect();
    /** @param {number} value @param {number} most */
    const at = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value * most)));
    const row = at((event.clientY - box.top) / box.height, rows);
    return row * columns + at((event.clientX - box.left) / box.width, columns);
  };
  /** @param {number} cell */
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
    go({ cell: is(cell) && state.cell?.pinned ? null : { lane, cell, pinned: true } });
  });
  canvas.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") go({ cell: { lane, cell: state.cell?.cell ?? 0, pinned: true } });
  });
}
