// A race that is watched by its events.

import assert from "node:assert/strict";
import test from "node:test";

import { leaveRace, watchRace } from "../../../static/trace/live_race.js";
import { snapshot, threeSteps } from "../wire.js";

/** A stream of events that a test fires. */
class Source extends EventTarget {
  static CLOSED = 2;
  static all = [];
  readyState = 1;
  constructor(url) {
    super();
    this.url = url;
    Source.all.push(this);
  }
  close() {
    this.readyState = Source.CLOSED;
  }
  send(name, number, data) {
    const message = Object.assign(new Event(name), { data: JSON.stringify(data) });
    this.dispatchEvent(Object.assign(message, { lastEventId: String(number) }));
  }
  fail(state) {
    this.readyState = state;
    this.dispatchEvent(new Event("error"));
  }
}
globalThis.EventSource = Source;

const first = snapshot([threeSteps("waiting")], { seq: 0, state: "waiting", id: "a" });
const update = (seq, facts = {}) => ({
  ...{ seq, state: "racing", note: `${seq}`, lanes: [], patches: "", results: [], ...facts },
});

/** A race that is watched: its stream, what was shown of it, and how often it was gone. */
function watched() {
  const seen = { shown: [], gone: 0 };
  watchRace(
    "/races/a/events",
    (race) => seen.shown.push(race),
    () => (seen.gone += 1),
  );
  return { ...seen, seen, source: Source.all.at(-1) };
}

test("where the line was lost, what is sent once more is not taken in again", () => {
  const { source, seen } = watched();
  assert.equal(source.url, "/races/a/events");
  source.send("snapshot", 0, first);
  source.send("update", 1, update(1));
  source.fail(0);
  source.send("snapshot", 0, first);
  for (const seq of [1, 2]) source.send("update", seq, update(seq));
  assert.deepEqual(
    seen.shown.map(({ note, seq }) => [seq, note]),
    [
      [0, first.note],
      [1, "1"],
      [2, "2"],
    ],
  );
  assert.equal(seen.gone, 0);
});

test("the end closes the stream; so does a recording in the place of the race", () => {
  const one = watched();
  one.source.send("snapshot", 0, first);
  one.source.send("update", 1, update(1, { state: "finished" }));
  assert.equal(one.source.readyState, Source.CLOSED);
  const two = watched();
  two.source.send("snapshot", 0, first);
  two.source.send("update", 1, update(1));
  two.source.send("snapshot", 0, { ...first, state: "stopped" });
  assert.equal(two.source.readyState, Source.CLOSED);
  assert.equal(two.seen.shown.at(-1).state, "stopped");
});

test("a race that is gone is said to be, once, and only while it is watched", () => {
  const one = watched();
  const two = watched(); // in the place of the one before
  assert.equal(one.source.readyState, Source.CLOSED);
  one.source.fail(Source.CLOSED);
  assert.equal(one.seen.gone, 0);
  two.source.fail(Source.CLOSED);
  two.source.fail(Source.CLOSED);
  assert.equal(two.seen.gone, 1);
  watched().source.fail(0); // it asks again by itself
  leaveRace();
  assert.equal(Source.all.at(-1).readyState, Source.CLOSED);
});
