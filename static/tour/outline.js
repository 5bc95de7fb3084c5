// All chapters of the tour: their titles, and the decoders that race in them.

import { FILLING } from "./filling_chapter.js";
import { FORK } from "./fork_chapter.js";
import outline from "./outline.json" with { type: "json" };
import { SELF_TEST } from "./questions.js";
import { ROLLING, ROWS } from "./rows_chapter.js";

/** @type {Entry[]} */
export const CHAPTERS = [...outline, ROWS, ROLLING, FILLING, FORK, SELF_TEST];

/**
 * Return the number of the chapter that is about a decoder, or else of the one that mentions it; 0
 * where there is none.
 * @param {string} decoder
 */
export const chapterAbout = (decoder) =>
  1 +
  CHAPTERS.findIndex(
    ({ decoders, also }) =>
      decoders[0] === decoder || also?.some((each) => each.decoder === decoder),
  );
