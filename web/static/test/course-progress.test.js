import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, asked, carried, dayOf, due, goesOn, merged, nothing, parse, scoreOf, solved } from "../js/course-progress.js";

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

const BEFORE = ["check/x", "check/y", "check/z"];
const AFTER = BEFORE.map((path) => `${path}-again`);

/** @param {import("../js/course-progress.js").Progress} p @param {"before" | "after"} when @param {number[]} picks @param {number} [from] */
const check = (p, when, picks, from = 0) =>
  picks.reduce((so, pick, i) => answered(so, when, BEFORE[from + i], { right: pick === 2, pick: String(pick) }, BEFORE), p);

test("an answer of the check can be changed until all are given", () => {
  let p = check(check(nothing(), "after", [1]), "after", [2, 3]);
  assert.equal(carried(p, "after", AFTER), "2.3.0");
  p = check(check(p, "after", [4], 2), "after", [3, 3, 3]);
  assert.equal(carried(p, "after", AFTER), "2.3.4");
  assert.deepEqual(scoreOf(p.check?.after), { answered: 3, right: 1 });
  assert.deepEqual(scoreOf(p.check?.before), { answered: 0, right: 0 });
});

test("a half of the check goes on where it was, and ends beside the other", () => {
  assert.equal(goesOn(nothing(), "before", BEFORE), "/learn/check/x");
  const some = check(check(nothing(), "before", [3]), "before", [2], 2);
  assert.equal(goesOn(some, "before", BEFORE), "/learn/check/y?so=3.0.2");
  assert.equal(goesOn(some, "after", AFTER), "/learn/check/x-again", "what is half done is not carried into the other half");
  const before = check(some, "before", [1], 1);
  assert.equal(goesOn(before, "before", BEFORE), "/learn/check?so=3.1.2&half=before");
  assert.equal(goesOn(before, "after", AFTER), "/learn/check/x-again?other=3.1.2");
  const both = check(before, "after", [2, 2, 2]);
  assert.equal(goesOn(both, "before", BEFORE), "/learn/check?so=3.1.2&other=2.2.2&half=before");
  assert.equal(goesOn(both, "after", AFTER), "/learn/check?so=2.2.2&other=3.1.2&half=after");
});

test("of code under review the answer is its lines, or none", () => {
  const answers = ["3-7", "none", "12"];
  const p = answers.reduce((so, pick, i) => answered(so, "before", BEFORE[i], { right: false, pick }, BEFORE), nothing());
  assert.equal(goesOn(p, "before", BEFORE), "/learn/check?so=3-7.none.12&half=before");
  assert.equal(carried(answered(nothing(), "before", "check/x", { right: false, pick: "3.7" }, BEFORE), "before", BEFORE), "0.0.0");
});

test("answers to questions that are asked no more do not count", () => {
  const old = { ...nothing(), check: { before: { a: true, b: true, c: true, x: true } } };
  assert.deepEqual(scoreOf(asked(old.check.before, BEFORE)), { answered: 1, right: 1 });
  const now = answered(old, "before", "check/y", { right: false, pick: "1" }, BEFORE);
  assert.deepEqual(Object.keys(now.check?.before ?? {}), ["x", "y"]);
});

test("answers of which only right and wrong are known still count", () => {
  const old = { ...nothing(), check: { before: { x: true, y: false } } };
  assert.deepEqual(scoreOf(old.check.before), { answered: 2, right: 1 });
  assert.equal(goesOn(old, "before", BEFORE), "/learn/check/x");
  const more = check(old, "before", [2], 2);
  assert.deepEqual(scoreOf(merged(more, old).check?.before), { answered: 3, right: 2 });
  assert.equal(carried(more, "before", BEFORE), "0.0.2");
});
