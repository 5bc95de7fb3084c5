// "Could you tell?": a race's pictures by a lossless lane and by one that changes the distribution,
// without names. A visitor says which of them is changed, then reads names, shift, and how many
// told so far.

import { finder, keep, kept, penOf, sized } from "../dom.js";
import { chance, countOf } from "../numbers.js";
import { tokenAt } from "../trace/layers.js";
import { hashOf } from "../trace/replay.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { isFork } from "./fork.js";
import { isPair } from "./pair.js";

const TALLY_SECONDS = 3; // between looks at the tally while it is shown
const EXACT = 1000; // throws of a coin, beyond which a normal distribution gives the same counts
const NO_TALLY = "The page's server does not answer, so there is no tally yet.";
// The lane that a visitor answered outlives a reload; -1 where the answer was only looked at.
const ANSWERED = "photo-finish-told-";

/**
 * Return the pair of lanes whose pictures a race shows without names, in the order in which they
 * stand: all who look at the race see the same. Return null where there is none: a pair needs a
 * finished lossless lane and a finished lane that changed the distribution, with different pictures
 * that they drew whole, or drew on.
 * @param {Race} race @returns {{ lanes: [number, number], changed: number } | null}
 */
export function pairToTell({ snapshot, lanes, cells }) {
  const { id = "", infilling, state } = snapshot;
  if (state !== "finished" || isPair(snapshot) || (infilling && !isFork(infilling))) return null;
  /** @param {(badge: string) => boolean} isOf */
  const finished = (isOf) =>
    lanes.flatMap(({ state: end, badge }, i) => (end === "finished" && isOf(badge) ? i : []));
  const own = finished((badge) => badge.startsWith("identical") || badge === "same distribution");
  const changed = finished((badge) => badge === "changed distribution");
  const pictures = lanes.map((lane) =>
    String(Array.from({ length: cells }, (_, cell) => tokenAt(lane, cell))),
  );
  const pairs = own.flatMap((a) =>
    changed.flatMap((b) => (pictures[a] === pictures[b] ? [] : [[a, b]])),
  );
  if (!pairs.length) return null;
  const number = parseInt(hashOf([...id].map((letter) => letter.charCodeAt(0))), 16);
  const [a, b] = pairs[(number >>> 1) % pairs.length];
  return { lanes: number % 2 ? [a, b] : [b, a], changed: b };
}

/**
 * Return the counts between which 95 of 100 coins' counts of heads lie, of `n` throws.
 * @param {number} n @returns {[number, number]}
 */
export function coinInterval(n) {
  if (n > EXACT) {
    const least = Math.round(n / 2 - 1.96 * Math.sqrt(n / 4));
    return [least, n - least];
  }
  let low = 0;
  let chanceOf = 0.5 ** n; // of exactly `low` heads
  for (let below = chanceOf; below <= 0.025; below += chanceOf) {
    chanceOf *= (n - low) / (low + 1);
    low += 1;
  }
  return [low, n - low];
}

/**
 * Say how many told so far, and what that means.
 * @param {{ votes: number, right: number }} tally
 */
export function tallyOf({ votes, right }) {
  if (!votes) return "Nobody has answered yet.";
  const [low, high] = coinInterval(votes);
  const told = `Right so far: ${right} of ${countOf(votes, "answer")}.`;
  if (low === 0) return `${told} That is too few answers to tell more than a coin would.`;
  const coin = `A coin would be right ${low} to ${high} times, in 95 of 100 halls`;
  const means = right > high ? "so the change is seen" : "so nothing shows that it is seen";
  return `${told} ${coin}, ${means}.`;
}

/**
 * Mount the button that shows the two pictures. `server` is the address of the page's server.
 * @param {HTMLElement} root @param {Board} board @param {string} server
 * @param {() => string} voter returns the visitor's name
 */
export function mountTell(root, board, server, voter) {
  const button = finder(root)("could-tell");
  /** @type {Race | null} */
  let seen = null; // the race whose pair is known
  let isPaired = false;
  board.onChange(({ race, live }) => {
    if (race !== seen) isPaired = pairToTell(race) !== null;
    seen = race;
    button.hidden = !(live && isPaired);
  });
  button.addEventListener("click", open);

  function open() {
    const { race } = board.state;
    const pair = race && pairToTell(race);
    if (!race || !pair) return;
    const { id = "" } = race.snapshot;
    const address = `${server}/races/${id}/votes`;
    const dialog = document.createElement("dialog");
    Object.assign(dialog, { className: "tell", ariaLabel: "Could you tell?" });
    const before = kept(() => sessionStorage, ANSWERED + id);
    let answer = before === "" ? -1 : Number(before); // the lane said to be changed
    let isShown = before !== ""; // whether the names are
    let tally = "";

    // Ask for the tally. An answer is sent each time, in case it was lost; it is counted once.
    async function ask() {
      if (document.hidden) return;
      const body = JSON.stringify({ voter: voter(), lane: answer });
      const options = answer < 0 ? {} : { method: "POST", body };
      const sent = await fetch(address, options).catch(() => null);
      const said = sent && (await sent.json().catch(() => null));
      if (sent?.ok && said) tally = tallyOf(said);
      else tally = said?.error ?? NO_TALLY;
      if (sent?.status === 404) clearInterval(looks);
      draw();
    }
    /** @param {number} lane */
    function show(lane) {
      answer = lane;
      isShown = true;
      keep(() => sessionStorage, ANSWERED + id, String(lane));
      ask();
    }
    /** @param {number} lane */
    const nameOf = (lane) => {
      const { title, badge, shift } = race.lanes[lane];
      return html`<b>${title}</b>: ${badge}${shift === null ? "" : `, shift ${chance(shift)}`}`;
    };
    /** @param {number} lane @param {number} i */
    const figureOf = (lane, i) =>
      html`<figure class=${isShown && lane === pair.changed ? "changed" : ""}>
        <canvas role="img" aria-label=${`Picture ${"AB"[i]}`}></canvas>
        <figcaption>
          ${
            isShown
              ? nameOf(lane)
              : html`<button type="button" @click=${() => show(lane)}>
                  ${"AB"[i]} is changed
                </button>`
          }
        </figcaption>
      </figure>`;
    const draw = () => {
      const right = answer === pair.changed;
      const told = answer < 0 ? "" : right ? "You told it." : "You took the other one for changed.";
      const close = () => dialog.close();
      render(
        html`<h2>Could you tell?</h2>
          <p>
            One of these pictures was drawn with the model's own probabilities, the other with
            changed ones. Which one is changed?
          </p>
          <div class="tell-pair">${pair.lanes.map(figureOf)}</div>
          <p class="tell-words" role="status">${isShown ? `${told} ${tally}`.trim() : nothing}</p>
          <div class="tell-acts">
            ${
              isShown
                ? nothing
                : html`<button type="button" class="tell-show" @click=${() => show(-1)}>
                    Show the answer
                  </button>`
            }
            <button type="button" class="tell-close" @click=${close}>Close</button>
          </div>`,
        dialog,
      );
    };

    draw();
    const canvases = dialog.querySelectorAll("canvas");
    pair.lanes.forEach((lane, i) => {
      const picture = board.pictureOf(lane);
      penOf(sized(canvases[i], picture.width, picture.height)).drawImage(picture, 0, 0);
    });
    const looks = setInterval(() => isShown && ask(), 1000 * TALLY_SECONDS);
    if (isShown) ask();
    dialog.addEventListener("close", () => {
      clearInterval(looks);
      dialog.remove();
    });
    finder(root)("board").append(dialog);
    dialog.showModal();
  }
}
