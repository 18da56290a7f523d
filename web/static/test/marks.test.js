import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, markName, marksOf, matters } from "../js/marks.js";
import { film } from "./films.js";

/** A film whose rows have these marks. */
function marked(...marks) {
  const f = film(marks.map(() => ({ move: 0, rows: 1 })));
  marks.forEach((mark, i) => {
    f.rows[i].mark = mark;
  });
  return f;
}

test("each mark is at its stop", () => {
  const f = marked("acquired", undefined, "violation", "refused");
  assert.deepEqual(marksOf(f).map((m) => `${m.at} ${m.mark}`), ["1 acquired", "3 violation", "4 refused"]);
});

test("of too many marks those stay that matter most", () => {
  const f = marked("released", "acquired", "fault", "expired", "violation", "released", "acquired");
  const at = (most) => marksOf(f, most).map((m) => m.at).join();
  assert.deepEqual([7, 6, 5, 4, 3, 2, 1].map(at), ["1,2,3,4,5,6,7", "2,3,4,5,7", "2,3,4,5,7", "3,4,5", "3,4,5", "4,5", "5"]);
  assert.equal(marksOf(marked("violation", "fault", "violation"), 1).length, 2, "broken rules stay, however many");
});

test("what is refused is marked, and does not matter", () => {
  const f = marked("refused", "violation");
  assert.deepEqual([1, 2].map((i) => matters(f, i)), [false, true]);
  assert.deepEqual([1, 2].map((i) => broken(f, i)), [false, true]);
});

test("a heartbeat's key expires, a lock's lease runs out", () => {
  const f = marked("expired");
  assert.equal(markName(f, "expired"), "the lease ran out");
  f.rows[0].after.heartbeat = true;
  assert.equal(markName(f, "expired"), "the key expired");
});
