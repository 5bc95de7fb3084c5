// A chapter of the tour as the page shows it.

import { lastOf } from "../numbers.js";
import { withTerms } from "../panels/terms.js";
import { html, nothing } from "../vendor/lit-html.js";
import { draftPicture } from "./draft_picture.js";
import { overlapPicture } from "./overlap_picture.js";

const KEYS_IN_WORDS =
  "← →: one step back or on. n, p: next or previous chapter. t: replay this pass.";

/** @param {Tour} tour @param {Chapter} chapter @param {TourActs} acts */
export function chapterPanel(tour, chapter, acts) {
  const { chapters, missing, at, phase, isRoute } = tour;
  const { number, title, reference, replay, last } = chapter;
  const lacking = last && missing.length ? missingWords(missing) : "";
  return html`<section class="chapter" aria-label="Guided tour" aria-live="polite">
    <header>
      <b class="chapter-number">${isRoute ? at + 1 : number}</b>
      <h3 class="chapter-title" aria-level="2">${title}</h3>
      <span class="chapter-count">${countOfChapters(tour)}</span>
    </header>
    <div class="chapter-text">${textOf(tour, chapter, acts)}</div>
    <div class="chapter-replay" ?hidden=${!replay.frames.length}>
      <button type="button" class="chapter-again" @click=${acts.replay}>${replay.title}</button>
      <p class="chapter-phase">${replay.frames[phase]?.words ?? ""}</p>
    </div>
    <div class="chapter-foot">
      <div>
        <p class="chapter-reference">${reference}</p>
        <p class="chapter-missing">${lacking}</p>
        <p class="chapter-hint" ?hidden=${last}>${KEYS_IN_WORDS}</p>
      </div>
      <div class="chapter-moves">
        <button type="button" class="chapter-leave" @click=${acts.leave}>Leave</button>
        <button
          type="button"
          class="chapter-back"
          ?disabled=${at === 0}
          @click=${() => acts.show(at - 1)}
        >
          Previous
        </button>
        <button
          type="button"
          class="chapter-on"
          ?disabled=${at === chapters.length - 1}
          @click=${() => acts.show(at + 1)}
        >
          Next
        </button>
      </div>
    </div>
  </section>`;
}

/** @param {string[]} lines */
function marked(lines) {
  /** @type {Set<string>} */
  const seen = new Set();
  return lines.map((line) => html`<p>${withTerms(line, seen)}</p>`);
}

/** @param {Tour} tour @param {Chapter} chapter @param {TourActs} acts */
const textOf = ({ share }, { lines, test, overlap, questions, fourLanes, last }, acts) => [
  test ? draftPicture(test) : nothing,
  overlap ? overlapPicture(overlap, share, acts.moveShare) : nothing,
  marked(lines),
  questions ? acts.ask(questions) : nothing,
  fourLanes ? acts.fourLanes : nothing,
  last ? triesList(acts.tries) : nothing,
];

/** @param {Try[]} tries */
function triesList(tries) {
  const here = tries.filter(({ needs }) => !needs || document.querySelector(needs));
  const items = here.map(
    ({ title, words, act }) =>
      html`<li><button type="button" @click=${act}>${title}</button><span>${words}</span></li>`,
  );
  return html`<ul class="chapter-tries">
    ${items}
  </ul>`;
}

/**
 * Write a chapter's number as links count chapters: "3 of 12". A visitor's own race may lack some
 * numbers. On a route, write the number of the page in the route.
 * @param {Tour} tour
 */
export const countOfChapters = ({ chapters, at, isRoute }) =>
  isRoute
    ? `${at + 1} of ${chapters.length}`
    : `${chapters[at].number} of ${lastOf(chapters).number}`;

/** @param {Found["missing"]} missing */
function missingWords(missing) {
  const chapters = missing.map(({ title }) => title).join("; ");
  const whose = missing.length > 1 ? "their decoders do" : "its decoder does";
  return `Left out because ${whose} not race here: ${chapters}.`;
}
