// Next and back from a phone: the stage's code, and the turns that come of it by the server.

import { isResting } from "../controls/keys.js";
import { closest, finder, keep, kept, say } from "../dom.js";
import { openStream } from "../trace/stream.js";

const KEPT = "photo-finish-remote"; // the code and its key, which outlive a reload
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

  /** @param {{ code: string, key: string }} remote */
  function listen({ code, key }) {
    keep(() => sessionStorage, KEPT, JSON.stringify({ code, key }));
    const local = LOOPBACK.includes(location.hostname);
    say(part("remote-link"), `${server.replace(/^https?:\/\//, "")}/remote/${code}`);
    say(part("remote-local"), local ? "A phone needs this page's own address, not localhost." : "");
    const message = (/** @type {MessageEvent<string>} */ { data }) =>
      document.dispatchEvent(new CustomEvent("photo-finish-turn", { detail: Number(data) }));
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
