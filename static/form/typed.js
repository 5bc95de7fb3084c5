// The prompt that was typed last and has not been raced: it outlives a reload (static/opening.js).

import { closest, keep, kept, promptField } from "../dom.js";

const TYPED = "photo-finish-typed";

/** Keep a prompt that was typed. Without a prompt, forget the one that was kept. */
export const keepTyped = (typed = "") => keep(() => sessionStorage, TYPED, typed);

/** Return the prompt that is kept; "" where there is none. */
export const typedPrompt = () => kept(() => sessionStorage, TYPED);

/** Keep what is typed until it is raced. */
export function mountTyped() {
  document.addEventListener("input", (event) => {
    if (closest(event, "#prompt")) keepTyped(promptField().value);
  });
  document.addEventListener("photo-finish-asked", () => keepTyped());
}
