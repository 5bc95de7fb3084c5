// Joins the board to the page. Gradio runs this text once, with `element`, `props`, `trigger` and
// `watch`: the board's value is a snapshot, and what else the page has stands outside it.

import { mountBoard } from "./board/board.js";
import { mountFilling } from "./form/filling.js";

const board = mountBoard(
  element,
  (callback) => {
    watch("value", () => {
      if (props.value?.seq === 0) document.dispatchEvent(new Event("photo-finish-start"));
      callback(props.value);
    });
    callback(props.value);
  },
  (callback) => document.addEventListener("photo-finish-stop", callback),
  props.touring
    ? {
        filling: props.filling,
        fetch: (race) => trigger("tour", race),
        leave: () => trigger("leave"),
      }
    : undefined,
);

document.addEventListener("photo-finish-bet", (event) => {
  board.go({ bet: /** @type {CustomEvent} */ (event).detail });
});

document.addEventListener("photo-finish-press", (event) => {
  document.getElementById(/** @type {CustomEvent} */ (event).detail)?.click();
});

// A race that was not raced from this form can be: with its prompt, seed, lanes and sampling.
const useSettings = /** @type {HTMLButtonElement} */ (element.querySelector(".use-settings"));
useSettings.hidden = false;
useSettings.addEventListener("click", () => {
  trigger("use");
  document.querySelector("#entry")?.scrollIntoView({ block: "nearest" });
});

// A file dropped onto the board is handed to the page's own "Open a trace".
element.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  element.classList.add("dropping");
});
for (const name of ["dragleave", "drop"]) {
  element.addEventListener(name, () => element.classList.remove("dropping"));
}
element.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault(); // or the browser leaves the page for the file
  const one = new DataTransfer();
  one.items.add(event.dataTransfer.files[0]);
  openTrace(one.files);
});

// The board may be on the page before the button is.
function openTrace(files) {
  const input = /** @type {HTMLInputElement} */ (document.querySelector("#bring input[type=file]"));
  if (!input) return void setTimeout(openTrace, 100, files);
  input.files = files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

mountFilling(element, board, props.fillable, () => trigger("fill"));
document.addEventListener("photo-finish-swatches", (event) => {
  const { swatches, infilling } = board.state.race.snapshot;
  const picture = infilling && { known: infilling.known, canvas: board.pictureOf(0) };
  /** @type {CustomEvent} */ (event).detail(swatches, picture);
});
