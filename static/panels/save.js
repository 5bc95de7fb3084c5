// Figures and tables as files: SVG for a paper, CSV for a spreadsheet. A paragraph of class "save"
// has the buttons for what stands before it.

import { make } from "../dom.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const TYPES = { svg: "image/svg+xml", csv: "text/csv" };
const INTERVAL = " ± ";

/** The buttons; `name` is the file's. @param {string} name */
export function saveButtons(name) {
  const button = (kind) =>
    make("button", kind.toUpperCase(), {
      type: "button",
      "data-save": kind,
      title: `Save as ${kind.toUpperCase()}`,
    });
  return make("p.save", { "data-name": name }, button("svg"), button("csv"));
}

/** Saves what a pressed button is about. @param {Document} page */
export function mountSaving(page) {
  page.addEventListener("click", ({ target }) => {
    const button = /** @type {Element} */ (target).closest("[data-save]");
    if (!button) return;
    const shown = button.parentElement.previousElementSibling;
    const table = shown.querySelector("table");
    const kind = /** @type {"svg" | "csv"} */ (button.getAttribute("data-save"));
    const makers = table
      ? { svg: svgOfTable, csv: (part) => csv(rowsOfTable(part)) }
      : { svg: svgOfPlot, csv: (part) => csv(rowsOfPlot(part)) };
    const blob = new Blob([makers[kind](table ?? shown)], { type: TYPES[kind] });
    const href = URL.createObjectURL(blob);
    const name = button.parentElement.dataset.name;
    make("a", { href, download: `photo-finish-${name}.${kind}` }).click();
    URL.revokeObjectURL(href);
  });
}

/**
 * The points of a chart as rows, the first of headings: a trace's name, x, y, and where it has
 * intervals their ends. What stands for the legend alone is left out.
 * @param {any} plot plotly's element
 */
export function rowsOfPlot(plot) {
  const title = ({ title }, name) => title?.text || name;
  const { xaxis, yaxis } = plot._fullLayout;
  const traces = plot._fullData.filter(({ x }) => x?.length && x[0] !== null);
  const ends = traces.some(({ error_y: error }) => error?.visible);
  const head = ["name", title(xaxis, "x"), title(yaxis, "y"), ...(ends ? ["low", "high"] : [])];
  const rows = traces.flatMap(({ name, x, y, error_y: error }) =>
    [...x].map((value, i) => {
      const interval = error?.visible ? [y[i] - error.arrayminus[i], y[i] + error.array[i]] : [];
      return [name, value, y[i], ...interval];
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

/** RFC 4180. @param {any[][]} rows */
export function csv(rows) {
  const cell = (value) =>
    /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

// A chart's layers, of which plotly makes several, in one file, whose patterns are in it: plotly
// names them by the page's address.
function svgOfPlot(plot) {
  const layers = plot.querySelectorAll(".main-svg");
  const { width, height } = plot.getBoundingClientRect();
  const file = svgOf(width, height);
  for (const layer of layers) file.append(...layer.cloneNode(true).childNodes);
  const text = new XMLSerializer().serializeToString(file);
  return text.replace(/url\((?:&quot;|["'])?[^)#]*#([\w-]+)(?:&quot;|["'])?\)/g, "url(#$1)");
}

// A table's texts where it has them on the page, with a line under each row.
function svgOfTable(table) {
  const { rows } = table;
  const { left, top, width, height } = table.getBoundingClientRect();
  const file = svgOf(width, height);
  const add = (tag, attributes, text = "") => {
    const element = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    file.append(element);
  };
  for (const row of rows) {
    const below = row.getBoundingClientRect().bottom - top;
    add("line", { x1: 0, x2: width, y1: below, y2: below, stroke: "#888888" });
    for (const cell of row.cells) {
      const { fontFamily, fontSize, fontWeight, textAlign } = getComputedStyle(cell);
      const font = { "font-size": fontSize, "font-weight": fontWeight, "font-family": fontFamily };
      const right = ["right", "end"].includes(textAlign);
      const anchor = { "text-anchor": right ? "end" : "start" };
      for (const [word, box] of wordsOf(cell)) {
        const place = {
          x: box[right ? "right" : "left"] - left,
          y: box.bottom - top - box.height / 4,
        };
        add("text", { ...place, ...anchor, ...font }, word);
      }
    }
  }
  return new XMLSerializer().serializeToString(file);
}

// The words of an element with the place of each: a line may end anywhere.
function wordsOf(element) {
  const text = element.firstChild;
  return [...(text?.textContent ?? "").matchAll(/\S+/g)].map(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return [word, range.getBoundingClientRect()];
  });
}

function svgOf(width, height) {
  const file = document.createElementNS(NAMESPACE, "svg");
  file.setAttribute("viewBox", `0 0 ${width} ${height}`);
  file.setAttribute("width", width);
  file.setAttribute("height", height);
  return file;
}
