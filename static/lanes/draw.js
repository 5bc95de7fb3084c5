// Draws one lane on its canvas. Committed cells never change, so each lane keeps a plane: all its
// committed cells in the layer that is shown, at the canvas's own size. An instant is then a part
// of the plane, the drafts, and the frontier.

import { penOf, sized } from "../dom.js";
import look from "../look.json" with { type: "json" };
import { STATUSES, colourOf, countShare, layerValue } from "../trace/layers.js";
import { laneAt } from "../trace/replay.js";
import { noValue, pasteMark, pasteSwatch, toFill } from "./marks.js";

const TESTED = ["accepted", "resampled", "rejected", "dropped"]; // what may become of a draft
const TEST = { size: 0.6, opacity: 0.8 }; // of the mark on a cell of the picture

/**
 * Cover the cells [from, to), in raster order, with at most three rectangles [column, row, columns,
 * rows].
 * @param {number} from @param {number} to @param {number} columns
 * @returns {Box[]}
 */
export function rectangles(from, to, columns) {
  /** @type {Box[]} */
  const out = [];
  let cell = from;
  while (cell < to) {
    const row = Math.floor(cell / columns);
    const column = cell % columns;
    const whole = column === 0 ? Math.floor((to - cell) / columns) : 0;
    const width = whole ? columns : Math.min(columns - column, to - cell);
    out.push([column, row, width, whole || 1]);
    cell += whole ? whole * columns : width;
  }
  return out;
}

/**
 * Cover cells, in any order, with rectangles. Neighbours in a row share a rectangle if they follow
 * one another in the list.
 * @param {number[]} cells @param {number} columns
 * @returns {Box[]}
 */
export function rowsOfCells(cells, columns) {
  /** @type {Box[]} */
  const out = [];
  cells.forEach((cell, i) => {
    const follows = i > 0 && cell === cells[i - 1] + 1 && cell % columns > 0;
    if (follows) out[out.length - 1][2] += 1;
    else out.push([cell % columns, Math.floor(cell / columns), 1, 1]);
  });
  return out;
}

/**
 * Return rectangles that cover a lane's committed cells of ranks [from, to).
 * @param {Lane} lane @param {number} from @param {number} to @param {number} columns
 * @returns {Box[]}
 */
const boxesOf = (lane, from, to, columns) =>
  lane.isRaster ? rectangles(from, to, columns) : rowsOfCells(lane.order.slice(from, to), columns);

/**
 * Return rectangles that cover the cells in which drafts stand.
 * @param {Lane} lane @param {View} view @param {number} columns @returns {Box[]}
 */
const draftBoxes = (lane, { n, drafts }, columns) =>
  lane.isRaster ? rectangles(n, n + drafts.length, columns) : rowsOfCells(drafts, columns);

/** @param {Box} box in cells @param {number} side @returns {Box} in pixels */
const inPixels = ([x, y, width, height], side) => [x * side, y * side, width * side, height * side];

/** @param {number} cell @param {number} columns @param {number} side @returns {[number, number]} */
const cornerOf = (cell, columns, side) => [
  (cell % columns) * side,
  Math.floor(cell / columns) * side,
];

/** @type {Map<string, number[][]>} 256 colours of each scale */
const palettes = new Map();
/** @param {string} scale */
function paletteOf(scale) {
  const known = palettes.get(scale);
  if (known) return known;
  const palette = Array.from({ length: 256 }, (_, i) => colourOf(scale, i / 255));
  palettes.set(scale, palette);
  return palette;
}

/**
 * Return the colour of a value on its layer's scale, as [red, green, blue] from 0 to 255; null
 * where there is no value.
 * @param {number | null} value @param {Style} style
 */
function colourFor(value, { layer, range }) {
  if (value === null) return null;
  let share = value / range[1];
  if (layer.kind === "count") share = countShare(value, range);
  if (layer.kind === "pass") share = (value - range[0]) / (range[1] - range[0]);
  return paletteOf(layer.scale)[Math.round(255 * Math.min(1, share))];
}

export class Plane {
  canvas = document.createElement("canvas");
  #small = document.createElement("canvas"); // one pixel a cell
  #key = "";
  #done = 0; // cells painted
  /** @type {number[]} for each picture row: how often it had been painted when last drawn */
  #rows = [];

  /** @param {Card["picture"]} picture */
  constructor(picture) {
    this.picture = picture;
  }

  /**
   * Draw on the plane up to the lane's newest committed cell.
   * @param {Lane} lane @param {Race["grid"]} grid @param {number} side @param {Style} style
   */
  update(lane, [rows, columns], side, style) {
    const { layer, range, rule, card, swatches, against } = style;
    // With each step of the lane compared with, more is known of cells that have been painted.
    const compared = against && [against.title, against.count];
    const what = [layer.name, range, rule, card, Boolean(swatches), compared, lane.priced];
    const key = [what, side, rows, columns].join();
    const context = penOf(sized(this.canvas, side * columns, side * rows));
    if (key !== this.#key) {
      this.#key = key;
      this.#done = 0;
      this.#rows = [];
      context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    }
    const view = laneAt(lane, lane.count);
    const cells = lane.order.slice(this.#done, view.n);
    if (layer.kind === "picture") {
      for (const cell of cells) {
        if (this.picture.has(cell)) continue;
        const [x, y] = cornerOf(cell, columns, side);
        pasteSwatch(context, lane.token(view.rowOf(cell)), x, y, side, style); // until it has one
      }
      this.#paintPicture(context, rows);
    } else if (layer.kind === "status") {
      for (const cell of cells) {
        const [x, y] = cornerOf(cell, columns, side);
        pasteMark(context, lane.status(view.rowOf(cell)), x, y, side);
      }
    } else if (cells.length) {
      this.#paintColours(context, lane, view, cells, [rows, columns], side, style);
      if (layer.name === "runs") this.#paintNotches(context, lane, columns, side, style);
    }
    this.#done = view.n;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} count */
  #paintPicture(context, count) {
    const source = this.picture.canvas;
    context.imageSmoothingQuality = "high";
    const from = source.height / count;
    const to = this.canvas.height / count;
    this.picture.rows.forEach((times, row) => {
      if (!times || times === this.#rows[row]) return;
      const across = this.canvas.width;
      context.drawImage(source, 0, row * from, source.width, from, 0, row * to, across, to);
      this.#rows[row] = times;
    });
  }

  // Paint one pixel a cell, scaled up. A cell without a value shows a grey stroke.
  /**
   * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {View} view
   * @param {number[]} cells @param {[number, number]} grid @param {number} side
   * @param {Style} style
   */
  #paintColours(context, lane, view, cells, [rows, columns], side, style) {
    context.fillStyle = noValue(context, side);
    for (const box of boxesOf(lane, this.#done, view.n, columns)) {
      context.fillRect(...inPixels(box, side));
    }
    const image = new ImageData(columns, rows);
    for (const cell of cells) {
      const value = layerValue(lane, view, cell, style.layer.name, style.against);
      const colour = colourFor(value, style);
      if (colour) image.data.set([...colour, 255], 4 * cell);
    }
    penOf(sized(this.#small, columns, rows)).putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#small, 0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = true;
  }

  // Paint a notch where each run begins: neighbouring runs may have the same length.
  /**
   * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {number} columns
   * @param {number} side @param {Style} style
   */
  #paintNotches(context, lane, columns, side, style) {
    context.fillStyle = style.card;
    context.globalAlpha = look.notch.opacity;
    for (const rank of lane.runs) {
      const [x, y] = cornerOf(lane.order[rank], columns, side);
      if (rank >= this.#done) context.fillRect(x, y, Math.max(1, look.notch.width * side), side);
    }
    context.globalAlpha = 1;
  }
}

/**
 * Draw a lane at an instant.
 * @param {HTMLCanvasElement} canvas @param {Plane} plane @param {Lane} lane @param {View} view
 * @param {[number, number]} grid @param {Style & Selected} style
 */
export function drawLane(canvas, plane, lane, view, [, columns], style) {
  const context = penOf(canvas);
  const side = canvas.width / columns;
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (lane.known.length) drawKnown(context, plane, lane, view, columns, side, style);
  for (const box of boxesOf(lane, 0, view.n, columns)) {
    const [left, top, across, down] = inPixels(box, side);
    context.drawImage(plane.canvas, left, top, across, down, left, top, across, down);
    if (style.layer.kind !== "picture")
      drawFaintly(context, plane.picture, left, top, across, down);
  }
  for (const cell of view.drafts) {
    drawDraft(context, lane, view, cell, columns, side, style);
  }
  if (style.marked && style.layer.kind === "picture") drawTests(context, lane, view, columns, side);
  if (view.n && view.state !== "finished") drawFrontier(context, lane, view, columns, side, style);
  if (lane.known.length && (view.state !== "finished" || style.layer.kind !== "picture"))
    drawOutline(context, lane, columns, side, style);
  if (lane.fork !== null) drawFork(context, lane.fork, columns, side, style);
  if (style.cell !== null) drawSelected(context, style.cell, columns, side, style);
}

// Draw the known part of a picture to fill in: solid in the picture, faint in other layers. Hatch
// the cells that have neither a token nor a draft yet.
/**
 * @param {CanvasRenderingContext2D} context @param {Plane} plane @param {Lane} lane
 * @param {View} view @param {number} columns @param {number} side @param {Style} style
 */
function drawKnown(context, plane, lane, view, columns, side, style) {
  lane.known.forEach((token, cell) => {
    if (token < 0) return;
    const [x, y] = cornerOf(cell, columns, side);
    if (style.layer.kind !== "picture") drawFaintly(context, plane.picture, x, y, side, side);
    else if (plane.picture.rows.some(Boolean))
      context.drawImage(plane.canvas, x, y, side, side, x, y, side, side);
    else pasteSwatch(context, token, x, y, side, style);
  });
  context.fillStyle = toFill(context, side);
  for (const cell of lane.order.slice(view.n + view.drafts.length)) {
    context.fillRect(...cornerOf(cell, columns, side), side, side);
  }
}

// Draw the line between the known part and the part that is filled in.
/**
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {number} columns
 * @param {number} side @param {Style} style
 */
function drawOutline(context, { known }, columns, side, style) {
  context.beginPath();
  /** @param {number} x @param {number} y @param {number} across @param {number} down */
  const line = (x, y, across, down) => {
    context.moveTo(x, y);
    context.lineTo(x + across, y + down);
  };
  known.forEach((token, cell) => {
    const [x, y] = cornerOf(cell, columns, side);
    /** @param {number | undefined} other */
    const differs = (other) => other !== undefined && token < 0 !== other < 0;
    const right = (cell + 1) % columns ? known[cell + 1] : undefined;
    if (differs(right)) line(x + side, y, 0, side);
    if (differs(known[cell + columns])) line(x, y + side, side, 0);
  });
  context.lineCap = "square";
  for (const { colour, width } of [
    { colour: style.card, width: 2 },
    { colour: style.ink, width: 1 },
  ]) {
    context.strokeStyle = colour;
    context.lineWidth = Math.max(1, look.toFill.edge * side) * width;
    context.stroke();
  }
  context.lineCap = "butt";
}

// Draw the picture faintly over a part of a layer, so that both can be seen.
/**
 * @param {CanvasRenderingContext2D} context @param {Picture} picture @param {number} left
 * @param {number} top @param {number} across @param {number} down
 */
function drawFaintly(context, { canvas: source, rows }, left, top, across, down) {
  if (!rows.some(Boolean)) return;
  const scale = source.width / context.canvas.width;
  context.globalAlpha = look.under.opacity;
  const from = inPixels([left, top, across, down], scale);
  context.drawImage(source, ...from, left, top, across, down);
  context.globalAlpha = 1;
}

// Draw a draft: in the picture its swatch, faintly; in other layers a smaller square.
/**
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {View} view
 * @param {number} cell @param {number} columns @param {number} side @param {Style} style
 */
function drawDraft(context, lane, view, cell, columns, side, style) {
  const [x, y] = cornerOf(cell, columns, side);
  if (style.layer.kind === "picture") {
    context.globalAlpha = look.draft.opacity;
    pasteSwatch(context, lane.token(view.rowOf(cell)), x, y, side, style);
    context.globalAlpha = 1;
    return;
  }
  const inset = look.draft.inset * side;
  if (style.layer.kind === "status") {
    const margin = Math.round(inset / 2);
    const status = lane.status(view.rowOf(cell));
    return pasteMark(context, status, x + margin, y + margin, side - 2 * margin);
  }
  const value = layerValue(lane, view, cell, style.layer.name, style.against);
  const colour = colourFor(value, style);
  context.fillStyle = colour ? `rgb(${colour})` : noValue(context, side);
  context.fillRect(x + inset, y + inset, side - 2 * inset, side - 2 * inset);
}

// Draw small marks on the cells whose drafts the latest step tested: accepted or not.
/**
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {View} view
 * @param {number} columns @param {number} side
 */
function drawTests(context, lane, view, columns, side) {
  const { first, touched } = lane.steps[view.k - 1];
  const size = Math.round(side * TEST.size);
  const margin = Math.floor((side - size) / 2);
  context.globalAlpha = TEST.opacity;
  for (let row = first; row < first + touched; row++) {
    const status = lane.status(row);
    if (!TESTED.includes(STATUSES[status].name)) continue;
    const [x, y] = cornerOf(lane.cellOf(row), columns, side);
    pasteMark(context, status, x + margin, y + margin, size);
  }
  context.globalAlpha = 1;
}

// Draw a thin dashed frame around the drafts, and a line in the finish line's colour along the
// frontier.
/**
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {View} view
 * @param {number} columns @param {number} side @param {Style} style
 */
function drawFrontier(context, lane, view, columns, side, style) {
  context.lineWidth = Math.max(1, look.draft.frame * side);
  context.strokeStyle = style.ink;
  context.setLineDash([look.draft.dash * side, look.draft.dash * side]);
  for (const box of draftBoxes(lane, view, columns)) {
    context.strokeRect(...inPixels(box, side));
  }
  context.setLineDash([]);
  if (lane.known.length) return; // what is filled in has no line around it
  const [start, ...corners] = frontierOf(lane.order.slice(0, view.n), lane.total, columns);
  if (!start) return;
  context.beginPath();
  context.moveTo(start[0] * side, start[1] * side);
  for (const [x, y] of corners) context.lineTo(x * side, y * side);
  context.strokeStyle = style.signal;
  context.lineWidth = Math.max(2, look.frontier.width * side);
  context.stroke();
}

/**
 * Return the corners of the line around the committed cells, in cells, from the right edge to the
 * left. There are none once all cells are committed. In each row the committed cells come first.
 * @param {number[]} cells that are committed @param {number} total @param {number} columns
 * @returns {[number, number][]}
 */
export function frontierOf(cells, total, columns) {
  const reach = Array(total / columns).fill(0);
  for (const cell of cells) reach[Math.floor(cell / columns)]++;
  const first = reach.findIndex((count) => count < columns);
  if (first < 0) return [];
  const end = reach.findLastIndex(Boolean) + 1; // of the rows that have begun
  /** @type {[number, number][]} */
  const corners = [[columns, first]];
  for (let row = first; row < end; row++) corners.push([reach[row], row], [reach[row], row + 1]);
  return [...corners, [0, Math.max(first, end)]];
}

// Draw a frame in the finish line's colour around the cell at which a fork leaves its parent.
/**
 * @param {CanvasRenderingContext2D} context @param {number} cell @param {number} columns
 * @param {number} side @param {Style} style
 */
function drawFork(context, cell, columns, side, style) {
  const [x, y] = cornerOf(cell, columns, side);
  const width = Math.max(2, look.frontier.width * side);
  context.strokeStyle = style.signal;
  context.lineWidth = width;
  context.strokeRect(x + width / 2, y + width / 2, side - width, side - width);
}

// Draw a frame around the selected cell: whole in its own lane, corners only in the others.
/**
 * @param {CanvasRenderingContext2D} context @param {number} cell @param {number} columns
 * @param {number} side @param {Style & Selected} style
 */
function drawSelected(context, cell, columns, side, style) {
  const gap = Math.max(2, side / 10);
  const [x, y] = cornerOf(cell, columns, side);
  const size = side + 2 * gap;
  // Keep the frame inside the canvas, even around a cell at its edge.
  /** @param {number} corner @param {number} length */
  const inside = (corner, length) => Math.min(length - size - gap, Math.max(gap, corner - gap));
  const left = inside(x, context.canvas.width);
  const top = inside(y, context.canvas.height);
  context.setLineDash(style.here ? [] : [size / 2, size / 2]);
  context.lineDashOffset = style.here ? 0 : size / 4;
  for (const { colour, width } of [
    { colour: style.card, width: 4 },
    { colour: style.ink, width: 2 },
  ]) {
    context.strokeStyle = colour;
    context.lineWidth = width * gap * 0.6;
    context.strokeRect(left, top, size, size);
  }
  context.setLineDash([]);
  context.lineDashOffset = 0;
}
