import assert from "node:assert/strict";
import { test } from "node:test";
import { brokenIn } from "../js/ending.js";
import { film } from "./films.js";

/** A film of five rows, of which two break a rule. */
function example() {
  const f = film([{ move: 0, rows: 5, over: true }]);
  Object.assign(f.rows[1], { mark: "violation", alarm: "T2. two inside: A and B.", why: "Two are in." });
  Object.assign(f.rows[3], { mark: "violation", alarm: "T4：更新丢失：A。", why: "Lost." });
  return f;
}

test("each rule that a film breaks has its row, its name and its reason", () => {
  assert.deepEqual(brokenIn(example()), [
    { row: 2, name: "T2. two inside", why: "Two are in." },
    { row: 4, name: "T4：更新丢失", why: "Lost." },
  ]);
});

test("the first one is the first also where its row has not come", () => {
  const f = example();
  f.marks = ".0.0.";
  f.rows[1] = undefined;
  assert.deepEqual(brokenIn(f)[0], { row: 2, name: "T2", why: undefined });
});

test("a film that breaks no rule has none", () => {
  assert.deepEqual(brokenIn(film([{ move: 0, rows: 2 }])), []);
  assert.deepEqual(brokenIn(film([])), []);
});
