import assert from "node:assert/strict";
import { test } from "node:test";
import { turns } from "../js/turns.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Work that a test ends. */
function work() {
  let end;
  const over = new Promise((resolve, reject) => {
    end = { resolve, reject };
  });
  return { over: () => over, ...end };
}

test("what is clicked while something is under way is done after it", async () => {
  const all = turns(3);
  const seen = [];
  const first = work();
  all.during(first.over).then(() => seen.push("first over"));
  assert.equal(all.busy(), true);
  for (const name of ["a", "b", "c", "d"]) {
    all.inTurn(() => seen.push(name));
  }
  assert.deepEqual(seen, []);
  first.resolve();
  await settled();
  assert.deepEqual(seen.filter((s) => s !== "first over"), ["a", "b", "c"], "what does not fit is dropped");
  assert.equal(all.busy(), false);
  all.inTurn(() => seen.push("e"));
  assert.equal(seen.at(-1), "e");
});

test("the next act waits for what the one before began", async () => {
  const all = turns(3);
  const seen = [];
  const [first, second] = [work(), work()];
  all.during(first.over);
  all.inTurn(() => all.during(second.over));
  all.inTurn(() => seen.push("third"));
  first.resolve();
  await settled();
  assert.deepEqual([seen, all.busy()], [[], true]);
  second.resolve();
  await settled();
  assert.deepEqual(seen, ["third"]);
});

test("work of several parts is one turn", async () => {
  const all = turns(3);
  const seen = [];
  const [first, second] = [work(), work()];
  all.during(async () => {
    await first.over();
    seen.push("between");
    await second.over();
  });
  all.inTurn(() => seen.push("click"));
  first.resolve();
  await settled();
  assert.deepEqual(seen, ["between"]);
  second.resolve();
  await settled();
  assert.deepEqual(seen, ["between", "click"]);
});

test("what fails is over, too, and what waits can be forgotten", async () => {
  const all = turns(3);
  const seen = [];
  const first = work();
  const failed = assert.rejects(all.during(first.over), /no/);
  all.inTurn(() => seen.push("click"));
  all.clear();
  first.reject(new Error("no"));
  await failed;
  assert.deepEqual([seen, all.busy()], [[], false]);
});
