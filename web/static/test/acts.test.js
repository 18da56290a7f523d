import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf, nextOf } from "../js/branches.js";
import { optionOf, stepOf } from "../js/options.js";
import { over, pointless } from "../js/strike.js";

const position = {
  row: 3,
  at: "10 ms",
  options: [
    { thread: "A", can: true, choice: 0, does: "EVALSHA lock" },
    { thread: "A", background: true, can: false, choice: -1, does: "renews at 66 ms", why: "not before 66 ms" },
    { thread: "B", can: false, choice: -1, does: "", why: "waits until 20 ms" },
    { thread: "B", network: true, can: false, choice: -1, does: "", why: "A moves first" },
    { thread: "C", background: true, node: 1, can: false, choice: -1, does: "", why: "it was asked" },
    { thread: "C", background: true, node: 2, can: true, choice: 5, does: "asks node 2" },
  ],
};

test("a thread, its watchdog, what it sent and its nodes are stepped each by itself", () => {
  assert.equal(optionOf(position, { thread: "A" }).option, position.options[0]);
  assert.equal(optionOf(position, { thread: "C", background: true, node: 2 }).option, position.options[5]);
  assert.equal(optionOf(position, { thread: "C", background: true }).option, null);
});

test("who cannot move says why", () => {
  assert.equal(optionOf(position, { thread: "A", background: true }).why, "A cannot move now: not before 66\u00a0ms.");
  assert.equal(optionOf(position, { thread: "B" }).why, "B cannot move now: waits until 20\u00a0ms.");
  assert.equal(optionOf(position, { thread: "B", network: true }).why, "B's request cannot arrive now: A moves first.");
  assert.equal(optionOf(position, { thread: "D" }).why, "D cannot move now: it has nothing to do.");
  assert.equal(optionOf({ row: 0, at: "" }, { thread: "A" }).why, "A cannot move now: it has nothing to do.");
});

test("a step's command says all of who moves", () => {
  assert.deepEqual(stepOf(position.options[0]), { do: "step", thread: "A", background: false, network: false, node: 0 });
  assert.deepEqual(stepOf({ thread: "C", background: true, node: 2 }), { do: "step", thread: "C", background: true, network: false, node: 2 });
});

test("a fault that would change nothing says why: what is left out counts for all", () => {
  const never = [{ do: ["restart", "evict"], why: "There is no Redis." }];
  const p = {
    ...position,
    pointless: [
      { thread: "A", do: ["crash", "pause"], why: "A has ended." },
      { thread: "B", at: ["unlock"], why: "B unlocks nothing." },
      { do: ["pause"], thread: "B", for: "300ms", why: "B is paused longer." },
      { do: ["fail-over"], keep: true, why: "It has no replica." },
    ],
  };
  const why = (fault) => pointless(p, never, fault);
  assert.equal(why({ do: "evict" }), "There is no Redis.");
  assert.equal(why({ do: "crash", thread: "A" }), "A has ended.");
  assert.equal(why({ do: "crash", thread: "B" }), "");
  assert.equal(why({ do: "lose-reply", thread: "B", at: "unlock" }), "B unlocks nothing.");
  assert.equal(why({ do: "lose-reply", thread: "B", at: "lock" }), "");
  assert.equal(why({ do: "pause", thread: "B", for: "300ms" }), "B is paused longer.");
  assert.equal(why({ do: "pause", thread: "B", for: "2s" }), "");
  assert.equal(why({ do: "fail-over", keep: true }), "It has no replica.");
  assert.equal(why({ do: "fail-over" }), "");
});

test("at the end nothing can be done", () => {
  assert.equal(over({ row: 1, at: "", over: true }), "The run has ended here. Step back to act.");
  assert.equal(over(position), "");
});

test("branches have names, and one comes after the other", () => {
  const branches = new Map([0, 3, 4].map((id) => [id, { id, number: id }]));
  assert.deepEqual([...branches.values()].map(nameOf), ["main", "branch 3", "branch 4"]);
  assert.deepEqual([0, 3, 4].map((id) => nextOf(branches, id)), [3, 4, 0]);
  assert.equal(nextOf(new Map([[0, {}]]), 0), null);
});
