// What a page around the board's frame may ask for, and what it hears.

import assert from "node:assert/strict";
import test from "node:test";

import { readMessage } from "../../../static/board/messages.js";

const asked = (photoFinish, more = {}) => readMessage({ photoFinish, ...more });

test("a message asks for a change of the board", () => {
  assert.deepEqual(asked("play"), { playing: true });
  assert.deepEqual(asked("pause"), { playing: false });
  assert.deepEqual(asked("state"), {});
  assert.deepEqual(asked("seek", { t: 0 }), { t: 0 });
  assert.deepEqual(asked("seek", { t: 2.5, clock: "passes" }), { t: 2.5, clock: "passes" });
  assert.deepEqual(asked("seek", { t: "end", clock: "seconds" }), { live: true, clock: "seconds" });
});

test("messages of other programs are not answered", () => {
  for (const data of [undefined, null, 7, "play", [], {}, { type: "play" }])
    assert.equal(readMessage(data), null);
});

test("a wrong message is named as such, whatever it holds", () => {
  for (const what of ["stop", "", 1, null, {}, "__proto__", "ready"])
    assert.throws(() => asked(what), RangeError);
  for (const t of [-1, NaN, Infinity, "3", null, undefined, {}, [1]])
    assert.throws(() => asked("seek", { t }), RangeError);
  for (const clock of ["modelled", "", null, 1, {}])
    assert.throws(() => asked("seek", { t: 1, clock }), RangeError);
});
