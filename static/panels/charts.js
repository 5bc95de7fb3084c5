// Plotly's charts on the page, which come and go with gradio's answers.

import { saveButtons, slug } from "./save.js";

/** The word in files' names for charts that are of another race. @type {Record<string, string>} */
const OTHERS = { "#cost": "captions", "#sweep": "sweep" };

/** Gives every chart its buttons to save it, and takes what is left of those that are gone. */
export function watchCharts() {
  new MutationObserver((changes) => {
    for (const { target } of changes) offerFiles(target);
    for (const node of changes.flatMap(({ removedNodes }) => [...removedNodes])) {
      if (!(node instanceof Element) || node.isConnected) continue;
      for (const chart of [node, ...node.querySelectorAll(".js-plotly-plot")])
        stopListening(/** @type {Partial<Plot>} */ (chart));
    }
  }).observe(document.body, { childList: true, subtree: true });
}

// A chart can be saved once plotly has drawn it.
/** @param {Node} node */
function offerFiles(node) {
  const chart = node instanceof Element && node.closest(".js-plotly-plot");
  if (!chart || chart.nextElementSibling?.matches(".save")) return;
  const title = /** @type {Partial<Plot>} */ (chart)._fullLayout?.xaxis.title;
  const heading = chart.closest(".figure")?.querySelector("h3")?.textContent;
  const bar = saveButtons(slug(heading ?? title?.text ?? "") || "picture");
  // Charts that are not of the race on the board.
  const others = Object.entries(OTHERS).find(([section]) => chart.closest(section));
  if (others) [, bar.dataset.raced] = others;
  chart.after(bar);
}

// Plotly listens to the window on behalf of each chart, and goes on when gradio has removed one,
// which would keep it in memory.
/** @param {Partial<Plot>} chart */
function stopListening({ _responsiveChartHandler: handler }) {
  if (handler) removeEventListener("resize", handler);
}
