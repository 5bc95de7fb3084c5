// The picture to fill in, and the mask that is painted on it; or a fork, which is drawn on from
// where it is. Gradio runs this text once, with `element`, `props` and `watch`. The value is an
// Infilling, or "" where whole pictures are drawn.

import { forkInWords, isFork } from "../board/fork.js";
import { MOVES, neighbour } from "../controls/moves.js";
import { attribute, colourNamed, finder, penOf, query, queryAll, say, sized } from "../dom.js";
import { pasteSwatch, toFill } from "../lanes/marks.js";
import { decodeImage } from "../lanes/picture.js";
import { lastOf } from "../numbers.js";
import { announceMask, boxBetween, painted, rowsFrom, scattered, strokeBetween } from "./mask.js";

const SCATTERED = 1 / 8; // of the tokens, at once
const SIDE = 32; // pixels of a token, on the canvas
/** @type {Record<string, string>} */
const ORDERS = {
  spread: "Each token lies far from those just before it, so guesses fit together more often.",
  raster: "Row by row, as whole pictures are drawn.",
};

const form = /** @type {FillInProps} */ (props);
/** @type {FillInFacts} */
const facts = JSON.parse(form.facts);
const panel = query(element, ".fill-in");
const part = finder(panel);
const canvas = query(panel, "canvas", HTMLCanvasElement);
const order = query(panel, "select", HTMLSelectElement);
const state = {
  model: "",
  /** @type {number[]} */ codes: [], // tokens of the picture, -1 for unknown ones
  /** @type {Set<number>} */ mask: new Set(),
  /** @type {[number, number]} */ grid: [1, 1],
  /** @type {HTMLCanvasElement | HTMLImageElement | null} */ picture: null,
  own: false, // whether it is the visitor's, and not one of the board's
  /** @type {HTMLImageElement | null} */ swatches: null,
  tool: "box",
  cell: 0, // the one that keys or the pointer have chosen
  anchor: 0, // the corner of a box across from it
  open: false,
};
/** @type {{ from: number, at: number, mask: Set<number> } | null} while a pointer is down */
let drag = null;

const drawsOn = () => isFork(form.value || null);
const countInWords = () =>
  `${state.mask.size} of ${state.codes.length} tokens to ${drawsOn() ? "draw on" : "fill in"}`;
// Return the part that can be filled in. A fork draws the rest of a picture, as below a row.
const fills = () => (drawsOn() ? "below" : (facts.fillable[state.model]?.[3] ?? "any"));
const orderNow = () => (fills() === "below" ? "raster" : order.value);
const chosen = () =>
  fills() === "below"
    ? rowsFrom(state.cell, state.grid)
    : boxBetween(state.anchor, state.cell, state.grid[1]);

const knownNow = () => state.codes.map((code, cell) => (state.mask.has(cell) ? -1 : code));

/** @param {Set<number>} mask */
function change(mask) {
  state.codes.forEach((code, cell) => code < 0 && mask.add(cell)); // what is not known is filled in
  state.mask = mask;
  form.value = { known: knownNow(), order: orderNow(), model: state.model };
  draw();
}

function draw() {
  panel.hidden = !form.value;
  const detail = panel.hidden ? "" : fills();
  document.dispatchEvent(new CustomEvent("photo-finish-filling", { detail }));
  if (panel.hidden) return;
  attribute(panel, "data-open", Number(state.open));
  attribute(panel, "data-fills", fills());
  attribute(panel, "data-own", Number(state.own));
  attribute(panel, "data-fork", Number(drawsOn()));
  say(part("fill-count"), `${countInWords()}${whereInWords()}.`);
  part("fill-race", HTMLButtonElement).disabled = !state.mask.size;
  for (const button of queryAll(part("fill-tools"), "button"))
    attribute(button, "aria-pressed", button.dataset.tool === state.tool);
  say(query(panel, "small"), ORDERS[order.value]);
  drawMask();
}

// Say from where a fork is drawn on, or in which order a folded picture is filled in.
function whereInWords() {
  if (form.value && drawsOn()) {
    const words = forkInWords(form.value, state.grid[1]);
    return words && `, from ${words}`;
  }
  return state.open ? "" : `, in ${orderNow()} order`;
}

function drawMask() {
  const [rows, columns] = state.grid;
  const context = penOf(sized(canvas, SIDE * columns, SIDE * rows));
  const colours = getComputedStyle(panel);
  const ink = colourNamed(colours, "ink");
  const card = colourNamed(colours, "card");
  const rule = colourNamed(colours, "rule");
  /** @param {number} cell */
  const corner = (cell) => [(cell % columns) * SIDE, Math.floor(cell / columns) * SIDE];
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  if (state.picture) context.drawImage(state.picture, 0, 0, canvas.width, canvas.height);
  state.codes.forEach((code, cell) => {
    const [x, y] = corner(cell);
    const style = { swatches: state.swatches, rule };
    if (!state.picture && code >= 0) pasteSwatch(context, code, x, y, SIDE, style);
    if (!state.mask.has(cell)) return;
    for (const fill of [card, toFill(context, SIDE)]) {
      context.fillStyle = fill;
      context.fillRect(x, y, SIDE, SIDE);
    }
  });
  const boxed = drag && state.tool === "box" && fills() === "any";
  const cells = drag && boxed ? boxBetween(drag.from, drag.at, columns) : chosen();
  if (!drag && !canvas.matches(":focus-visible")) return;
  const [left, top] = corner(cells[0]);
  const [right, bottom] = corner(lastOf(cells));
  for (const { colour, width } of [
    { colour: card, width: 8 },
    { colour: ink, width: 4 },
  ]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(left + 4, top + 4, right - left + SIDE - 8, bottom - top + SIDE - 8);
  }
}

/** @param {MouseEvent} event */
function cellAt({ clientX, clientY }) {
  const [rows, columns] = state.grid;
  const box = canvas.getBoundingClientRect();
  /** @param {number} value @param {number} most */
  const at = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value * most)));
  return (
    at((clientY - box.top) / box.height, rows) * columns +
    at((clientX - box.left) / box.width, columns)
  );
}

canvas.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  canvas.setPointerCapture(event.pointerId);
  const cell = cellAt(event);
  drag = { from: cell, at: cell, mask: state.mask };
  state.cell = cell;
  state.anchor = cell;
  paint(cell);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag && cellAt(event) !== drag.at) paint(cellAt(event));
});
for (const name of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(name, () => {
    drag = null;
    draw();
  });
}

// Paint the mask as a drag reaches a cell. A box, and the rows from one down, replace what the same
// drag has painted so far. Strokes add to it.
/** @param {number} cell */
function paint(cell) {
  if (!drag) return;
  const { tool } = state;
  const from = drag.at;
  drag.at = cell;
  if (fills() === "below") {
    state.cell = cell;
    change(new Set(chosen()));
  } else if (tool === "box")
    change(painted(drag.mask, boxBetween(drag.from, cell, state.grid[1]), true));
  else change(painted(state.mask, strokeBetween(from, cell, state.grid), tool === "brush"));
}

canvas.addEventListener("keydown", (event) => {
  const move = MOVES[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey || !(move || event.key === " ")) return;
  event.preventDefault();
  event.stopPropagation(); // the board's keys rest meanwhile
  if (move) {
    state.cell = neighbour({ lane: 0, cell: state.cell }, move, state.grid).cell;
    if (!event.shiftKey) state.anchor = state.cell;
    drawMask();
  } else {
    const cells = chosen();
    const mask = !cells.every((cell) => state.mask.has(cell));
    change(fills() === "below" ? new Set(cells) : painted(state.mask, cells, mask));
  }
  announceMask(part("fill-live"), chosen(), state.mask, state.grid[1], countInWords());
});
for (const name of ["focus", "blur"]) canvas.addEventListener(name, drawMask);
new MutationObserver(drawMask).observe(document.body, { attributeFilter: ["class"] }); // dark or not

/** @type {Record<string, () => Set<number>>} */
const acts = {
  scatter: () =>
    scattered(state.mask, state.codes.length, Math.ceil(state.codes.length * SCATTERED)),
  invert: () => new Set(state.codes.map((_, cell) => cell).filter((cell) => !state.mask.has(cell))),
  clear: () => new Set(),
};
panel.addEventListener("click", ({ target }) => {
  if (!(target instanceof HTMLElement)) return;
  const { tool, act } = target.dataset;
  if (tool) {
    state.tool = tool;
    draw();
  }
  if (act) change(acts[act]());
});
order.append(...Object.keys(ORDERS).map((name) => new Option(name)));
order.addEventListener("change", () => change(state.mask));
part("fill-race").addEventListener("click", () => document.getElementById("race")?.click());
part("fill-again").addEventListener("click", () => show(true));
part("fill-whole").addEventListener("click", () => {
  form.value = "";
  draw();
});

/** @param {boolean} open */
function show(open) {
  state.open = open;
  draw();
  if (open) panel.scrollIntoView({ block: "center" });
}

/** @param {HTMLCanvasElement} picture */
function copyOf(picture) {
  const copy = sized(document.createElement("canvas"), picture.width, picture.height);
  penOf(copy).drawImage(picture, 0, 0);
  return copy;
}

/**
 * Open a picture with nothing masked.
 * @param {Pick<typeof state, "model" | "codes" | "grid" | "picture" | "own">} picture
 */
function begin(picture) {
  const before = panel.hidden ? "" : fills();
  form.value = ""; // which may be a fork
  Object.assign(state, picture, { cell: 0, anchor: 0 });
  change(new Set());
  const detail = facts.lanes[fills()];
  if (before !== fills()) document.dispatchEvent(new CustomEvent("photo-finish-lanes", { detail }));
  show(true);
  canvas.focus({ preventScroll: true });
}

// The board hands over one of its pictures.
document.addEventListener("photo-finish-fill", ({ detail }) =>
  begin({ ...detail, picture: copyOf(detail.picture), own: false }),
);
document.addEventListener("photo-finish-start", () => show(false));

// Take in the form's value: a picture of the visitor's own; or a mask, from a link or of a race on
// the board, whose unmasked tokens alone are known.
async function read() {
  if (!form.value) return draw();
  const { known, order: name, model, picture: own } = form.value;
  const [rows, columns] = facts.fillable[model] ?? [0, 0];
  if (own) {
    const picture = await decodeImage(own);
    return begin({ model, codes: known, grid: [rows, columns], picture, own: true });
  }
  const isPainted = name === orderNow() && String(known) === String(knownNow());
  if (!panel.hidden && isPainted) return; // here, so it is drawn already
  if (rows * columns !== known.length) return;
  const mask = new Set(known.map((_, cell) => cell).filter((cell) => known[cell] < 0));
  Object.assign(state, { model, codes: known, grid: [rows, columns], mask });
  Object.assign(state, { picture: null, own: false });
  state.open = !drawsOn();
  if (!drawsOn()) order.value = name ?? "";
  draw();
  // The board may have a picture with the same tokens; if not, their swatches are drawn.
  /**
   * @param {string} swatches @param {{ known: number[], canvas: HTMLCanvasElement } | null} picture
   */
  const detail = async (swatches, picture) => {
    if (picture && String(picture.known) === String(known)) state.picture = copyOf(picture.canvas);
    state.swatches = await decodeImage(swatches);
    drawMask();
  };
  document.dispatchEvent(new CustomEvent("photo-finish-swatches", { detail }));
}
watch("value", read);
