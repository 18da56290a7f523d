import assert from "node:assert/strict";
import { test } from "node:test";

import { sceneAt } from "../js/stage.js";
import { row } from "./films.js";

/** A stage that is told apart by what its card says. */
const stage = (says, more = {}) => ({ beliefs: [{ is: "outside", says: `A at ${says}`, cord: "none" }], card: { says, key: "K", held: "", ...more } });
const box = { dataset: { start: JSON.stringify(stage("start", { left: "–" })) } };
const command = (more = {}) => ({ why: "", at: "", after: { type: "none", lease: 0, left: 0 }, belief: [0], says: "", ...more });

const film = {
  threads: ["A"],
  lease: 200,
  positions: [],
  rows: [
    row(1, { stage: stage("T1", { left: "200 of 200 ms", part: 1000 }), after: { type: "hash", lease: 200, left: 1000 }, inside: [command({ stage: stage("T1.1") }), command(), command({ stage: stage("T1.3") })] }),
    row(2, { stage: stage("T2", { left: "90 of 200 ms", part: 450 }), after: { type: "hash", lease: 90, left: 450 }, broken: "two inside at once", inside: [command(), command({ stage: stage("T2.2") })] }),
    row(3, { stage: stage("T3", { left: "–" }), inside: [command()] }),
    row(4, { stage: stage("T4", { left: "for ever", part: 1000 }), after: { type: "string", lease: -1, left: 1000 } }),
  ],
};
const at = (row, moment = 0, passed = 0) => sceneAt(box, film, { row, moment, passed });
const says = (...where) => at(...where)?.stage.card.says;

test("before the first row is what the page has begun with", () => {
  assert.deepEqual(at(0), { stage: stage("start", { left: "–" }), broken: "", left: "–", part: 0 });
});

test("a row has its own stage, and names the rule that it breaks", () => {
  assert.deepEqual(at(2), { stage: film.rows[1].stage, broken: "two inside at once", left: "90 of 200 ms", part: 450 });
  assert.equal(at(1).broken, "");
});

test("a command has its own stage, else that of the last command before it, or of the row before", () => {
  assert.deepEqual([says(1, 1), says(1, 2), says(1, 3)], ["T1.1", "T1.1", "T1.3"]);
  assert.deepEqual([says(2, 1), says(2, 2)], ["T1", "T2.2"]);
  assert.equal(says(3, 1), "T2");
  assert.equal(at(2, 2).broken, ""); // its row breaks a rule, and not yet
});

test("nothing is shown of a row that is not here, and of a command whose stage that row has", () => {
  const gap = { ...film, rows: [film.rows[0], undefined, film.rows[2]] };
  const of = (row, moment) => sceneAt(box, gap, { row, moment });
  assert.equal(of(2, 0), null);
  assert.equal(of(3, 1), null);
  assert.equal(of(3, 0).stage.card.says, "T3");
});

test("the lease runs out after a row, and nothing else changes", () => {
  assert.deepEqual(at(2, 0, 40), { ...at(2), left: "50 of 200\u00a0ms", part: 250 });
  assert.deepEqual(at(2, 0, 500), { ...at(2), left: "0 of 200\u00a0ms", part: 0 });
  for (const row of [3, 4]) { // no key; a key that does not run out
    assert.deepEqual(at(row, 0, 40), at(row));
  }
});
