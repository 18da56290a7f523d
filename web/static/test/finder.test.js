import assert from "node:assert/strict";
import { test } from "node:test";

import { having } from "../js/finder.js";

test("what is found has all words, in any order and case", () => {
  const card = "a task outlives its lock redis-py (python) lease of 5\u00a0s";
  for (const sought of ["Redis-py", "lock  task", "python 5 s", "", " "]) {
    assert.ok(having(sought)(card), sought);
  }
  assert.ok(!having("lock redisson")(card));
});
