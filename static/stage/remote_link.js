// Next and back from a phone: the stage's code, and the turns that come of it by the server, which
// answers a press once this page says that it has heard its turn.

import { isResting } from "../controls/keys.js";
import { closest, finder, keep, kept, say } from "../dom.js";
import { openStream } from "../trace/stream.js";

const KEPT = "photo-finish-remote"; // the code, its key and the last turn heard outlive a reload
const PAUSES_HEARD = [500, 1500]; // ms before each further try to say that a turn was heard
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Has the key m and a button show the link for phones, on the stage, and turns as they say.
 * @param {HTMLElement} root @param {Board} board @param {string} server its address
 */
export function mountRemote(root, { state, onChange }, server) {
  const part = finder(root);
  const box = part("remote");
  /** @type {(() => void) | null} closes the stream of turns */
  let closeTurns = null;

  /** @param {{ code: string, key: string, heard?: number }} remote */
  function listen({ code, key, heard = 0 }) {
    const keepHeard = () => keep(() => sessionStorage, KEPT, JSON.stringify({ code, key, heard }));
    keepHeard();
    const local = LOOPBACK.includes(location.hostname);
    say(part("remote-link"), `${server.replace(/^https?:\/\//, "")}/remote/${code}`);
    say(part("remote-local"), local ? "A phone needs this page's own address, not localhost." : "");
    const message = (/** @type {MessageEvent<string>} */ { data, lastEventId }) => {
      const turn = Number(lastEventId);
      if (turn > heard) {
        heard = turn;
        keepHeard();
        document.dispatchEvent(new CustomEvent("photo-finish-turn", { detail: Number(data) }));
      }
      sayHeard(`${server}/remotes/${key}/heard`, turn);
    };
    // The code has ended, or another window of the browser is the stage that has it.
    closeTurns = openStream(
      `${server}/remotes/${key}/events`,
      { message, elsewhere: leave },
      leave,
    );
  }

  function leave() {
    closeTurns?.();
    closeTurns = null;
    box.hidden = true;
  }

  async function toggle() {
    if (!state.present) return;
    if (closeTurns) return void (box.hidden = !box.hidden);
    const answer = await fetch(`${server}/remotes`, { method: "POST" }).catch(() => null);
    const remote = answer && (await answer.json());
    box.hidden = false;
    if (answer?.ok) return listen(remote);
    say(part("remote-link"), remote?.error ?? "The page's server does not answer.");
  }
  part("remote-open").hidden = false; // a board without a server keeps it hidden
  part("remote-open").addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.key === "m" && !isResting(event) && !closest(event, "dialog")) toggle();
  });
  let wasPresent = false;
  onChange(({ present }) => {
    if (present === wasPresent) return;
    wasPresent = present;
    const before = kept(() => sessionStorage, KEPT);
    if (present && before) listen(JSON.parse(before));
    if (present) return;
    leave(); // so that the phone hears of it
  });
}

/**
 * Tells the server that a turn was heard, again where a proxy answers in its place.
 * @param {string} address @param {number} turn
 */
async function sayHeard(address, turn, [pause, ...pauses] = PAUSES_HEARD) {
  const sent = { method: "POST", body: JSON.stringify({ turn }) };
  const answer = await fetch(address, sent).catch(() => null);
  const isTold = answer && (answer.ok || answer.status === 404);
  if (!isTold && pause) setTimeout(() => sayHeard(address, turn, pauses), pause);
}
