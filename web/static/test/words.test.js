import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, say, unparted } from "../js/words.js";

test("a text has its arguments in their places", () => {
  assert.equal(say("%s from T%d", "branch 1", 7), "branch 1 from T7");
  assert.equal(say("%[2]s before %[1]s, then %s", "A", "B"), "B before A, then B");
  assert.equal(say("%d of %d", 7, 1011), "7 of 1,011");
});

test("a length of time is said in minutes where these are whole seconds", () => {
  assert.deepEqual([62, 59_999, 60_000, 61_500, 260_000].map(duration), ["62~ms", "59,999~ms", "1~min", "61,500~ms", "4~min 20~s"].map((text) => text.replaceAll("~", "\u00a0")));
});

test("a number and its unit never part, whoever says them", () => {
  for (const [text, want] of [
    ["72 % of 1,986 orders in 1,266.5 ms", "72~% of 1,986 orders in 1,266.5~ms"],
    ["3 µs, 64 KiB, 2 d 7 h", "3~µs, 64~KiB, 2~d 7~h"],
    ["等了 300 ms，共 5 个", "等了 300~ms，共 5~个"],
    ["T9 ms are a name; level 2 starts", "T9 ms are a name; level 2 starts"],
  ]) {
    assert.equal(unparted(text).replaceAll("\u00a0", "~"), want);
  }
});
