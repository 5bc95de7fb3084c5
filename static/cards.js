// A lane's card: its name and badge, its canvas, its progress and its figures.

import { attribute, say } from "./dom.js";
import { Plane } from "./draw.js";
import look from "./look.json" with { type: "json" };
import { inSeconds, ordinal } from "./numbers.js";
import { clockOf, hashesOf } from "./replay.js";

/** A badge's colour and shape, by the first of its words. @param {HTMLElement} element */
export function dressBadge(element, badge) {
  const [name] = badge.split(" ");
  element.style.color = `var(--${look.badges[name].colour})`;
  element.dataset.shape = look.badges[name].shape;
}

/**
 * One card a lane; its parts are found once.
 * @param {HTMLElement} container @param {HTMLTemplateElement} template @param {LaneFacts[]} lanes
 * @param {Card["picture"][]} pictures
 * @returns {Card[]}
 */
export function makeCards(container, template, lanes, pictures) {
  container.replaceChildren();
  return lanes.map((lane, i) => {
    const root = /** @type {HTMLElement} */ (template.content.firstElementChild.cloneNode(true));
    const parts = {};
    const part = (name) => (parts[name] ??= root.querySelector("." + name));
    root.dataset.lane = lane.decoder;
    part("number").textContent = i + 1;
    part("number").title = `Hide this lane (${i + 1})`;
    part("number").setAttribute("aria-label", `Hide ${lane.title}`);
    for (const name of ["title", "badge", "idea", "paper"]) part(name).textContent = lane[name];
    part("title").title = `${lane.title}: ${lane.paper}`;
    part("badge").title = lane.promise;
    dressBadge(part("badge"), lane.badge);
    part("post").title = "Jump to this lane's finish";
    part("post").setAttribute("aria-label", `Jump to the finish of ${lane.title}`);
    container.append(root);
    const [canvas, picture] = [root.querySelector("canvas"), pictures[i]];
    return { root, part, canvas, picture, plane: new Plane(picture), side: 4 };
  });
}

/**
 * The figures of a lane's card at an instant.
 * @param {Card} card @param {Lane} lane @param {View} view @param {Clock} clock
 */
export function drawCard({ root, part, canvas }, lane, view, cells, clock) {
  const { state, k, n } = view;
  if (Number(root.dataset.step) !== k || root.dataset.state !== state) {
    const [hash, marks] = hashesOf(lane, view);
    Object.assign(root.dataset, { state, step: k, n, hash, marks });
  }
  part("about").hidden = n > 0;
  say(part("passes"), view.passes);
  say(part("drafter"), draftsOf(lane, view));
  part("drafter-row").hidden = !draftsOf(lane, view);
  say(part("seconds"), inSeconds(view.seconds));
  say(part("compression"), view.passes ? view.compression.toFixed(2) : "–");
  part("progress").firstElementChild.style.width = `${(100 * n) / cells}%`;
  for (const name of ["seconds", "passes"]) {
    const place = state === "finished" && lane.places[name];
    say(part("place-" + name), place ? ordinal(place) : "");
    part("place-" + name).classList.toggle("first", place === 1);
  }
  say(part("stamp"), state === "finished" ? finishWords(lane, clock) : "");
  part("post").disabled = lane.state !== "finished";
  say(part("error"), lane.error ? `This lane failed: ${lane.error}` : "");
  part("error").hidden = !lane.error;
  const share = Math.floor((10 * n) / cells) * 10;
  attribute(canvas, "aria-label", `${lane.title}: ${share}% of the picture, ${state}`);
}

// What drafts in a lane that may have a drafter. Its first step has no drafts yet, so until the
// second nobody can say.
function draftsOf(lane, view) {
  if (lane.drafter) return `EAGLE, ${view.drafter} pass${view.drafter === 1 ? "" : "es"}`;
  return lane.decoder === "lantern" && lane.count > 1 ? "Jacobi" : "";
}

// What a photo finish notes at a lane: its place and its time.
function finishWords(lane, clock) {
  const time =
    clock === "seconds" ? `${inSeconds(clockOf(lane, clock))} s` : `${clockOf(lane, clock)} passes`;
  return [lane.places[clock] && ordinal(lane.places[clock]), time].filter(Boolean).join("  ");
}
