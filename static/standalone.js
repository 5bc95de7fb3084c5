// Joins the board to the one snapshot that its HTML file holds, at the moment that the file's
// address names; it is dark where the reader's system is.

import { MountedBoard } from "./board/board.js";
import { addressQuery, markOpened, query } from "./dom.js";
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
  const embedded = new URLSearchParams(addressQuery()).get("embed") === "1";
  document.documentElement.classList.toggle("embed", embedded);
  new MountedBoard(root).show(recorded).then(markOpened);
}
