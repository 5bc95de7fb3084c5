// The stage's end of the speaker's view: it says what is on the stage and hears when to turn. Both
// windows are the same browser's, so that no server takes part.

const CHANNEL = "photo-finish-stage";

/**
 * Open a channel between this browser's windows. Return null if the browser blocks the channel, as
 * in a frame whose site may keep nothing.
 */
export function openChannel() {
  try {
    return new BroadcastChannel(CHANNEL);
  } catch {
    return null;
  }
}

/** Open the speaker's view, or bring the open one to the front. */
export function openSpeaker() {
  const theme = document.body.classList.contains("dark") ? "dark" : "light";
  const address = `${location.pathname}?speaker=1&__theme=${theme}`;
  open(address, "photo-finish-speaker", "popup,width=900,height=700");
}

/**
 * Answer the speaker's view while the board is on the stage.
 * @param {Board} board
 * @param {{ turn(by: number): void, notes(): Notes | null }} tour
 */
export function mountSpeakerLink({ state, onChange }, tour) {
  // A phone's turn, which is for this window alone.
  document.addEventListener("photo-finish-turn", ({ detail }) => {
    if (state.present) tour.turn(detail);
  });
  const channel = openChannel();
  if (!channel) return;
  let sent = "";

  /** @returns {Notes | null} */
  function notes() {
    if (!state.present || !state.race) return null;
    const { prompt, seed } = state.race.snapshot;
    return (
      tour.notes() ?? {
        count: "",
        title: prompt,
        lines: [`Seed ${seed}: ${state.race.lanes.map(({ title }) => title).join(", ")}.`],
        say: "",
        next: "the tour",
      }
    );
  }

  /** @param {Notes | null} what */
  function send(what) {
    sent = JSON.stringify(what);
    channel?.postMessage({ notes: what });
  }
  channel.addEventListener("message", ({ data }) => {
    if (!state.present) return;
    if ("turn" in data) tour.turn(data.turn);
    else if ("ask" in data) send(notes());
  });
  onChange(() => {
    const what = notes();
    if (JSON.stringify(what) !== sent) send(what);
  });
  addEventListener("pagehide", () => state.present && send(null));
}
