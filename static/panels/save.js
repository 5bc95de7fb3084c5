// Figures and tables as files: SVG for a paper, CSV for a spreadsheet. A paragraph of class "save"
// has the buttons for what stands before it.

import { closest } from "../dom.js";
import { html, render } from "../vendor/lit-html.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const TYPES = { svg: "image/svg+xml", csv: "text/csv" };
const INTERVAL = " ± ";

/** Buttons that save what stands before them under a name. @param {string} name */
export function saveButtons(name) {
  const buttons = ["svg", "csv"].map((kind) => {
    const words = kind.toUpperCase();
    return html`<button type="button" data-save=${kind} title="Save as ${words}">${words}</button>`;
  });
  const bar = document.createElement("p");
  Object.assign(bar, { className: "save" }).dataset.name = name;
  render(buttons, bar);
  return bar;
}

/** A text in a file's name, safe on any system, as in app/page/export.py. @param {string} text */
export const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 60)
    .replace(/^-|-$/g, "");

/**
 * Saves what stands before a pair of buttons when one is pressed. The file is named after the race
 * that it is about: the one on the board, or what the buttons' paragraph says was raced.
 * @param {Document} page @param {() => Snapshot | undefined} onBoard
 */
export function mountSaving(page, onBoard) {
  page.addEventListener("click", (event) => {
    const button = closest(event, "[data-save]");
    const bar = button?.parentElement;
    const shown = bar?.previousElementSibling;
    if (!button || !bar || !shown) return;
    const kind = button.getAttribute("data-save") === "csv" ? "csv" : "svg";
    const table = shown.querySelector("table");
    const text = table ? textOfTable(table, kind) : textOfPlot(/** @type {Plot} */ (shown), kind);
    const href = URL.createObjectURL(new Blob([text], { type: TYPES[kind] }));
    const { prompt = "", seed = 0 } = onBoard() ?? {};
    const { raced = `${slug(prompt) || "race"}-${seed}`, name } = bar.dataset;
    const link = document.createElement("a");
    const download = `photo-finish-${raced}-${name}.${kind}`;
    Object.assign(link, { href, download }).click();
    URL.revokeObjectURL(href);
  });
}

/** @param {HTMLTableElement} table @param {"svg" | "csv"} kind */
const textOfTable = (table, kind) => (kind === "csv" ? csv(rowsOfTable(table)) : svgOfTable(table));
/** @param {Plot} plot @param {"svg" | "csv"} kind */
const textOfPlot = (plot, kind) => (kind === "csv" ? csv(rowsOfPlot(plot)) : svgOfPlot(plot));

/**
 * The points of a chart as rows, the first of headings: a point's own name or else its trace's, x,
 * y, and where it has intervals their ends. What stands for the legend alone is left out.
 * @param {Pick<Plot, "_fullLayout" | "_fullData">} plot
 */
export function rowsOfPlot(plot) {
  /** @param {PlotAxis} axis @param {string} name */
  const title = (axis, name) => axis.title?.text || name;
  const { xaxis, yaxis } = plot._fullLayout;
  const traces = plot._fullData.filter(({ x }) => x?.length && x[0] !== null);
  const ends = traces.some(({ error_y: error }) => error?.visible);
  const head = ["name", title(xaxis, "x"), title(yaxis, "y"), ...(ends ? ["low", "high"] : [])];
  const rows = traces.flatMap(({ name, x = [], y, error_y: error, customdata }) =>
    [...x].map((value, i) => {
      const interval = error?.visible ? [y[i] - error.arrayminus[i], y[i] + error.array[i]] : [];
      const own = [customdata?.[i]].flat()[0];
      return [typeof own === "string" ? own : name, value, y[i], ...interval];
    }),
  );
  return [head, ...rows];
}

/**
 * A table's rows as it shows them, the first of headings; a mean with its interval is two cells.
 * @param {{ rows: Iterable<HTMLTableRowElement> }} table
 */
export function rowsOfTable({ rows: shown }) {
  const rows = [...shown].map((row) => [...row.cells].map((cell) => cell.textContent));
  const split = rows[0].map((_, i) => rows.some((row) => row[i].includes(INTERVAL)));
  return rows.map((row, number) =>
    row.flatMap((text, i) => {
      if (number && /^[\d.]+×/.test(text)) text = text.replace("×", "");
      if (!split[i]) return [text];
      if (!number) return [text, `${text} ±`];
      const [mean, half = ""] = text.split(INTERVAL);
      return [mean, half];
    }),
  );
}

/** Rows as a CSV file (RFC 4180). @param {unknown[][]} rows */
export function csv(rows) {
  /** @param {unknown} value */
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

// A chart as one file. Plotly draws it in several layers, and names its patterns by the page's
// address; in the file they are named by their ids alone.
/** @param {Plot} plot */
function svgOfPlot(plot) {
  const layers = plot.querySelectorAll(".main-svg");
  const { width, height } = plot.getBoundingClientRect();
  const file = svgOf(width, height);
  for (const layer of layers) file.append(...layer.cloneNode(true).childNodes);
  const text = new XMLSerializer().serializeToString(file);
  return text.replace(/url\((?:&quot;|["'])?[^)#]*#([\w-]+)(?:&quot;|["'])?\)/g, "url(#$1)");
}

// A table's texts where it has them on the page, with a line under each row.
/** @param {HTMLTableElement} table */
function svgOfTable(table) {
  const { rows } = table;
  const { left, top, width, height } = table.getBoundingClientRect();
  const file = svgOf(width, height);
  /** @param {string} tag @param {Record<string, string | number>} attributes */
  const add = (tag, attributes, text = "") => {
    const element = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(attributes))
      element.setAttribute(name, String(value));
    element.textContent = text;
    file.append(element);
  };
  for (const row of rows) {
    const below = row.getBoundingClientRect().bottom - top;
    add("line", { x1: 0, x2: width, y1: below, y2: below, stroke: "#888888" });
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
        add("text", { x, y, ...style }, word);
      }
    }
  }
  return new XMLSerializer().serializeToString(file);
}

// The words of an element with the place of each, since a line may end between any two.
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

/** @param {number} width @param {number} height */
function svgOf(width, height) {
  const file = document.createElementNS(NAMESPACE, "svg");
  file.setAttribute("viewBox", `0 0 ${width} ${height}`);
  file.setAttribute("width", String(width));
  file.setAttribute("height", String(height));
  return file;
}
