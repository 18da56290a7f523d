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

test("what is called otherwise here is found by its other names", () => {
  const also = "ttl, timeout: lease\nsplit brain: two-masters, fail-over\n";
  const all = ["the lease ends", "two-masters b", "a ttl of its own", "brain"];
  const found = (/** @type {string} */ sought) => all.filter(having(sought, also));
  assert.deepEqual(found("TTL"), ["the lease ends", "a ttl of its own"]);
  assert.deepEqual(found("timeout ends"), ["the lease ends"]);
  assert.deepEqual(found("split  brain"), ["two-masters b"]);
  assert.deepEqual(found("brain"), ["brain"]);
});
