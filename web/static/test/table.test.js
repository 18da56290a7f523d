import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsBetween } from "../js/table.js";

/** Rows of 10, 20, 30, 40 px. */
const between = (top, bottom) => {
  const { a, b, before } = rowsBetween(4, (i) => 10 * (i + 1), top, bottom);
  return `${a}-${b} after ${before}`;
};

test("the rows on the screen are those of which some px are", () => {
  assert.equal(between(0, 100), "0-4 after 0");
  assert.equal(between(9, 11), "0-2 after 0");
  assert.equal(between(10, 30), "1-2 after 10");
  assert.equal(between(10, 31), "1-3 after 10");
  assert.equal(between(59, 61), "2-4 after 30");
});

test("there is always one: the first before all, the last after all", () => {
  assert.equal(between(-500, -400), "0-1 after 0");
  assert.equal(between(500, 600), "3-4 after 60");
  assert.equal(between(15, 15), "1-2 after 10");
});

test("of a long table those are found that are scrolled to", () => {
  const { a, b, before } = rowsBetween(20_000, () => 90, 900_000, 900_700);
  assert.deepEqual([a, b, before], [10_000, 10_008, 900_000]);
});
