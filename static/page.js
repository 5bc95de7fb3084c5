// Joins the board to the page. Gradio runs this text once, with `element`, `props`, `trigger` and
// `watch`: the board's value is a snapshot, and what else the page has stands outside it.

import { mountBoard } from "./board.js";

mountBoard(
  element,
  (callback) => {
    watch("value", () => {
      if (props.value?.seq === 0) document.dispatchEvent(new Event("photo-finish-start"));
      callback(props.value);
    });
    callback(props.value);
  },
  (callback) => document.addEventListener("photo-finish-stop", callback),
  props.touring ? () => trigger("tour") : undefined,
);

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
