// Figures and tables as SVG files, each below a heading that says what it shows.
/* global Plotly */

import { penOf } from "../dom.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const FAMILY = "ui-sans-serif, system-ui, Helvetica, Arial, sans-serif";
const MARGIN = 12; // pixels around a heading
const WIDTH = 720; // pixels: the width of a chart's file
/** @type {{ part: keyof Heading, size: number, weight: number, ink: string }[]} */
const LINES = [
  { part: "title", size: 16, weight: 650, ink: "#222222" },
  { part: "sentence", size: 13, weight: 400, ink: "#222222" },
  { part: "facts", size: 11, weight: 400, ink: "#666666" },
];

/**
 * Write a chart as an SVG file. Plotly draws it once more for the file: its width is the same in
 * every window.
 * @param {Plot} plot @param {Heading} heading
 */
export async function svgOfPlot(plot, heading) {
  const { height } = plot.getBoundingClientRect();
  const size = { width: WIDTH, height: Math.round(height) };
  const text = await Plotly.toImage(plot, { format: "svg", imageDataOnly: true, ...size });
  const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return svgOf(WIDTH, size.height, heading, (body) => body.append(...drawing.childNodes));
}

/**
 * Write a table as an SVG file: each text at its place on the page, and a line under each row.
 * @param {HTMLTableElement} table @param {Heading} heading
 */
export function svgOfTable(table, heading) {
  const { rows } = table;
  const { left, top, width, height } = table.getBoundingClientRect();
  return svgOf(width, height, heading, (body) => {
    for (const row of rows) {
      const below = row.getBoundingClientRect().bottom - top;
      add(body, "line", { x1: 0, x2: width, y1: below, y2: below, stroke: "#888888" });
      for (const cell of row.cells) {
        const { fontFamily, fontSize, fontWeight, textAlign } = getComputedStyle(cell);
        const right = ["right", "end"].includes(textAlign);
        const style = {
          "text-anchor": right ? "end" : "start",
          "font-size": fontSize,
          "font-weight": fontWeight,
          "font-family": fontFamily,
        };
        for (const [word, box] of wordsOf(cell)) {
          const x = (right ? box.right : box.left) - left;
          const y = box.bottom - top - box.height / 4;
          add(body, "text", { x, y, ...style }, word);
        }
      }
    }
  });
}

// Return an element's words, each with its place, since a line may end between any two.
/** @param {Element} element @returns {[string, DOMRect][]} */
function wordsOf({ childNodes }) {
  const texts = [...childNodes].filter((node) => node instanceof Text);
  return texts.flatMap((text) =>
    [...text.data.matchAll(/\S+/g)].map(({ 0: word, index }) => {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      return /** @type {[string, DOMRect]} */ ([word, range.getBoundingClientRect()]);
    }),
  );
}

/**
 * Write an SVG file: the heading, and below it a drawing of this size in pixels.
 * @param {number} width @param {number} height @param {Heading} heading
 * @param {(body: SVGElement) => void} draw
 */
function svgOf(width, height, heading, draw) {
  const file = document.createElementNS(NAMESPACE, "svg");
  let y = 0;
  for (const { part, size, weight, ink } of LINES) {
    const style = { "font-size": size, "font-weight": weight, "font-family": FAMILY, fill: ink };
    const lines = linesOf(heading[part], width - 2 * MARGIN, `${weight} ${size}px ${FAMILY}`);
    for (const line of lines) {
      y += size * 1.4;
      add(file, "text", { x: MARGIN, y, ...style }, line);
    }
  }
  const above = y ? y + MARGIN : 0;
  draw(add(file, "g", { transform: `translate(0 ${above})` }));
  const size = { viewBox: `0 0 ${width} ${height + above}`, width, height: height + above };
  for (const [name, value] of Object.entries(size)) file.setAttribute(name, String(value));
  return new XMLSerializer().serializeToString(file);
}

/**
 * Break a text into lines no wider than the room.
 * @param {string} text @param {number} room in pixels @param {string} font
 */
function linesOf(text, room, font) {
  const pen = penOf(document.createElement("canvas"));
  pen.font = font;
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length && pen.measureText(longer).width <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/**
 * Add a new element to `parent`.
 * @param {SVGElement} parent @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function add(parent, tag, attributes, text = "") {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  parent.append(element);
  return /** @type {SVGElement} */ (element);
}
