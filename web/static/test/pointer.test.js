import assert from "node:assert/strict";
import { test } from "node:test";
import { mover } from "../js/pointer.js";

test("a mouse moves on the screen, and not where the page goes under it", () => {
  const moved = mover();
  const at = (screenX, screenY, more = {}) => moved({ screenX, screenY, ...more });
  assert.equal(at(10, 20), false, "where it was before nobody knows");
  assert.equal(at(10, 20, { pageY: 300 }), false);
  assert.equal(at(10, 21), true);
  assert.equal(at(10, 21), false);
  assert.equal(at(9, 21), true);
});
