import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

/** As much of a page as single keys need. */
class Page extends EventTarget {
  stored = new Map();
  shown = 0; // the help
  parts = {
    "single-keys": Object.assign(new EventTarget(), { checked: false }),
    keys: { showModal: () => this.shown++ },
    speed: { options: [1, 2, 3], selectedIndex: 1 },
    "lanes-card": { hidden: false },
  };
  getElementById(id) {
    return this.parts[id] ?? null;
  }
  querySelector() {
    return null;
  }
  press(key, { on = "", ...more } = {}) {
    const event = Object.assign(new Event("keydown", { cancelable: true }), { key, ...more });
    Object.defineProperty(event, "target", { value: { closest: (selector) => (on !== "" && selector.split(", ").includes(on) ? {} : null) } });
    this.dispatchEvent(event);
    return event.defaultPrevented;
  }
}

/** @type {Page} */
let page;
let pressed = [];
const { keys, keysOf } = await import("../js/keys.js");

beforeEach(() => {
  page = new Page();
  pressed = [];
  globalThis.document = page;
  globalThis.localStorage = { getItem: (k) => page.stored.get(k) ?? null, setItem: (k, v) => page.stored.set(k, v) };
});

const wire = (within) =>
  keys({ ...keysOf({ act: (name) => pressed.push(name) }), u: () => pressed.push("undo") }, (digit, after) => pressed.push(after + digit), within);

test("keys act, in capitals too, and the browser does nothing with them", () => {
  wire();
  assert.equal(page.press("ArrowRight"), true);
  page.press("U");
  page.press(" ");
  page.press("z");
  assert.deepEqual(pressed, ["forward", "undo", "play"]);
});

test("digits are threads, with an x before them faults", () => {
  wire();
  for (const key of ["1", "x", "2", "2", "x", "n", "3", "9", "0"]) {
    page.press(key);
  }
  assert.deepEqual(pressed, ["1", "x2", "2", "next", "3"]);
});

test("who types, or presses a button, does not steer", () => {
  wire();
  page.press("n", { on: "input" });
  page.press("n", { on: "dialog" });
  page.press(" ", { on: "button" });
  page.press("n", { ctrlKey: true });
  page.press("n", { metaKey: true });
  assert.deepEqual(pressed, []);
  page.press("n", { on: "button" });
  assert.deepEqual(pressed, ["next"]);
});

test("the switch turns them off, and stays off", () => {
  wire();
  const setting = page.parts["single-keys"];
  assert.equal(setting.checked, true);
  setting.checked = false;
  setting.dispatchEvent(new Event("change"));
  page.press("n");
  assert.deepEqual(pressed, []);
  wire();
  assert.equal(setting.checked, false);
});

test("inside of another page they act once one has gone there", () => {
  const inner = {};
  wire({ contains: (target) => target === inner });
  page.press("n");
  const focus = new Event("focusin");
  Object.defineProperty(focus, "target", { value: inner });
  page.dispatchEvent(focus);
  page.press("n");
  assert.deepEqual(pressed, ["next"]);
});

test("? shows the help, + and - the speed within its bounds, v the lanes", () => {
  wire();
  page.press("?");
  assert.equal(page.shown, 1);
  for (const key of ["+", "+", "="]) {
    page.press(key);
  }
  assert.equal(page.parts.speed.selectedIndex, 2);
  for (let i = 0; i < 4; i++) {
    page.press("-");
  }
  assert.equal(page.parts.speed.selectedIndex, 0);
  page.press("v");
  assert.equal(page.parts["lanes-card"].hidden, true);
});
