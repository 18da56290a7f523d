import assert from "node:assert/strict";
import test from "node:test";
import { unwoven } from "../js/file.js";

test("a copy is what stands at its place, and what all have in common", () => {
  const woven = { code: ["en", "zh-CN"], same: ["X"], rows: { "#": [{ html: ["one", "一"], step: [1, 1] }, { html: ["two", "二"], step: [2, 2] }] }, odd: [[1, 2], null] };
  assert.deepEqual(unwoven(woven, 0), { code: "en", same: "X", rows: [{ html: "one", step: 1 }, { html: "two", step: 2 }], odd: [1, 2] });
  assert.deepEqual(unwoven(woven, 1), { code: "zh-CN", same: "X", rows: [{ html: "一", step: 1 }, { html: "二", step: 2 }], odd: null });
});
