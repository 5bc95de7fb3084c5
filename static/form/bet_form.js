// The choice of a lane to bet on, beside Race. Gradio runs this text once, with `element`. The
// board reads it when a race is asked for; nothing of it is sent or stored.

import { query } from "../dom.js";

const select = query(element, "select", HTMLSelectElement);
const lanesOf = () =>
  Array.from(document.querySelectorAll("#lanes .lane-row"), (row, i) => {
    const { title, knobs } = /** @type {HTMLElement} */ (row).dataset;
    return [i + 1, title, knobs].filter(Boolean).join(" ");
  });

// List the race's lanes as the form has them now. A bet on a lane that is gone is dropped.
function offer() {
  const lanes = lanesOf();
  const chosen = select.selectedOptions[0]?.text;
  const [, ...listed] = Array.from(select.options, (option) => option.text);
  if (listed.join() === lanes.join()) return;
  const options = lanes.map((text, i) => new Option(text, String(i)));
  select.replaceChildren(new Option("no lane", ""), ...options);
  select.value = String(lanes.indexOf(chosen)).replace("-1", "");
}

for (const name of ["focus", "pointerdown"]) select.addEventListener(name, offer);
document.addEventListener("photo-finish-asked", offer);
