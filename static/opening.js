// Runs in the page's head, before its first paint: the classes of an embedded board and of the
// first screen, the page's language, and what the page was opened with. Gradio answers its `load`
// event late, by when the visitor may have raced and the address may name another race.

import { opensInside } from "./board/inside.js";
import { typedPrompt } from "./form/typed.js";

const root = document.documentElement;

/**
 * Return the form's values with a link's values filled in. Fields that the visitor has changed keep
 * their values.
 * @param {Record<string, unknown>} linked the link's values, by field
 * @param {Record<string, unknown>} initial the form's values at first, by field, in order
 * @param {unknown[]} values the form's values now
 */
export function filledIn(linked, initial, values) {
  /** @param {unknown} value */
  const text = (value) => JSON.stringify(value ?? "");
  return Object.entries(initial).map(([name, first], i) =>
    name in linked && text(values[i]) === text(first) ? linked[name] : values[i],
  );
}

// Return the prompt that was typed but not raced, after a reload: Gradio reloads a page by itself
// when its connection comes back.
function promptTyped() {
  const [entry] = performance.getEntriesByType("navigation");
  const reloaded = entry instanceof PerformanceNavigationTiming && entry.type === "reload";
  return reloaded ? typedPrompt() : "";
}

let raced = false; // whether the visitor has pressed Race
let session = ""; // by which the server knows this page, once it has answered
/** @type {(opened: Opened) => void} */
let resolveOpened = () => {};

/** The handlers of Gradio's `load` event, and the promise that page.js waits for. */
window.photoFinish = {
  query: location.search,
  opened: new Promise((resolve) => (resolveOpened = resolve)),
  fill(answer, initial, values) {
    const prompt = promptTyped();
    return filledIn({ ...answer?.form, ...(prompt && { prompt }) }, initial, values);
  },
  open(answer) {
    session = answer?.session ?? "";
    if (answer?.go && !raced) document.getElementById("race")?.click();
    resolveOpened({ race: answer?.race ?? "", key: answer?.key ?? "" });
  },
};
document.addEventListener("photo-finish-asked", () => (raced = true));

// The server keeps a visitor's races for a while after that. A page that the browser keeps for its
// Back button may come back.
addEventListener("pagehide", ({ persisted }) => {
  if (session && !persisted) navigator.sendBeacon("left", session);
});

root.classList.toggle("inside", opensInside(location.search));

// An embedded board's page shows nothing else.
root.classList.toggle("embed", new URLSearchParams(location.search).get("embed") === "1");

// Declare the page English, as all its words are. Gradio would declare the browser's language, and
// a screen reader would read them with that language's voice.
const english = () => root.lang === "en" || (root.lang = "en");
new MutationObserver(english).observe(root, { attributeFilter: ["lang"] });
english();
