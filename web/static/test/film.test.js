import assert from "node:assert/strict";
import { test } from "node:test";
import { grown, markAt, recorded, stopsOf } from "../js/film.js";
import { film, row } from "./films.js";

const places = (f) => stopsOf(f).map((s) => `T${s.row} ${s.from}-${s.position}${s.whole ? "" : " …"}`);

test("one can stand at each row, and at what has none of its own", () => {
  const f = film([
    { move: 0, rows: 1 },
    { move: 1, rows: 2 }, // a decision with two rows: at the first it is not over
    { move: { do: "pause" }, rows: 0 }, // a fault
    { move: 0, rows: 0 }, // a decision that asked a node that is down
    { move: 0, rows: 1 },
  ]);
  assert.deepEqual(places(f), ["T0 0-0", "T1 1-1", "T2 2-2 …", "T3 2-2", "T3 3-4", "T4 5-5"]);
});

test("a decision without a row right at the start is passed over, a fault is not", () => {
  assert.deepEqual(places(film([{ move: 0, rows: 0 }])), ["T0 0-1"]);
  assert.deepEqual(places(film([{ move: { do: "restart" }, rows: 0 }])), ["T0 0-0", "T0 1-1"]);
});

test("a film that grows in place keeps its stops, one that was cut has others", () => {
  const f = film([{ move: 0, rows: 1 }, { move: 0, rows: 1 }]);
  const had = stopsOf(f);
  f.rows.push(row(3));
  f.positions.push({ move: 0, row: 3, at: "3 ms" });
  assert.equal(stopsOf(f), had);
  assert.equal(had.length, 4);
  f.positions.length = 2;
  assert.equal(stopsOf(f).length, 2);
});

test("a mark is said at the stop that its row came at, and not at those after it", () => {
  const f = film([{ move: 0, rows: 1 }, { move: { do: "pause" }, rows: 0 }, { move: 0, rows: 2 }]);
  f.rows[0].mark = "acquired";
  f.rows[2].mark = "violation";
  assert.deepEqual(stopsOf(f).map((_, i) => markAt(f, i)), [undefined, "acquired", undefined, undefined, "violation"]);
});

test("at a recorded film you stand at the start and at each row", () => {
  const f = recorded({ threads: ["A"], lease: 200, rows: [row(1), row(2)] });
  assert.deepEqual(places(f), ["T0 0-0", "T1 1-1", "T2 2-2"]);
  assert.deepEqual(places(recorded({ threads: [], lease: 0, rows: [] })), ["T0 0-0"]);
});

test("a film that has grown has what is new, and the one before stays", () => {
  const f = film([{ move: 0, rows: 1 }]);
  stopsOf(f);
  const g = grown(f, 2, [{ move: 0, row: 1, at: "1 ms" }, { move: 1, row: 3, at: "3 ms" }], [row(2), row(3)]);
  assert.deepEqual(places(g), ["T0 0-0", "T1 1-2", "T2 3-3 …", "T3 3-3"]);
  assert.deepEqual(places(f), ["T0 0-0", "T1 1-1"]);
  assert.deepEqual([f.rows.length, f.positions.length], [1, 2]);
});

test("what comes once more is there once, and what is after it stays", () => {
  const f = film([{ move: 0, rows: 1 }, { move: 0, rows: 1 }, { move: 0, rows: 1 }]);
  const g = grown(f, 1, f.positions.slice(1, 2), f.rows.slice(0, 1));
  assert.deepEqual(g, f);
});

test("what cannot follow changes nothing", () => {
  const f = film([{ move: 0, rows: 1 }]);
  assert.equal(grown(f, 3, [{ row: 1, at: "" }], []), f, "positions are missing");
  assert.equal(grown(f, 2, [{ row: 3, at: "" }], [row(3)]), f, "rows are missing");
  assert.equal(grown(f, 2, [{ row: 2, at: "" }], []), f, "a position's row is missing");
});
