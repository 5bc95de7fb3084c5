// Opens a trace's file that is dropped onto the board, with the page's own "Open a trace".

/** Take files that are dropped onto an element. @param {HTMLElement} element */
export function mountDropping(element) {
  element.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    element.classList.add("dropping");
  });
  for (const name of ["dragleave", "drop"])
    element.addEventListener(name, () => element.classList.remove("dropping"));
  element.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault(); // otherwise the browser leaves the page for the file
    const one = new DataTransfer();
    one.items.add(event.dataTransfer.files[0]);
    if (!openTrace(one.files)) openOnceThere(one.files);
  });
}

/**
 * Hand files to the page's button for traces. Return whether the button is on the page.
 * @param {FileList} files
 */
function openTrace(files) {
  const input = document.querySelector("#bring input[type=file]");
  if (!(input instanceof HTMLInputElement)) return false;
  input.files = files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

/**
 * Hand over the files once the page's button is there: the board may be on the page before the
 * button.
 * @param {FileList} files
 */
function openOnceThere(files) {
  const observer = new MutationObserver(() => {
    if (openTrace(files)) observer.disconnect();
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
