import assert from "node:assert/strict";
import { test } from "node:test";
import { START, back, endOf, entered, forward, into, out, stopAt, stopOf, toPosition, toRow, toStop, whole, within } from "../js/cursor.js";
import { film } from "./films.js";

const at = (stop, moment = 0, inside = false) => ({ stop, moment, inside });

/** T1 has two commands, T2 and T3 come of one decision, then a fault without a
 *  row, a decision without one, and T4 with a command. */
function example() {
  const f = film([
    { move: 0, rows: 1 },
    { move: 1, rows: 2 },
    { move: { do: "pause" }, rows: 0 },
    { move: 0, rows: 0 },
    { move: 0, rows: 1 },
  ]);
  f.rows[0].inside = [{}, {}];
  f.rows[3].inside = [{}];
  return f;
}

test("forward goes from stop to stop, and at the end nowhere", () => {
  const f = example();
  const seen = [];
  for (let c = START; c; c = forward(f, c)) {
    seen.push(stopAt(f, c).row);
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 3, 4]);
});

test("inside of scripts forward goes through the commands, and then to the row", () => {
  const f = example();
  const seen = [];
  for (let c = into(f, START); c; c = forward(f, c)) {
    seen.push(`${c.stop}.${c.moment}`);
  }
  assert.deepEqual(seen, ["0.0", "1.1", "1.2", "1.0", "2.0", "3.0", "4.0", "5.1", "5.0"]);
});

test("back goes the same way as forward", () => {
  const f = example();
  const seen = [];
  let c = at(5, 0, true);
  for (let i = 0; i < 9; i++) {
    seen.push(`${c.stop}.${c.moment}`);
    c = back(f, c);
  }
  assert.deepEqual(seen, ["5.0", "5.1", "4.0", "3.0", "2.0", "1.0", "1.2", "1.1", "0.0"]);
  assert.deepEqual(back(f, c), c, "at the start one stays");
  assert.deepEqual(back(f, at(1, 2)), at(0), "outside of scripts a step is a row");
});

test("into stands at the first command, out at the row", () => {
  const f = example();
  assert.deepEqual(into(f, at(1)), at(1, 1, true));
  assert.deepEqual(into(f, at(2)), at(2, 0, true));
  assert.deepEqual(out(at(1, 2, true)), at(1));
});

test("a position is stood at where its move is over", () => {
  const f = example();
  assert.deepEqual([0, 1, 2, 3, 4, 5, 99].map((p) => toPosition(f, START, p).stop), [0, 1, 3, 4, 4, 5, 5]);
});

test("a row is stood at where nothing more came than it", () => {
  const f = example();
  assert.deepEqual([0, 1, 2, 3, 4, 9].map((r) => toRow(f, START, r).stop), [0, 1, 2, 4, 5, 5]);
});

test("a cursor stays within the film", () => {
  const f = example();
  assert.deepEqual(within(f, at(99, 7)), at(5, 1));
  assert.deepEqual(within(f, at(-3)), at(0));
  const c = at(1, 2);
  assert.equal(within(f, c), c);
  assert.deepEqual(toStop(f, at(1, 2, true), 99), at(endOf(f), 0, true));
});

test("one acts where a move is over, after its last command", () => {
  const f = example();
  assert.deepEqual([at(1), at(1, 1), at(1, 2), at(2), at(3)].map((c) => whole(f, c)), [true, false, true, false, true]);
});

test("commands are gone through at their row, and not again at a fault after it", () => {
  const f = film([{ move: 0, rows: 1 }, { move: { do: "pause" }, rows: 0 }]);
  f.rows[0].inside = [{}];
  assert.deepEqual(entered(f, at(1, 0, true)), at(1, 1, true));
  assert.deepEqual(entered(f, at(2, 0, true)), at(2, 0, true));
  assert.deepEqual(back(f, at(2, 0, true)), at(1, 0, true));
});

test("a move begins at its first row, and is over at its last", () => {
  const f = example();
  assert.deepEqual([stopOf(f, 2, true), stopOf(f, 2)], [2, 3]);
  assert.deepEqual([stopOf(f, 4, true), stopOf(f, 4)], [4, 4], "where it shows nothing, at the one before");
});
