// A slide's fragments seek and play the race in its frame. `data-t` of a fragment is where the race
// stands once the fragment is shown, in passes or "end"; `data-play` plays on from where it is.
// `data-t` of the frame is where the race stands before the first fragment.

const deck = window.Reveal;

/** @param {HTMLIFrameElement} frame @param {object} message */
const send = (frame, message) => frame.contentWindow.postMessage(message, "*");

/** Set the shown slide's race as its fragments say, and pause the others. */
function follow() {
  const shown = deck.getCurrentSlide();
  for (const frame of document.querySelectorAll("iframe")) {
    const slide = frame.closest("section");
    const fragments = [...slide.querySelectorAll(".fragment.visible")];
    const { t, play } = (fragments.at(-1) ?? frame).dataset;
    send(frame, { photoFinish: "pause" });
    if (slide !== shown) continue;
    if (play !== undefined) send(frame, { photoFinish: "play" });
    else send(frame, { photoFinish: "seek", t: t === "end" ? t : Number(t), clock: "passes" });
  }
}

/** Write the state of the race into its slide. @param {HTMLIFrameElement} frame */
function write(frame, { race, lanes }) {
  if (!race) return;
  const words = lanes.map(({ title, tokens, passes }) => `${title} ${tokens} in ${passes} passes`);
  for (const output of frame.closest("section").querySelectorAll("output"))
    output.textContent = words.join(", ");
}

window.addEventListener("message", ({ source, data }) => {
  const frames = [...document.querySelectorAll("iframe")];
  const frame = frames.find(({ contentWindow }) => contentWindow === source);
  if (!frame || !data) return;
  if (data.photoFinish === "ready") follow();
  else if (data.photoFinish === "state") write(frame, data);
  else if (data.photoFinish === "error") console.error(data.error);
});
for (const event of ["fragmentshown", "fragmenthidden", "slidechanged"]) deck.on(event, follow);
deck.initialize({ transition: "none", backgroundTransition: "none" });
