import assert from "node:assert/strict";
import { test } from "node:test";

import { lastWords } from "../js/ending.js";

const row = (why, mark, alarm) => ({ why, mark, alarm });

test("the end says what was broken first, and why", () => {
  assert.equal(lastWords([row("A is in."), row("Two are in.", "violation", "T2. two inside: A and B."), row("It is over.")]), "T2. two inside: Two are in.");
});

test("of several it says the first and the last", () => {
  const rows = [row("Two are in.", "violation", "T1. two inside: A and B."), undefined, row("Lost.", "violation", "T3. lost update: by A.")];
  assert.equal(lastWords(rows), "T1. two inside: Two are in. Later: T3. lost update");
});

test("where nothing was broken it says how it ended", () => {
  assert.equal(lastWords([row("A is in."), row("It is over.")]), "It is over.");
  assert.equal(lastWords([]), "");
});
