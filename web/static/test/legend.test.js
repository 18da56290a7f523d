import assert from "node:assert/strict";
import { test } from "node:test";

import { markOfCell, marksIn } from "../js/legend.js";

const element = (mark) => ({ closest: () => (mark ? { getAttribute: () => mark } : null) });

test("what lies on each other is explained from the top, each once", () => {
  assert.deepEqual(marksIn([element(""), element("refused"), element("bar"), element("bar")]), ["refused", "bar"]);
});

test("a cell's bar says first what is wrong", () => {
  const cell = (...names) => ({ contains: (name) => names.includes(name) });
  assert.equal(markOfCell(cell("inside", "parted")), "parted");
  assert.equal(markOfCell(cell("inside", "l2")), "bar");
  assert.equal(markOfCell(cell("quiet")), undefined);
});
