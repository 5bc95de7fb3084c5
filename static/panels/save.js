// Figures and tables as files: SVG for a paper, CSV for a spreadsheet. A paragraph of class "save"
// has the buttons for the element before it; another button saves all figures of a race.

import { closest } from "../dom.js";
import { downloadZip } from "../vendor/client-zip.js";
import { html, render } from "../vendor/lit-html.js";
import { svgOfPlot, svgOfTable } from "./svg_files.js";

const TYPES = { svg: "image/svg+xml", csv: "text/csv" };
const INTERVAL = " ± ";
/** @type {("svg" | "csv")[]} */
const KINDS = ["svg", "csv"];

/** Make the buttons that save the element before them under a name. @param {string} name */
export function saveButtons(name) {
  const buttons = KINDS.map((kind) => {
    const words = kind.toUpperCase();
    return html`<button type="button" data-save=${kind} title="Save as ${words}">${words}</button>`;
  });
  const bar = document.createElement("p");
  Object.assign(bar, { className: "save" }).dataset.name = name;
  render(buttons, bar);
  return bar;
}

/**
 * Write a text as a part of a file's name, safe on any system, as app/page/export.py does.
 * @param {string} text
 */
export const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 60)
    .replace(/^-|-$/g, "");

/**
 * Save the element before a pair of buttons when one of them is pressed. The file is named after a
 * race: the race on the board, or the one that the buttons' paragraph names.
 * @param {Document} page @param {() => Snapshot | undefined} onBoard
 */
export function mountSaving(page, onBoard) {
  page.addEventListener("click", async (event) => {
    if (closest(event, "[data-save-all]")) return void saveAll(onBoard());
    const button = closest(event, "[data-save]");
    const bar = button?.parentElement;
    const shown = bar?.previousElementSibling;
    if (!button || !bar || !shown) return;
    const kind = button.getAttribute("data-save") === "csv" ? "csv" : "svg";
    const table = shown.querySelector("table");
    const race = onBoard();
    const { prompt = "", seed = 0 } = race ?? {};
    const { raced, name } = bar.dataset;
    const heading = headingOf(shown, raced ? undefined : race);
    const text = table
      ? textOfTable(table, kind, heading)
      : await textOfPlot(/** @type {Plot} */ (shown), kind, heading);
    const download = `photo-finish-${raced ?? `${slug(prompt) || "race"}-${seed}`}-${name}.${kind}`;
    offer(new Blob([text], { type: TYPES[kind] }), download);
  });
}

/** Make the browser save a file under a name. @param {Blob} file @param {string} download */
function offer(file, download) {
  const link = document.createElement("a");
  const href = URL.createObjectURL(file);
  Object.assign(link, { href, download }).click();
  URL.revokeObjectURL(href);
}

/**
 * Save all figures of a race in one ZIP: an SVG and a CSV file of each figure, and all captions.
 * @param {Snapshot} [race]
 */
async function saveAll(race) {
  const plots = [...document.querySelectorAll("#decided .figure .js-plotly-plot")];
  if (!plots.length) return; // plotly has not drawn them yet
  /** @type {string[]} */
  const captions = [];
  const files = plots.flatMap((shown, i) => {
    const plot = /** @type {Plot} */ (shown);
    const heading = headingOf(plot, race);
    const name = `${String(i + 1).padStart(2, "0")}-${slug(heading.title)}`;
    captions.push(`${name}\n${heading.title}: ${heading.sentence}\n`);
    return KINDS.map((kind) => ({
      name: `${name}.${kind}`,
      text: textOfPlot(plot, kind, heading),
    }));
  });
  if (race) captions.push(`${factsOf(race)}\n`);
  const inputs = files.map(async ({ name, text }) => ({ name, input: await text }));
  const all = [
    ...(await Promise.all(inputs)),
    { name: "captions.txt", input: captions.join("\n") },
  ];
  const { prompt = "", seed = 0 } = race ?? {};
  const zip = await downloadZip(all).blob();
  offer(zip, `photo-finish-${slug(prompt) || "race"}-${seed}-figures.zip`);
}

/**
 * Return the heading of a figure's file: title, sentence, and the race that it is about.
 * @param {Element} shown @param {Snapshot} [race]
 * @returns {Heading}
 */
function headingOf(shown, race) {
  const figure = shown.closest(".figure, .finish");
  /** @param {string} part */
  const said = (part) => figure?.querySelector(part)?.textContent ?? "";
  return { title: said("h3") || said("h2"), sentence: said("p"), facts: race ? factsOf(race) : "" };
}

/** @param {Snapshot} race */
const factsOf = ({ prompt, seed, model, sampling, machine }) =>
  [prompt, `seed ${seed}`, `model ${model}`, sampling, machine].filter(Boolean).join(" · ");

/** @param {HTMLTableElement} table @param {"svg" | "csv"} kind @param {Heading} heading */
const textOfTable = (table, kind, heading) =>
  kind === "csv" ? csv(rowsOfTable(table)) : svgOfTable(table, heading);
/** @param {Plot} plot @param {"svg" | "csv"} kind @param {Heading} heading */
const textOfPlot = async (plot, kind, heading) =>
  kind === "csv" ? csv(rowsOfPlot(plot)) : svgOfPlot(plot, heading);

/**
 * List a chart's points as rows, after a row of headings. A row has the name of the point or else
 * of its trace, x, y and, if the chart has intervals, the ends of the point's interval. Traces that
 * only fill the legend are left out.
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
 * List a table's rows as the page shows them, headings first. A mean with its interval becomes two
 * cells.
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

/** Write rows as a CSV file (RFC 4180). @param {unknown[][]} rows */
export function csv(rows) {
  /** @param {unknown} value */
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}
