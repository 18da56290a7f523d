import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, say } from "../js/words.js";

test("a text has its arguments in their places", () => {
  assert.equal(say("%s from T%d", "branch 1", 7), "branch 1 from T7");
  assert.equal(say("%[2]s before %[1]s, then %s", "A", "B"), "B before A, then B");
  assert.equal(say("%d of %d", 7, 1011), "7 of 1,011");
});

test("a length of time is said in minutes where these are whole seconds", () => {
  assert.deepEqual([62, 59_999, 60_000, 61_500, 260_000].map(duration), ["62 ms", "59,999 ms", "1 min", "61,500 ms", "4 min 20 s"]);
});
