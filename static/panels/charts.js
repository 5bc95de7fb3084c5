// Plotly's charts on the page, which come and go with gradio's answers.

import { saveButtons, slug } from "./save.js";

/**
 * For each section whose charts are not about the race on the board, the word in their file names.
 * @type {Record<string, string>}
 */
const OTHERS = { "#cost": "captions", "#sweep": "sweep" };

/** Give every chart its save buttons, and clean up after charts that are removed. */
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

// Offer a chart's files once plotly has drawn it.
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

// Remove plotly's listener on the window, which would keep a chart in memory after gradio has
// removed it.
/** @param {Partial<Plot>} chart */
function stopListening({ _responsiveChartHandler: handler }) {
  if (handler) removeEventListener("resize", handler);
}
