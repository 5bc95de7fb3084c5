import assert from "node:assert/strict";
import test from "node:test";

import { whenOnline } from "../../../static/form/offline.js";

test("what needs the connection is done at once, or once it is back", () => {
  const done = [];
  const waiting = [];
  globalThis.addEventListener = (name, act, { once }) => waiting.push({ name, act, once });
  for (const onLine of [true, false]) {
    Object.defineProperty(globalThis, "navigator", { value: { onLine }, configurable: true });
    whenOnline(() => done.push(onLine));
  }
  assert.deepEqual(done, [true]);
  assert.deepEqual([waiting.length, waiting[0].name, waiting[0].once], [1, "online", true]);
  waiting[0].act();
  assert.deepEqual(done, [true, false]);
});
