import assert from "node:assert/strict";
import { test } from "node:test";
import { dayOf, due, merged, nothing, parse, solved } from "../js/course-progress.js";

const day = (/** @type {string} */ text) => new Date(`${text}T09:30:00`);

test("a question returns after 1, 3, 8 and 20 days, and a miss begins again", () => {
  let p = nothing();
  let now = "2026-11-22";
  for (const days of [1, 3, 8, 20]) {
    p = solved(p, "lease/who-knows", { asked: true, tries: 1 }, day(now));
    const next = dayOf(day(now), days);
    assert.equal(p.items["lease/who-knows"].due, next);
    assert.deepEqual(due(p, day(now)), []);
    assert.deepEqual(due(p, day(next)), ["lease/who-knows"]);
    now = next;
  }
  const missed = solved(p, "lease/who-knows", { asked: true, tries: 2 }, day(now));
  assert.equal(missed.items["lease/who-knows"].due, dayOf(day(now), 1));
  const known = solved(p, "lease/who-knows", { asked: true, tries: 1 }, day(now));
  assert.deepEqual(due(known, day("2030-01-01")), [], "what was known five times returns no more");
});

test("a question that is not due keeps its day, and what is read never returns", () => {
  let p = solved(nothing(), "a/b", { asked: true, tries: 1 }, day("2026-11-22"));
  p = solved(p, "a/b", { asked: true, tries: 1 }, day("2026-11-22"));
  assert.equal(p.items["a/b"].due, "2026-11-23");
  assert.equal(solved(p, "a/c", {}, day("2026-11-22")).items["a/c"].due, undefined);
});

test("of a break the fewest moves are kept, with their schedule", () => {
  let p = solved(nothing(), "a/b", { moves: 9, schedule: [0, 1] }, day("2026-11-22"));
  p = solved(p, "a/b", { moves: 7, schedule: [1] }, day("2026-11-23"));
  p = solved(p, "a/b", { moves: 8, schedule: [2] }, day("2026-11-24"));
  assert.deepEqual(p.items["a/b"], { at: "2026-11-22", moves: 7, schedule: [1] });
});

test("two are put together by the better of both, in either order", () => {
  const a = solved(solved(nothing(), "x", { asked: true, tries: 3 }, day("2026-11-20")), "y", { moves: 5, schedule: [5] }, day("2026-11-20"));
  const b = solved(solved(nothing(), "x", { asked: true, tries: 1 }, day("2026-11-22")), "z", {}, day("2026-11-22"));
  for (const both of [merged(a, b), merged(b, a)]) {
    assert.deepEqual(Object.keys(both.items).sort(), ["x", "y", "z"]);
    assert.equal(both.items.x.tries, 1);
    assert.equal(both.items.x.at, "2026-11-20");
    assert.deepEqual(both.items.y.schedule, [5]);
    assert.deepEqual(merged(both, a), merged(both, both), "putting together once more changes nothing");
  }
});

test("what is no progress is refused", () => {
  for (const text of ["", "no", "[]", "{}", '{"relock_progress":2,"items":{}}', '{"relock_progress":1,"items":[]}', '{"relock_progress":1,"items":{"a":null}}', '{"relock_progress":1,"items":{"a":{}}}']) {
    assert.equal(parse(text), null, text);
  }
  const p = solved(nothing(), "a/b", {}, day("2026-11-22"));
  assert.deepEqual(parse(JSON.stringify(p)), p);
});
