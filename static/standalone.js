// Joins the board to the one snapshot that its HTML file holds, at the moment that the file's
// address names; it is dark where the reader's system is.

import { mountBoard } from "./board/board.js";
import { readMoment } from "./controls/moment.js";
import { addressQuery, query } from "./dom.js";
import { mountSaving } from "./panels/save.js";
import { isSpeaker, mountSpeaker } from "./stage/speaker.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();
const root = query(document, "#board");
if (isSpeaker()) mountSpeaker(root);
else {
  const recorded = JSON.parse(String(query(document, "#race", HTMLScriptElement).textContent));
  mountSaving(document, () => recorded);
  const asked = addressQuery();
  const embedded = new URLSearchParams(asked).get("embed") === "1";
  document.documentElement.classList.toggle("embed", embedded);
  const board = mountBoard(root, (callback) => callback(recorded));
  let opened = false;
  board.onChange(({ race }) => {
    if (opened) return;
    opened = true;
    board.go(readMoment(asked, race));
  });
}
