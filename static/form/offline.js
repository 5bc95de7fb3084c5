// Race pressed without a connection. Gradio would lose the press; it waits for the connection here.

import { closest, make, query } from "../dom.js";

const WAITS = "You are offline: this race starts as soon as the connection is back.";

/** Holds back what starts a race while the browser is offline, and starts it once it is not. */
export function mountOffline() {
  /** @type {HTMLElement | null} what says so, while a race waits */
  let notice = null;

  /** @param {Event} event */
  function hold(event) {
    if (navigator.onLine) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (notice) return;
    notice = make("p.notice", { role: "alert" }, WAITS);
    query(document, "#entry").after(notice);
  }
  document.addEventListener("click", (event) => closest(event, "#race") && hold(event), true);
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Enter" && closest(event, "#prompt")) hold(event);
    },
    true,
  );
  addEventListener("online", () => {
    if (!notice) return;
    notice.remove();
    notice = null;
    query(document, "#race").click();
  });
}
