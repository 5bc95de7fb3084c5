// Without a connection. Gradio would lose a press of Race; it waits for the connection here, and
// for the page that gradio loads again once it is back. And whether the server is there, which
// gradio asks again and again, is answered here.

import { closest, make, query } from "../dom.js";

const PRESSED = "photo-finish-pressed"; // that a race waits, until one has begun
const QUESTION = "/gradio_api/app_id"; // which gradio asks every two seconds once a call has failed
const READY = 1000; // ms after a page is loaded again, until gradio hears a click
const WAITS = "You are offline: this race starts as soon as the connection is back.";

/** Does something now, or once the browser is online. @param {() => void} act */
export function whenOnline(act) {
  if (navigator.onLine) act();
  else addEventListener("online", act, { once: true });
}

/** Has gradio's questions fail at once while the browser is offline, as they would fail anyhow. */
function answerQuestions() {
  const ask = window.fetch;
  window.fetch = (input, options) => {
    const address = input instanceof Request ? input.url : String(input);
    const vain = !navigator.onLine && new URL(address, location.href).pathname.endsWith(QUESTION);
    return vain ? Promise.reject(new TypeError("The browser is offline.")) : ask(input, options);
  };
}

/** Holds back what starts a race while the browser is offline, and starts it once it is not. */
export function mountOffline() {
  answerQuestions();
  /** @type {HTMLElement | null} what says so, while a race waits */
  let notice = null;

  /** @param {Event} event */
  function hold(event) {
    if (navigator.onLine) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (notice) return;
    remember(true);
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
  document.addEventListener("photo-finish-start", () => remember(false));
  if (isRemembered()) setTimeout(() => navigator.onLine && query(document, "#race").click(), READY);
}

/** @param {boolean} waits */
function remember(waits) {
  try {
    if (waits) sessionStorage.setItem(PRESSED, "1");
    else sessionStorage.removeItem(PRESSED);
  } catch {
    // Nothing is kept: a page that is loaded again waits for nothing.
  }
}

function isRemembered() {
  try {
    return sessionStorage.getItem(PRESSED) !== null;
  } catch {
    return false;
  }
}
