// The menu of the board's Share button: links to what the board shows, and files of its race, which
// gradio makes.

import { isPair } from "../board/pair.js";
import { query, queryAll } from "../dom.js";
import { outcomeOf } from "../panels/results.js";
import { hasRace } from "../trace/replay.js";
import { writeMoment } from "./moment.js";

/**
 * Make the button open the Share menu over the whole page, the stage included, and bind the menu's
 * links. For a race without a link, the menu offers only files.
 * @param {HTMLButtonElement} button @param {Board} board
 */
export function mountShare(button, { state, onChange }) {
  const menuOf = () => query(document, "#share"); // gradio's, which may come after the board
  onChange(({ race: { snapshot } }) => {
    button.hidden = !snapshot.id || isPair(snapshot);
    if (!button.popoverTargetElement) return;
    query(menuOf(), ".share-links").hidden = !snapshot.link;
    if (button.hidden) menuOf().hidePopover();
  });
  const open = () => {
    const menu = menuOf();
    Object.assign(menu, { popover: "auto", role: "dialog", ariaLabel: "Share" });
    menu.addEventListener("beforetoggle", sayNothing);
    menu.addEventListener("toggle", () => {
      if (menu.matches(":popover-open")) query(menu, "button:not([hidden])").focus();
    });
    bindLinks(menu, state);
    query(menu, ".share-links").hidden = !state.race?.snapshot.link;
    button.popoverTargetElement = menu; // which this click opens
  };
  button.addEventListener("click", open, { once: true });
}

/** @param {HTMLElement} menu @param {State} state */
function bindLinks(menu, state) {
  /** @param {string} name @param {(button: HTMLElement, state: Raced) => unknown} act */
  const bind = (name, act) => {
    const one = query(menu, name);
    one.addEventListener("click", () => hasRace(state) && act(one, state));
    return one;
  };
  bind(".moment", (one, raced) => copyLink(one, linkTo(writeMoment(raced))));
  bind(".embed", (one, raced) => copyEmbed(one, raced));
  const send = bind(".send", (_, raced) => {
    const text = `${raced.race.snapshot.prompt}. ${outcomeOf(raced)}`;
    const shared = { title: "Photo Finish", text, url: linkTo(writeMoment(raced)) };
    navigator.share(shared).catch(() => {}); // the visitor may think better of it
  });
  send.hidden = !navigator.canShare?.({ url: location.href });
}

/** @param {string} moment a link's query */
const linkTo = (moment) => location.origin + location.pathname + moment;

/**
 * Return the HTML of a frame that shows only the board in another page, at the same moment. The
 * frame starts no race.
 * @param {string} prompt @param {string} moment the link's query
 */
function embedOf(prompt, moment) {
  const frame = document.createElement("iframe");
  const attributes = {
    title: `Photo Finish: ${prompt}`,
    src: linkTo(`${moment.replace("&go=1", "")}&embed=1`),
    width: "960",
    height: "640",
    loading: "lazy",
    allow: "fullscreen; clipboard-write",
    style: "border: 0; max-width: 100%",
  };
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value);
  return frame.outerHTML;
}

/**
 * Copy the HTML of an embedded board, or show it where the browser blocks the clipboard.
 * @param {HTMLElement} button which says what has been done @param {Raced} state
 */
async function copyEmbed(button, state) {
  const text = embedOf(state.race.snapshot.prompt, writeMoment(state));
  if (await copied(text)) sayOn(button, "Copied");
  else prompt("Your browser blocked the clipboard. Copy the code from here:", text);
}

/** Copy a text. Resolve to whether the browser allowed it. @param {string} text */
const copied = async (text) =>
  navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );

/**
 * Write on a button that something was copied, until the menu closes. Clear the other buttons,
 * because the clipboard holds one thing.
 * @param {HTMLElement} button @param {string} text
 */
function sayOn(button, text) {
  sayNothing();
  query(button, "span").textContent = text;
}

/** Clear the words on the menu's buttons. */
function sayNothing() {
  for (const words of queryAll(document, ".share-links span")) words.textContent = "";
}

/**
 * Copy a link, or make it the page's address where the browser blocks the clipboard.
 * @param {HTMLElement} button which says what has been done @param {string} link
 */
async function copyLink(button, link) {
  if (await copied(link)) return sayOn(button, "Copied");
  history.replaceState(null, "", link);
  sayOn(button, "Not copied: the link is now in the address bar.");
}
