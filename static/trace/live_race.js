// A race that is watched while it runs: server-sent events bring what is new of it.

import { advance, beginRace } from "./updates.js";

/** @type {EventSource | null} of the one race that is watched */
let source = null;

/** Stops watching. */
export function leaveRace() {
  source?.close();
  source = null;
}

/**
 * Watches a race until it is over. Where the connection was lost the browser asks again by itself,
 * and is then sent everything once more.
 * @param {string} url of the race's events @param {(race: Live) => void} show
 * @param {() => void} gone is called where there is no such race
 */
export function watchRace(url, show, gone) {
  leaveRace();
  const events = (source = new EventSource(url));
  /** @type {Live | null} */
  let race = null;
  let seen = -1; // the number of the last event
  /** @param {MessageEvent<string>} event @param {(data: any) => Live | null} taken */
  function take({ data, lastEventId }, taken) {
    const value = JSON.parse(data);
    const over = value.state === "finished" || value.state === "stopped";
    if (Number(lastEventId) <= seen && !over) return;
    seen = Number(lastEventId);
    race = taken(value);
    if (over && source === events) leaveRace();
    if (race) show(race);
  }
  events.addEventListener("snapshot", (event) => take(event, (value) => beginRace(value, race)));
  events.addEventListener("update", (event) =>
    take(event, (value) => race && advance(race, value)),
  );
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED && source === events) {
      leaveRace();
      gone();
    }
  });
}
