import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, linksIn, questionsOf, rowsOf } from "../js/course-class.js";
import { answered, madePath, nothing, packed, solved, unpacked } from "../js/course-progress.js";

const now = new Date("2026-11-22T10:00:00");

test("a class is a row for each, with what was done, first tries and the check", () => {
  let p = solved(nothing(), "a/one", { asked: true, tries: 1 }, now);
  p = solved(p, "a/two", { asked: true, tries: 3 }, now);
  p = solved(p, "b/three", { moves: 4, schedule: [0] }, now);
  for (const from of ["v1.x", "v1.y", "v1.x"]) {
    p = solved(p, madePath(`?from=${from}&kind=break`), { moves: 2 }, now); // the first and the last are one
  }
  p = ["x", "y"].reduce((so, path) => answered(so, "before", path, { right: path === "y", pick: "1" }, ["x", "y", "z"]), p);
  const rows = rowsOf(
    [{ name: "Ann", progress: p, checked: 1, wrong: [] }],
    [
      { id: "a", title: "A", items: ["a/one", "a/two"] },
      { id: "b", title: "B", items: ["b/three", "b/four"] },
    ],
  );
  assert.deepEqual(rows[1], ["Ann", "3", "2/2", "1/2", "1/2", "1", "2", "1/2", ""]);
  assert.equal(rows[0].length, rows[1].length);
});

test("a question that about half of a class had right is one to talk about", () => {
  const who = (/** @type {number[]} */ ...tries) => ({
    name: "",
    progress: tries.reduce((p, n, i) => (n > 0 ? solved(p, `a/${i}`, { asked: true, tries: n }, now) : p), nothing()),
    checked: 0,
    wrong: [],
  });
  const questions = ["a/0", "a/1", "a/2", "a/3"].map((path) => ({ path, title: path }));
  assert.deepEqual(
    questionsOf([who(1, 1, 2, 0), who(1, 3, 2, 0)], [{ questions }]).map(({ path, first, answered, talk }) => [path, first, answered, talk]),
    [
      ["a/0", 2, 2, false],
      ["a/1", 1, 2, true],
      ["a/2", 0, 2, false],
    ],
  );
});

test("many links are taken out of what was pasted", () => {
  assert.deepEqual(linksIn("Ann: http://x/learn/class#p1.ab_c-\nhttps://y/learn/class#p1.Z9, and /learn/class#v1.no #p1."), ["p1.ab_c-", "p1.Z9"]);
});

test("a spreadsheet gets values, and no formula", () => {
  assert.equal(csvOf([['=1+1', 'a "b"', "-3", "plain"]]), '"\'=1+1","a ""b""","\'-3","plain"\r\n');
});

test("what was done goes into a link and comes back", async () => {
  const p = solved(nothing(), "tokens/too-late", { moves: 7, schedule: [0, { do: "pause", thread: "A", for: "300ms" }] }, now);
  const text = await packed({ ...p, name: "安" });
  assert.match(text, /^p1\.[\w-]+$/);
  assert.ok(text.length < 300, `${text.length} characters`);
  assert.deepEqual(await unpacked(text), { ...p, name: "安" });
  assert.equal(await unpacked("p1.nothing"), null);
  assert.equal(await unpacked("v1.z.x"), null);
});
