// A server that does not answer. A request of gradio's that cannot reach it is asked again until it
// can, so that no press of Race is lost and gradio does not load the page again: it would end a
// talk's chapter. The browser's own word for being offline says nothing about a server that runs on
// the same machine, so nobody asks for it.

const CALLS = "/gradio_api/"; // gradio's requests, below the server's address
const JOINS = "queue/join"; // of these the one that a press sends
const AWAY = [502, 504]; // what a proxy answers where it reaches no server
const PAUSES = [250, 500, 1000, 2000]; // ms before each further try; the last one again and again
const WAITS = "The server does not answer. This race starts as soon as it does.";

/** Make gradio's requests wait while the server cannot be reached, and say so if a race waits. */
export function mountOffline() {
  const notice = document.createElement("p");
  Object.assign(notice, { className: "notice away", role: "alert", popover: "manual" });
  let waiting = 0; // requests
  let pressed = false; // whether a race was asked for, and the server does not know of it
  const say = () => {
    const says = waiting > 0 && pressed;
    if (says === notice.isConnected) return;
    notice.textContent = ""; // it is read out once it is seen
    if (!says) return notice.remove();
    document.body.append(notice);
    notice.showPopover(); // over what fills the screen, too
    notice.textContent = WAITS;
  };
  document.addEventListener("photo-finish-asked", () => (pressed = true));

  const ask = window.fetch;
  window.fetch = async (input, options) => {
    const address = new URL(input instanceof Request ? input.url : String(input), location.href);
    if (address.origin !== location.origin || !address.pathname.includes(CALLS))
      return ask(input, options);
    let waits = false;
    try {
      for (let tries = 0; ; tries++) {
        const answer = await answerOf(() => ask(input, options), options?.signal);
        if (answer) {
          if (address.pathname.endsWith(JOINS)) pressed = false;
          return answer;
        }
        if (!waits) waiting += 1;
        waits = true;
        say();
        await pauseOf(PAUSES[Math.min(tries, PAUSES.length - 1)]);
      }
    } finally {
      waiting -= Number(waits);
      say();
    }
  };
}

/**
 * Return the server's answer, or null where the server cannot be reached. Where the sender has
 * ended the request, throw what `ask` throws.
 * @param {() => Promise<Response>} ask @param {AbortSignal | null} [signal]
 */
async function answerOf(ask, signal) {
  try {
    const answer = await ask();
    return AWAY.includes(answer.status) ? null : answer;
  } catch (error) {
    if (signal?.aborted || !(error instanceof TypeError)) throw error;
    return null;
  }
}

/** Resolve after `pause` ms, or once the browser is online again. @param {number} pause */
function pauseOf(pause) {
  return new Promise((resolve) => {
    const goOn = () => {
      clearTimeout(timer);
      removeEventListener("online", goOn);
      resolve(undefined);
    };
    const timer = setTimeout(goOn, pause);
    addEventListener("online", goOn);
  });
}
