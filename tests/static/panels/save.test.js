import assert from "node:assert/strict";
import { test } from "node:test";

import { csv, rowsOfPlot, rowsOfTable } from "../../../static/panels/save.js";

test("a cell with a comma, a quote or a line's end is quoted", () => {
  const rows = [
    ["name", "x"],
    ["GSD G=50, d=0.3", 1.5],
    ['"a"', ""],
    ["two\nlines", 0],
  ];
  assert.equal(csv(rows), 'name,x\r\n"GSD G=50, d=0.3",1.5\r\n"""a""",\r\n"two\nlines",0\r\n');
});

test("a chart's points are rows, with the ends of their intervals where it has any", () => {
  const axes = { xaxis: { title: { text: "passes" } }, yaxis: { title: { text: "shift" } } };
  const error = { visible: true, array: [0.5, 0.25], arrayminus: [0.25, 0.125] };
  const traces = [
    { name: "GSD", x: Float64Array.of(3, 4), y: [1, 2], error_y: error },
    { name: "SJD", x: [5], y: [0], error_y: { visible: false }, customdata: [[9, 0.5]] },
    { name: "GSD G", x: [6], y: [0.5], customdata: [["GSD G=50", 0, 1]] },
    { name: "only in the legend", x: [null], y: ["SJD"] },
  ];
  assert.deepEqual(rowsOfPlot({ _fullLayout: axes, _fullData: traces }), [
    ["name", "passes", "shift", "low", "high"],
    ["GSD", 3, 1, 0.75, 1.5],
    ["GSD", 4, 2, 1.875, 2.25],
    ["SJD", 5, 0],
    ["GSD G=50", 6, 0.5],
  ]);
  const bare = { _fullLayout: { xaxis: {}, yaxis: {} }, _fullData: traces.slice(1) };
  assert.deepEqual(rowsOfPlot(bare)[0], ["name", "x", "y"]);
});

test("of a table, a mean with its interval is two numbers", () => {
  const table = [
    ["Lane", "Passes", "Speed-up"],
    ["SJD", "70.2 ± 1.5", "1.83× ± 0.10"],
    ["GSD ± 1", "60.0", ""],
  ];
  const rows = table.map((texts) => ({ cells: texts.map((textContent) => ({ textContent })) }));
  assert.deepEqual(rowsOfTable(/** @type {any} */ ({ rows })).slice(0, 2), [
    ["Lane", "Lane ±", "Passes", "Passes ±", "Speed-up", "Speed-up ±"],
    ["SJD", "", "70.2", "1.5", "1.83", "0.10"],
  ]);
});
