// The drawings in a single cell: the mark of a status, the swatch of a token, the stroke of a cell
// without a value.

import { penOf, sized } from "../dom.js";
import look from "../look.json" with { type: "json" };
import { STATUSES } from "../trace/layers.js";

/** @type {Record<string, Shape>} */
const SHAPES = look.marks.shapes;

/**
 * Draw the mark of a status: a dark shape on a square of the status's colour. The shape or the
 * colour alone identifies the status. The square's middle is (x, y), and half its side is r, in
 * pixels.
 * @param {CanvasRenderingContext2D} context @param {number} status
 * @param {number} x @param {number} y @param {number} r
 */
export function drawMark(context, status, x, y, r) {
  const { ink, line } = look.marks;
  const { fill, circle, lines } = SHAPES[STATUSES[status].shape];
  context.save();
  context.translate(x, y);
  context.scale(r, r);
  context.fillStyle = STATUSES[status].colour;
  context.fillRect(-1, -1, 2, 2);
  context.fillStyle = context.strokeStyle = ink;
  context.lineWidth = line;
  context.lineCap = "round";
  context.beginPath();
  if (circle) context.arc(0, 0, circle, 0, 2 * Math.PI);
  for (const [start, ...rest] of lines ?? []) {
    context.moveTo(start[0], start[1]);
    for (const [toX, toY] of rest) context.lineTo(toX, toY);
  }
  if (fill) context.fill();
  else context.stroke();
  context.restore();
}

/** @type {Map<string, HTMLCanvasElement>} the images that are drawn once, by name and size */
const tiles = new Map();
/**
 * @param {string | number} name @param {number} side
 * @param {(pen: CanvasRenderingContext2D) => void} draw
 */
function tileOf(name, side, draw) {
  const key = `${name},${side}`;
  const drawn = tiles.get(key);
  if (drawn) return drawn;
  const tile = sized(document.createElement("canvas"), side, side);
  draw(penOf(tile));
  tiles.set(key, tile);
  return tile;
}

/**
 * @param {CanvasRenderingContext2D} context @param {number} status @param {number} x
 * @param {number} y @param {number} side
 */
export function pasteMark(context, status, x, y, side) {
  const size = Math.max(1, Math.round(side));
  const tile = tileOf(status, size, (pen) => drawMark(pen, status, size / 2, size / 2, size / 2));
  context.drawImage(tile, x, y, side, side);
}

/** @param {CanvasRenderingContext2D} context @param {HTMLCanvasElement} tile */
function patternOf(context, tile) {
  const pattern = context.createPattern(tile, "repeat");
  if (!pattern) throw new Error("a pattern needs an image");
  return pattern;
}

// Return a pattern of one grey stroke a cell, for cells without a value.
/** @param {CanvasRenderingContext2D} context @param {number} side */
export function noValue(context, side) {
  const { colour, from, to, width } = look.noValue;
  const tile = tileOf("no value", side, (pen) => {
    pen.strokeStyle = colour;
    pen.lineWidth = Math.max(1, width * side);
    pen.moveTo(from[0] * side, from[1] * side);
    pen.lineTo(to[0] * side, to[1] * side);
    pen.stroke();
  });
  return patternOf(context, tile);
}

// Return a pattern of lines that run on from cell to cell, for cells to be filled in.
/** @param {CanvasRenderingContext2D} context @param {number} side */
export function toFill(context, side) {
  const { colour, width } = look.toFill;
  const tile = tileOf("to fill", side, (pen) => {
    pen.strokeStyle = colour;
    pen.lineWidth = Math.max(1, width * side);
    for (const at of [-0.5, 0, 0.5, 1, 1.5]) {
      pen.moveTo((at - 0.5) * side, side);
      pen.lineTo((at + 0.5) * side, 0);
    }
    pen.stroke();
  });
  return patternOf(context, tile);
}

/**
 * Return the column and row of a token's swatch in the image of all swatches.
 * @param {number} token
 */
export const swatchAt = (token) => [
  token % look.swatches.columns,
  Math.floor(token / look.swatches.columns),
];

/**
 * @param {CanvasRenderingContext2D} context @param {number} token
 * @param {number} x @param {number} y @param {number} side
 * @param {Pick<Style, "swatches" | "rule">} style
 */
export function pasteSwatch(context, token, x, y, side, style) {
  if (style.swatches) {
    const [column, row] = swatchAt(token);
    const size = look.swatches.side;
    context.drawImage(style.swatches, column * size, row * size, size, size, x, y, side, side);
  } else {
    context.fillStyle = style.rule;
    context.fillRect(x, y, side, side);
  }
}
