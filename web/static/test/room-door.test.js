import assert from "node:assert/strict";
import { test } from "node:test";
import { enter } from "../js/room-door.js";
import { branchesOf } from "../js/room-links.js";
import { joined } from "./room-frames.js";

/** A page that a test holds in its hand. */
function page() {
  const p = { heard: [], hurries: 0 };
  const stored = new Map();
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  globalThis.addEventListener = (name, act) => document.addEventListener(name, act);
  globalThis.sessionStorage = { getItem: (name) => stored.get(name) ?? null, setItem: (name, text) => stored.set(name, text), removeItem: (name) => stored.delete(name) };
  p.stored = stored;
  p.sent = [];
  enter(
    "K7M4XW",
    "relock-room-K7M4XW",
    {
      path: () => "/socket", as: () => ({ part: "player", rows: false }), opened() {}, changed() {},
      joined: () => p.heard.push("joined"), frame: (frame) => p.heard.push(`frame ${frame.seq}`), gone: (code) => p.heard.push(`gone ${code}`),
    },
    {
      dial(handlers) {
        p.handlers = handlers;
        return { send: (frame) => Boolean(p.sent.push(frame)), drop() {}, renew() {}, hurry: () => p.hurries++ };
      },
    },
  );
  p.handlers.opened();
  p.handlers.received(joined());
  return p;
}

test("what a room hands out at its end is there when it is gone", async () => {
  const p = page();
  const branches = [{ branch: 0, link: "/play#v1.z.x~1" }];
  p.handlers.received({ v: 1, branches });
  p.handlers.closed({ code: 4042 });
  assert.deepEqual(p.heard, ["joined", "gone 4042"]);
  assert.deepEqual(await branchesOf("K7M4XW"), branches);
});

test("a tab keeps who one is", () => {
  const p = page();
  assert.deepEqual(p.sent, [{ id: 1, do: "join", part: "player", rows: false }]);
  assert.deepEqual(JSON.parse(p.stored.get("relock-room-K7M4XW")), { member: "m5", token: "t" });
  p.handlers.closed({ code: 1006 });
  p.handlers.changed(true);
  p.handlers.opened();
  assert.deepEqual(p.sent[1], { id: 1, do: "join", part: "player", rows: false, member: "m5", token: "t" });
  p.handlers.closed({ code: 4042 });
});

test("who looks at the page again has it come back", () => {
  const p = page();
  for (const name of ["visibilitychange", "resume", "online"]) {
    document.dispatchEvent(new Event(name));
  }
  assert.equal(p.hurries, 3);
  document.hidden = true;
  document.dispatchEvent(new Event("visibilitychange"));
  document.dispatchEvent(new Event("pageshow"));
  assert.equal(p.hurries, 3, "one has gone away from it");
  p.handlers.closed({ code: 4042 });
});
