// Where the board's races come from: streams and files that a test answers when it likes.

import assert from "node:assert/strict";
import test from "node:test";

import { RaceSource } from "../../../static/trace/race_source.js";
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

/** Requests for files, answered when a test says so. */
const files = [];
globalThis.fetch = (url) => new Promise((resolve) => void files.push({ url, resolve }));

const first = snapshot([threeSteps("waiting")], { seq: 0, state: "waiting", id: "a" });
const update = (seq, facts = {}) => ({
  ...{ seq, state: "racing", note: `${seq}`, lanes: [], patches: "", results: [], ...facts },
});
const over = (id) => ({ ...first, id, state: "finished" });
const settle = () => new Promise((resolve) => void setTimeout(resolve));

/** A source of races with what it has shown and found gone. */
function sourceOf() {
  const [shown, gone] = [[], []];
  const show = async (race) => void shown.push(race);
  const races = new RaceSource("/page", { kept: "/kept.json" }, show, (race) => gone.push(race));
  return { races, shown, gone };
}

/** A race that is watched: its stream, what was shown of it, and what was gone. */
function watched() {
  const { races, shown, gone } = sourceOf();
  const came = races.ask({ race: "a" });
  return { races, shown, gone, came, stream: Source.all.at(-1) };
}

test("where the line was lost, what is sent once more is not taken in again", async () => {
  const { stream, shown, gone, came } = watched();
  assert.equal(stream.url, "/page/races/a/events");
  stream.send("snapshot", 0, first);
  stream.send("update", 1, update(1));
  stream.fail(0); // the browser asks again by itself
  stream.send("snapshot", 0, first);
  for (const seq of [1, 2]) stream.send("update", seq, update(seq));
  assert.deepEqual(
    shown.map(({ note, seq }) => [seq, note]),
    [
      [0, first.note],
      [1, "1"],
      [2, "2"],
    ],
  );
  assert.equal(await came, true);
  assert.deepEqual(gone, []);
});

test("the end closes the stream; so does a recording in the place of the race", () => {
  const one = watched();
  one.stream.send("snapshot", 0, first);
  one.stream.send("update", 1, update(1, { state: "finished" }));
  assert.equal(one.stream.readyState, Source.CLOSED);
  const two = watched();
  two.stream.send("snapshot", 0, first);
  two.stream.send("update", 1, update(1));
  two.stream.send("snapshot", 0, { ...first, state: "stopped" });
  assert.equal(two.stream.readyState, Source.CLOSED);
  assert.equal(two.shown.at(-1).state, "stopped");
});

test("a race that is gone is said to be, once, and only while it is asked for", async () => {
  const { races, stream, gone, came } = watched();
  stream.fail(Source.CLOSED);
  stream.fail(Source.CLOSED);
  for (const { resolve } of files.slice(-2)) resolve({ status: 204 });
  assert.equal(await came, false);
  assert.deepEqual(gone, ["a"]);
  races.ask({ race: "a" });
  const again = Source.all.at(-1);
  again.fail(Source.CLOSED);
  races.ask({ race: "b" });
  files.at(-1).resolve({ status: 204 });
  await settle();
  assert.deepEqual(gone, ["a"]);
});

test("where a proxy gives an error the stream is opened again, ever more seldom", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const turn = () => new Promise((resolve) => void setImmediate(resolve));
  const { races, stream, shown, gone } = watched();
  stream.send("snapshot", 0, first);
  stream.send("update", 1, update(1));
  for (const [pause, answer] of [
    [500, { status: 502 }],
    [1000, null], // no server at all
    [2000, { status: 200 }],
  ]) {
    const last = Source.all.at(-1);
    last.fail(Source.CLOSED);
    files.at(-1).resolve(answer);
    await turn();
    t.mock.timers.tick(pause - 1);
    assert.equal(Source.all.at(-1), last);
    t.mock.timers.tick(1);
    assert.notEqual(Source.all.at(-1), last);
  }
  const last = Source.all.at(-1);
  last.send("snapshot", 0, first);
  for (const seq of [1, 2]) last.send("update", seq, update(seq));
  assert.deepEqual(
    shown.map(({ seq }) => seq),
    [0, 1, 2],
  );
  assert.deepEqual(gone, []);
  last.fail(Source.CLOSED);
  races.give(over("own")); // another race is on the board by then
  files.at(-1).resolve({ status: 502 });
  await turn();
  t.mock.timers.tick(10_000);
  assert.equal(Source.all.at(-1), last);
});

test("a running race that is asked for again keeps its stream and is shown again", async () => {
  const { races, stream, shown } = watched();
  stream.send("snapshot", 0, first);
  const streams = Source.all.length;
  assert.equal(await races.ask({ race: "a", key: "mine" }), true);
  assert.deepEqual([Source.all.length, races.asked.key], [streams, "mine"]);
  assert.deepEqual(
    shown.map(({ id }) => id),
    ["a", "a"],
  );
});

test("a file that does not come shows nothing", async () => {
  const { races, shown, gone } = sourceOf();
  const came = races.ask({ race: "kept" });
  files.at(-1).resolve({ ok: false });
  assert.equal(await came, false);
  assert.deepEqual([shown, gone], [[], []]);
});

// Every way in which a race is asked for, with how its answer comes.
const WAYS = {
  "a recorded race": (races) => {
    const came = races.ask({ race: "kept" });
    const { resolve } = files.at(-1);
    return {
      id: "kept",
      came,
      answer: () => resolve({ ok: true, json: async () => over("kept") }),
    };
  },
  "a race on the server": (races) => {
    const came = races.ask({ race: "live", key: "k" });
    const stream = Source.all.at(-1);
    return { id: "live", came, answer: () => stream.send("snapshot", 0, { ...first, id: "live" }) };
  },
  "a race that the browser has": (races) => {
    const came = races.give(over("own"));
    return { id: "own", came, answer: () => {} };
  },
};

const PAIRS = Object.keys(WAYS).flatMap((older) =>
  Object.keys(WAYS).flatMap((newer) => (older === newer ? [] : [{ older, newer }])),
);
for (const { older, newer } of PAIRS)
  test(`${newer} supersedes ${older}, whose answer is late`, async () => {
    const { races, shown } = sourceOf();
    const one = WAYS[older](races);
    const two = WAYS[newer](races);
    two.answer();
    one.answer();
    await settle();
    assert.equal(shown.at(-1).id, two.id);
    assert.equal(races.asked.race, two.id);
    if (older !== "a race that the browser has") assert.equal(await one.came, false);
  });
