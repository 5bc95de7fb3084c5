// The form that a link fills in once the page's opening is answered.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.location = { search: "?prompt=cat&embed=1" };
globalThis.MutationObserver = class {
  observe() {}
};
const classes = [];
const toggle = (name, on) => on && classes.push(name);
globalThis.document = Object.assign(new EventTarget(), {
  documentElement: { lang: "de", classList: { toggle } },
  getElementById: () => ({ click: () => (clicks += 1) }),
});
globalThis.window = globalThis;
let clicks = 0;
const beacons = [];
Object.defineProperty(globalThis, "navigator", {
  value: { sendBeacon: (...sent) => beacons.push(sent) },
});
let leave;
globalThis.addEventListener = (_, listener) => (leave = (event = {}) => listener(event));
const { filledIn } = await import("../../static/opening.js");
const { document, photoFinish } = globalThis;

const INITIAL = { prompt: "dog", seed: 7, lanes: ["ar", "sjd"], infilling: null };

test("a link fills in the fields that it has", () => {
  const linked = { prompt: "cat", lanes: ["gsd"] };
  assert.deepEqual(filledIn(linked, INITIAL, ["dog", 7, ["ar", "sjd"], ""]), [
    ...["cat", 7, ["gsd"], ""],
  ]);
});

test("a field that the visitor has changed stays as it is", () => {
  const linked = { prompt: "cat", seed: 8, lanes: ["gsd"] };
  assert.deepEqual(filledIn(linked, INITIAL, ["typed", 7, ["ar"], ""]), [
    ...["typed", 8, ["ar"], ""],
  ]);
});

test("the head keeps the query and the page's language, and starts a link's race once", async () => {
  assert.equal(photoFinish.query, "?prompt=cat&embed=1");
  assert.deepEqual([document.documentElement.lang, classes], ["en", ["inside", "embed"]]);
  leave();
  assert.deepEqual(beacons, [], "the server does not know this page yet");
  photoFinish.open({ race: "a", key: "k", form: {}, go: true, session: "s" });
  assert.deepEqual(await photoFinish.opened, { race: "a", key: "k" });
  assert.equal(clicks, 1);
  document.dispatchEvent(new Event("photo-finish-asked"));
  photoFinish.open({ race: "", key: "", form: {}, go: true }); // the visitor was faster
  assert.equal(clicks, 1);
});

test("a page says that it is left, unless the browser keeps it for its Back button", () => {
  photoFinish.open({ race: "", key: "", form: {}, go: false, session: "s" });
  leave({ persisted: true });
  assert.deepEqual(beacons, []);
  leave({ persisted: false });
  assert.deepEqual(beacons, [["left", "s"]]);
});
