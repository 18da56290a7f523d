import assert from "node:assert/strict";
import { test } from "node:test";

import { drained } from "../js/stage.js";
import { player } from "../js/playing.js";

const film = { threads: ["A"], lease: 200, rows: [], positions: [] };

test("a lease runs out as time goes by, and no further than to nothing", () => {
  const state = { type: "hash", lease: 90, left: 450 };
  assert.deepEqual(drained(film, state, 40), { type: "hash", lease: 50, left: 250 });
  assert.equal(drained(film, state, 500).lease, 0);
  assert.equal(drained(film, state, 0), state);
});

test("what has no lease does not run out", () => {
  for (const state of [{ type: "hash", lease: -1, left: 1000 }, { type: "none", lease: 0, left: 0 }]) {
    assert.equal(drained(film, state, 40), state);
  }
});

/** A page whose clock and frames the test moves. */
function page(reduced) {
  const frames = [];
  const timers = [];
  globalThis.document = Object.assign(new EventTarget(), { hidden: false, getElementById: () => ({ value: "1000" }) });
  globalThis.window = { setTimeout: (act) => timers.push(act) };
  globalThis.matchMedia = () => ({ matches: reduced });
  globalThis.requestAnimationFrame = (act) => frames.push(act);
  globalThis.cancelAnimationFrame = () => frames.splice(0);
  return { frames, tick: () => timers.shift()() };
}

test("between two steps the clock goes on, as a part of the way", (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const { frames, tick } = page(false);
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const flowed = [];
  const playing = player(() => true, () => {}, (part) => flowed.push(part));
  playing.start();
  tick();
  for (const at of [250, 500, 1200]) {
    now = at;
    frames.shift()?.();
  }
  assert.deepEqual(flowed, [0.25, 0.5]);
  playing.stop();
  assert.equal(frames.length, 0);
});

test("who wants no motion gets none", () => {
  const { frames, tick } = page(true);
  const playing = player(() => true, () => {}, () => assert.fail());
  playing.start();
  tick();
  assert.equal(frames.length, 0);
});
