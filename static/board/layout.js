// Which lanes are on the screen, and how large their canvases are.

import { sized } from "../dom.js";
import { isPhone, lanesShown } from "../stage/stage.js";

/**
 * Show the lanes that are visible in this state, and fit their canvases into the room.
 * @param {HTMLElement} container of the lanes @param {Raced} state @param {Card[]} cards
 */
export function layOut(container, state, cards) {
  const shown = lanesShown(state, isPhone(state));
  cards.forEach((card, i) => (card.root.hidden = !shown.includes(i)));
  const [rows, columns] = state.race.grid;
  const { style, dataset } = container;
  const count = Math.max(1, shown.length);
  style.setProperty("--columns", String(Math.max(3, count)));
  dataset.crowded = String(Number(count > 6));
  dataset.few = String(Number(count < 4));
  dataset.long = "0";
  dataset.long = String(Number(cards.some((card) => isCut(card.part("title")))));
  // The ideas of all lanes get the height of the tallest, so that the pictures stand in a row.
  style.setProperty("--idea", "0px");
  const tallest = Math.max(0, ...cards.map((card) => card.part("idea").offsetHeight));
  style.setProperty("--idea", `${tallest}px`);
  style.setProperty("--shape", `${columns} / ${rows}`);
  for (const card of cards) {
    const width = card.canvas.clientWidth * devicePixelRatio;
    card.side = Math.max(4, Math.round(width / columns));
    sized(card.canvas, card.side * columns, card.side * rows);
  }
}

/** Test whether a line is longer than its room. @param {HTMLElement} element */
const isCut = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
