// The words that a model knows. Gradio runs this text once, with `element` and `props`. A click
// puts a word into the prompt: a thing beside its things while there is room, else in place of the
// last word of its kind; a class is the whole prompt.

import { promptField, query } from "../dom.js";
import { html, nothing, render } from "../vendor/lit-html.js";

/** @type {Record<string, string>} */
const JOINTS = { glyphs: "", grounds: " on ", places: " at the " }; // before a word of each kind
const MOST = 4; // things in a scene
/** @type {WordListFacts} */
const facts = JSON.parse(props.facts);
/** @type {Record<string, string[]>} */
const kinds = { glyphs: [], grounds: [], places: [] };
const search = query(element, "input", HTMLInputElement);

/**
 * Find which of the words are in a prompt, and list them in the prompt's order. If one word
 * contains another, list the longer word.
 * @param {string} prompt @param {string[]} words
 */
function wordsIn(prompt, words) {
  const longestFirst = words.toSorted((a, b) => b.length - a.length);
  const any = longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|");
  return [...prompt.matchAll(new RegExp(`(?<![^\\s,])(${any})(?![^\\s,])`, "giu"))];
}

/** @param {string} prompt @param {string} kind @param {string} word */
function promptWith(prompt, kind, word) {
  const found = wordsIn(prompt, kinds[kind]);
  const last = found.at(-1);
  if (last) {
    const end = last.index + last[0].length;
    const joins = kind === "glyphs" && found.length < MOST;
    const [start, text] = joins ? [end, ` and ${word}`] : [last.index, word];
    return prompt.slice(0, start) + text + prompt.slice(end);
  }
  if (kind === "glyphs") {
    const ground = wordsIn(prompt, kinds.grounds)[0]?.[0] ?? kinds.grounds[0];
    return word + JOINTS.grounds + ground;
  }
  return prompt.trim() + JOINTS[kind] + word;
}

/** @param {string} kind @param {string} word */
function use(kind, word) {
  const input = promptField();
  input.value = kind === "classes" ? word : promptWith(input.value, kind, word);
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

/**
 * Fold a text as the server folds names: without case and accents, and with hiragana for katakana.
 * @param {string} text
 */
function fold(text) {
  const plain = text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "");
  /** @param {string} kana */
  const hiragana = (kana) => String.fromCharCode(kana.charCodeAt(0) - 96);
  return plain.normalize("NFC").replace(/[ァ-ヶ]/g, hiragana);
}

/** @param {WordGroup[]} groups */
function layOut(groups) {
  for (const { kind, words } of groups) kinds[kind]?.push(...words.map(([word]) => word));
  const draw = () => {
    const text = fold(search.value.trim());
    render(
      groups.map((group) => groupOf(group, text)),
      query(element, ".word-kinds"),
    );
  };
  search.addEventListener("input", draw);
  draw(); // what was typed before the names were here
}

/** @param {WordGroup} group @param {string} text what is searched */
function groupOf({ title, kind, words }, text) {
  const buttons = words.map(([word, emoji, called]) => {
    const picture = emoji ? html`<span aria-hidden="true">${emoji}</span>` : nothing;
    return html`<button
      type="button"
      ?hidden=${!called.includes(text)}
      @click=${() => use(kind, word)}
    >
      ${picture}${word}
    </button>`;
  });
  const isNone = words.every(([, , called]) => !called.includes(text));
  return html`<div class="word-kind" ?hidden=${isNone}>
    <h3>${title[0].toUpperCase() + title.slice(1)}</h3>
    ${buttons}
  </div>`;
}

if (facts.groups) layOut(facts.groups);
else {
  // A long list is fetched once it is seen.
  const seen = new IntersectionObserver(async (entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    // The server's files are beside the page, whatever a proxy tells it of its address.
    const answer = await fetch(new URL(`.${facts.file}`, document.baseURI));
    layOut(await answer.json());
  });
  seen.observe(element);
}
