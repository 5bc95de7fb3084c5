// Phones at the stage. A phone with the stage's code turns its chapters: the server answers a press
// once this page says that it has heard the turn. Phones in the hall propose prompts, once the
// speaker opens it.

import { isPair } from "../board/pair.js";
import { isResting } from "../controls/keys.js";
import { attribute, closest, finder, keep, kept, say } from "../dom.js";
import { countOf } from "../numbers.js";
import { openStream } from "../trace/stream.js";

const KEPT = "photo-finish-remote"; // the code, its key and the last turn heard outlive a reload
const PAUSES_HEARD = [500, 1500]; // ms before each further try to say that a turn was heard
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Show the links for phones when m or its button is pressed on the stage, and turn the stage as the
 * phones ask.
 * @param {HTMLElement} root @param {Board} board @param {string} server its address
 */
export function mountRemote(root, { state, go, onChange }, server) {
  const part = finder(root);
  const box = part("remote");
  /** @type {(() => void) | null} closes the stream of turns */
  let closeTurns = null;
  let own = ""; // the address below which the server hears this stage
  const isLocal = LOOPBACK.includes(location.hostname); // which a phone cannot open
  let turnCode = ""; // of the stage, in the link that turns it
  let hallCode = ""; // of the open hall

  /** @param {{ code: string, key: string, heard?: number }} remote */
  function listen({ code, key, heard = 0 }) {
    const keepHeard = () => keep(() => sessionStorage, KEPT, JSON.stringify({ code, key, heard }));
    keepHeard();
    own = `${server}/remotes/${key}`;
    turnCode = code;
    say(part("remote-link"), linkOf(`remote/${code}`));
    say(
      part("remote-local"),
      isLocal ? "A phone needs this page's network address, not localhost." : "",
    );
    const message = (/** @type {MessageEvent<string>} */ { data, lastEventId }) => {
      const turn = Number(lastEventId);
      if (turn > heard) {
        heard = turn;
        keepHeard();
        document.dispatchEvent(new CustomEvent("photo-finish-turn", { detail: Number(data) }));
      }
      sayHeard(`${own}/heard`, turn);
    };
    const hall = (/** @type {MessageEvent<string>} */ { data }) => {
      const { code: open, prompts } = JSON.parse(data);
      hallCode = open;
      go({ hall: prompts });
      document.dispatchEvent(new Event("photo-finish-hall"));
      drawHall();
    };
    // The code has ended, or another window of the browser is the stage that has it.
    closeTurns = openStream(`${own}/events`, { message, hall, elsewhere: leave }, leave);
    drawHall();
  }

  /**
   * Draw the code of a link, for a phone's camera.
   * @param {HTMLElement} image @param {string} path @param {string} words
   */
  function drawCode(image, path, words) {
    image.hidden = box.hidden || closeTurns === null || isLocal;
    if (image.hidden) return;
    attribute(image, "src", `${server}/qr?text=${encodeURIComponent(`${server}/${path}`)}`);
    attribute(image, "alt", words);
  }

  // Draw the link by which a phone watches the race on the board.
  function drawWatch() {
    const shown = state.race?.snapshot;
    const id = shown && !isPair(shown) ? shown.id : "";
    part("watch").hidden = closeTurns === null || !id;
    if (part("watch").hidden) return;
    say(part("watch-link"), `Watch: ${linkOf(`?race=${id}`)}`);
    drawCode(part("watch-qr"), `?race=${id}`, "A code of the link to watch the race");
  }

  /** Write a link for a phone, as a person types it. @param {string} path */
  const linkOf = (path) => `${server.replace(/^https?:\/\//, "")}/${path}`;

  // Open the hall for prompts, or close it. The server tells the stage.
  async function turnHall() {
    const answer = await post(`${own}/hall`, { open: !hallCode }).catch(() => null);
    if (!answer?.ok) say(part("hall-count"), "The page's server does not answer. Try again.");
  }

  // Draw the hall's link. While the hall is open it stands alone: whoever has the other link turns
  // the stage.
  function drawHall() {
    const button = part("hall-open", HTMLButtonElement);
    button.hidden = closeTurns === null;
    say(button, hallCode ? "Close the hall" : "Take prompts from the hall");
    part("remote-link").hidden = hallCode !== "";
    const path = hallCode ? `hall/${hallCode}` : `remote/${turnCode}`;
    drawCode(part("remote-qr"), path, `A code of the link ${linkOf(path)}`);
    drawWatch();
    say(part("hall-link"), hallCode && `Prompts: ${linkOf(`hall/${hallCode}`)}`);
    const count = countOf(state.hall.length, "prompt");
    say(part("hall-count"), hallCode && `${count} so far: press / to pick one.`);
  }

  function leave() {
    closeTurns?.();
    closeTurns = null;
    box.hidden = true;
    hallCode = "";
    go({ hall: [] });
    drawHall();
  }

  async function toggle() {
    if (!state.present) return;
    if (closeTurns) {
      box.hidden = !box.hidden;
      return drawHall();
    }
    const answer = await fetch(`${server}/remotes`, { method: "POST" }).catch(() => null);
    const remote = answer && (await answer.json());
    box.hidden = false;
    if (answer?.ok) return listen(remote);
    say(part("remote-link"), remote?.error ?? "The page's server does not answer. Try again.");
  }
  part("hall-open").addEventListener("click", turnHall);
  document.addEventListener("photo-finish-picked", ({ detail }) => {
    post(`${own}/hall/taken`, { number: detail }).catch(() => {}); // it waits on, and is seen again
  });
  part("remote-open").hidden = false; // a board without a server keeps it hidden
  part("remote-open").addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.key === "m" && !isResting(event) && !closest(event, "dialog")) toggle();
  });
  let wasPresent = false;
  onChange(({ present }) => {
    drawWatch();
    if (present === wasPresent) return;
    wasPresent = present;
    const before = kept(() => sessionStorage, KEPT);
    if (present && before) listen(JSON.parse(before));
    if (present) return;
    leave(); // so that the phone hears of it
  });
}

/** @param {string} address @param {object} body */
const post = (address, body) => fetch(address, { method: "POST", body: JSON.stringify(body) });

/**
 * Tell the server that a turn was heard. Try again where a proxy answers in the server's place.
 * @param {string} address @param {number} turn
 */
async function sayHeard(address, turn, [pause, ...pauses] = PAUSES_HEARD) {
  const answer = await post(address, { turn }).catch(() => null);
  const isTold = answer && (answer.ok || answer.status === 404);
  if (!isTold && pause) setTimeout(() => sayHeard(address, turn, pauses), pause);
}
