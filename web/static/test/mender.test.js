import assert from "node:assert/strict";
import { test } from "node:test";
import { UNASKED, mended, moved } from "../js/mender.js";

test("what is known goes with the frames, and is forgotten with another scenario", () => {
  const asked = { going: false, branch: 1, moves: 3 };
  const going = mended(asked, { mended: { going: true, html: "<p>" } });
  assert.deepEqual(going, { going: true, branch: 1, moves: 3 });
  assert.equal(mended(going, { branch: {} }), going);
  assert.deepEqual(mended(going, { mended: { going: false, html: "<p>" } }), asked);
  assert.deepEqual(mended(going, { opened: {} }), UNASKED);
});

test("what a search has found stays while a change is put in; one that goes on does not", () => {
  const asked = { going: false, branch: 1, moves: 3 };
  assert.deepEqual(mended(asked, { opened: {} }, true), { going: false, branch: -1, moves: 3 });
  assert.deepEqual(mended({ ...asked, going: true }, { opened: {} }, true), UNASKED);
});

test("cards that come after those shown move none of them", () => {
  assert.equal(moved([], ["a"]), false);
  assert.equal(moved(["a"], ["a", "b"]), false);
  assert.equal(moved(["a", "b"], ["b", "a"]), true);
  assert.equal(moved(["a", "b"], ["a"]), true);
});
