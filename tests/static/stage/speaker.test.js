import assert from "node:assert/strict";
import test from "node:test";

import { inMinutes } from "../../../static/stage/speaker.js";

test("a talk's time is in minutes, and in hours from the first on", () => {
  const at = [0, 999, 61_000, 3_599_999, 3_600_000, 3_723_000, -5];
  const words = ["0:00", "0:00", "1:01", "59:59", "1:00:00", "1:02:03", "0:00"];
  assert.deepEqual(at.map(inMinutes), words);
});
