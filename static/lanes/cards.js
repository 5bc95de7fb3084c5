// A lane's card: its name and badge, its canvas, its progress and its figures.

import { attribute, finder, query, say, templateCopy } from "../dom.js";
import look from "../look.json" with { type: "json" };
import { chance, countOf, inSeconds, onClock, ordinal } from "../numbers.js";
import { OUTSIDE } from "../trace/explain.js";
import { differing } from "../trace/layers.js";
import { chapterAbout } from "../tour/outline.js";
import { CLOCKS, boundOf, clockOf, hashesOf } from "../trace/replay.js";
import { html, nothing, render } from "../vendor/lit-html.js";
import { Plane, drawLane } from "./draw.js";

/** @type {Record<string, { colour: string, shape: string }>} */
const BADGES = look.badges;
/** @type {Record<string, { colour: string }>} */
const DECODERS = look.decoders;

/** Return a badge's colour and shape, which its first word decides. @param {string} badge */
export function badgeLook(badge) {
  const { colour, shape } = BADGES[badge.split(" ")[0]];
  return { colour: `var(--${colour})`, shape };
}

/**
 * Make one card for each lane, and find its parts once.
 * @param {HTMLElement} container @param {HTMLTemplateElement} template @param {LaneFacts[]} lanes
 * @param {Card["picture"][]} pictures
 * @returns {Card[]}
 */
export function makeCards(container, template, lanes, pictures) {
  container.replaceChildren();
  return lanes.map((lane, i) => {
    const root = query(templateCopy(template), "*");
    const part = finder(root);
    root.dataset.lane = lane.decoder;
    part("number").textContent = String(i + 1);
    part("number").title = `Hide this lane (${i + 1})`;
    part("number").setAttribute("aria-label", `Hide ${lane.title}`);
    part("badge").textContent = lane.badge;
    render(
      lane.title.split(" ").map((word) => html`<span>${word}</span> `),
      part("title"),
    );
    part("title").title = `${lane.title}: ${lane.paper}`;
    render([`${lane.idea} `, paperOf(lane), " ", whyOf(lane)], part("idea"));
    part("published-row").hidden = !lane.published;
    if (lane.published) render(publishedOf(lane.title, lane.published), part("published"));
    part("dot").style.background = (DECODERS[lane.decoder] ?? look.outside).colour;
    part("badge").title = lane.promise;
    const { colour, shape } = badgeLook(lane.badge);
    part("badge").style.color = colour;
    part("badge").dataset.shape = shape;
    part("fill").setAttribute(
      "aria-label",
      `Fill in: change a part of the picture of ${lane.title}`,
    );
    part("post").title = "Jump to this lane's finish";
    part("post").setAttribute("aria-label", `Jump to the finish of ${lane.title}`);
    container.append(root);
    return {
      root,
      part,
      canvas: query(root, "canvas", HTMLCanvasElement),
      picture: pictures[i],
      plane: new Plane(pictures[i]),
      side: 4,
      drawn: "",
      written: "",
    };
  });
}

/**
 * Draw the pictures that have changed since they were last drawn. The race has few processors, and
 * every frame of the board takes time from the race.
 * @param {Card[]} cards @param {Race} race @param {PicturesDrawn} drawn
 */
export function drawPictures(cards, race, { style, cell, views, marked }) {
  const { layer, range, against, swatches, ink, card: paper, rule, signal } = style;
  const colours = [ink, paper, rule, signal];
  const compared = against && [against.title, against.count];
  const all = [layer.name, range, colours, compared, !swatches, cell?.cell].join();
  cards.forEach((card, i) => {
    const { root, canvas, picture, plane, side } = card;
    const lane = race.lanes[i];
    const view = views[i];
    const painted = picture.rows.reduce((sum, times) => sum + times, 0);
    const here = cell?.lane === i;
    const instant = [view.k, view.state, marked[i], here, painted];
    const key = [all, instant, side, root.hidden].join();
    if (card.drawn === key) return;
    card.drawn = key;
    const [hash, marks] = hashesOf(lane, view);
    Object.assign(root.dataset, { state: view.state, step: view.k, n: view.n, hash, marks });
    if (root.hidden) return;
    plane.update(lane, race.grid, side, style);
    const selected = { ...style, cell: cell && cell.cell, here, marked: marked[i] };
    drawLane(canvas, plane, lane, view, race.grid, selected);
  });
}

/**
 * Write the figures that have changed since they were last written.
 * @param {Card[]} cards @param {Race} race @param {FiguresDrawn} drawn
 */
export function drawFigures(cards, race, { clock, views, places, ends, finishes, against }) {
  const all = [clock, against && [against.title, against.count]].join();
  cards.forEach((card, i) => {
    const lane = race.lanes[i];
    const view = views[i];
    const { state, error, priced, drafter, count } = lane;
    const won = CLOCKS.map((name) => ends[i][name]);
    const facts = [state, error, priced, drafter > 0, count > 1, won];
    const key = [all, facts, view.k, view.state, view.modelled, places[i], finishes[i]].join();
    if (card.written === key) return;
    card.written = key;
    attribute(card.root, "data-finish", finishes[i]);
    drawCard(card, lane, view, clock, against, places[i], ends[i]);
  });
}

/**
 * Write the figures of a lane's card at an instant.
 * @param {Card} card @param {Lane} lane @param {View} view @param {Clock} clock
 * @param {Lane | null} against the lane to compare with, in the layer that compares
 * @param {number | null} place among the lanes, at this instant
 * @param {Places} ends the lane's places at the finish
 */
function drawCard({ part, canvas }, lane, view, clock, against, place, ends) {
  const { state, k, n } = view;
  const cells = lane.total;
  say(part("passes"), view.passes);
  say(part("drafter"), draftsOf(lane, view));
  const bound = boundOf(lane);
  part("bound-row").hidden = !bound;
  if (bound) {
    say(part("bound"), countOf(bound, "pass", "passes"));
    part("bound-row").style.setProperty("--share", String(view.passes / bound));
  }
  part("drafter-row").hidden = !draftsOf(lane, view);
  say(part("modelled"), inSeconds(view.modelled));
  part("modelled-row").hidden = clock !== "modelled";
  say(part("seconds"), inSeconds(view.seconds));
  say(part("compression"), view.passes ? view.compression.toFixed(2) : "–");
  say(part("shift"), shiftWords(lane, view.shift));
  part("differs-row").hidden = !against;
  if (against) say(part("differs"), differing(lane, view, against).join(" of "));
  part("progress").style.setProperty("--share", String(n / cells));
  for (const name of CLOCKS) {
    const end = state === "finished" && ends[name];
    say(part("place-" + name), end ? ordinal(end) : "");
    part("place-" + name).classList.toggle("first", end === 1);
  }
  const done = state === "finished";
  const progress = n ? `${n} of ${cells}` : "";
  say(part("stamp"), done ? finishWords(lane, clock, ends[clock]) : progress);
  attribute(part("stamp"), "data-unit", done && clock === "passes" ? clock : "");
  const stamped = done && ends[clock]; // a finished lane has its place in its stamp
  say(part("place-now"), place && !stamped ? ordinal(place) : "");
  const { before = 0, after = 0 } = lane.steps[k - 1] ?? {};
  say(part("gain"), place && !done ? `+${after - before}` : "");
  part("post", HTMLButtonElement).disabled = lane.state !== "finished";
  say(part("error"), lane.error ? `This lane failed: ${lane.error}` : "");
  part("error").hidden = !lane.error;
  const share = Math.floor((10 * n) / cells) * 10;
  attribute(canvas, "aria-label", `${lane.title}: ${share}% of the picture, ${state}`);
}

// Link to the figure that a paper reports for such a lane.
/** @param {string} title @param {PaperMark} published */
const publishedOf = (title, { words, source, paper }) =>
  linkOf(paper, words, source, `${title} in the paper: ${words} (${source})`);

// Link to the lane's paper by its number on arXiv, if it has one.
/** @param {LaneFacts} lane */
function paperOf({ title, paper }) {
  const [number] = paper.match(/\d{4}\.\d{5}/) ?? [];
  return number ? linkOf(number, "paper", paper, `The paper of ${title}`) : nothing;
}

// Return a button that opens the tour at the decoder's chapter, if there is one.
/** @param {LaneFacts} lane */
function whyOf({ title, decoder }) {
  const chapter = chapterAbout(decoder);
  return chapter
    ? html`<button
        type="button"
        class="why-chapter"
        data-chapter=${chapter}
        aria-label="Why: the chapter on ${title}"
      >
        why?
      </button>`
    : nothing;
}

/** @param {string} number @param {string} words @param {string} source @param {string} label */
const linkOf = (number, words, source, label) =>
  html`<a
    href="https://arxiv.org/abs/${number}"
    title=${source}
    target="_blank"
    rel="noopener"
    aria-label=${label}
    >${words}</a
  >`;

// Say how a lane that may have a drafter gets its drafts: the drafter's passes, or "Jacobi". A
// lane's first step has no drafts, so return "" until the second.
/** @param {Lane} lane @param {View} view */
function draftsOf(lane, view) {
  if (lane.drafter) return countOf(view.drafter, "pass", "passes");
  return lane.decoder === "lantern" && lane.count > 1 ? "Jacobi" : "";
}

/**
 * Write a lane's mean shift so far: "0.13"; "exactly 0" for a lossless rule, unless a test had a
 * shift; "0 claimed" if only the decoder's author says 0 and the verdict disagrees; "not judged" if
 * there is no verdict.
 * @param {LaneFacts} lane @param {number | null} shift
 */
export function shiftWords({ badge, rule }, shift) {
  if (badge.startsWith("not") && !shift) return "not judged";
  if (rule === OUTSIDE && badge.startsWith("changed") && shift === 0) return "0 claimed";
  return badge.startsWith("changed") || shift ? chance(shift) : "exactly 0";
}

// Write the stamp of a finished lane: its place, and its time on the clock that is shown. A
// modelled time, which nobody measured, has a ≈. The style adds "passes" where there is room.
/** @param {Lane} lane @param {Clock} clock @param {number | null} place */
function finishWords(lane, clock, place) {
  const time = onClock(clockOf(lane, clock), clock);
  const marked = { seconds: `${time} s`, passes: String(time), modelled: `≈${time} s` }[clock];
  return [place && ordinal(place), marked].filter(Boolean).join("  ");
}
