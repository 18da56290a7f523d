import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { roomLine } from "../js/room-line.js";
import { branchesOf } from "../js/room-links.js";
import { Refused } from "../js/rpc.js";
import { joined } from "./room-frames.js";

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A line that a test holds in its hand, and what its page hears. */
function line({ there } = {}) {
  const l = { sent: [], heard: [], drops: 0, renewals: 0, kept: null };
  const dial = (handlers) => {
    l.handlers = handlers;
    return { send: (frame) => Boolean(l.sent.push(frame)), drop: () => l.drops++, renew: () => l.renewals++ };
  };
  l.line = roomLine(
    {
      path: () => "/socket", part: "player", rows: () => false,
      keeper: { read: () => l.kept, write: (who) => { l.kept = who; } },
      joining: () => l.heard.push("joining"),
      joined: () => l.heard.push("joined"),
      frame: (frame) => l.heard.push(`frame ${frame.seq ?? frame.re}`),
      changed: (lost) => l.heard.push(lost ? "lost" : "found"),
      gone: (code, why) => l.heard.push(`gone ${code} ${why}`.trim()),
    },
    { dial, silence: 1000, quiet: 5000, there },
  );
  l.comes = (frame) => l.handlers.received(frame);
  l.connects = (answer) => {
    l.handlers.opened();
    l.comes(joined(answer));
  };
  l.loses = (code = 1006) => {
    const again = l.handlers.closed({ code });
    if (again !== false) {
      l.handlers.changed(true);
    }
    return again;
  };
  return l;
}

test("one joins, and is the same member afterwards", () => {
  const l = line();
  l.connects();
  assert.deepEqual(l.sent, [{ id: 1, do: "join", part: "player", rows: false }]);
  assert.deepEqual(l.kept, { member: "m5", token: "t" });
  l.loses();
  l.connects({ last: 4 });
  assert.deepEqual(l.sent[1], { id: 1, do: "join", part: "player", rows: false, member: "m5", token: "t" });
  l.line.ask({ do: "claim" });
  assert.equal(l.sent[2].id, 5, "ids go on from the last that the room knows");
});

test("what was not answered is sent again, by the same id", async () => {
  const l = line();
  l.connects();
  const vote = l.line.ask({ do: "vote", option: 1 });
  const step = l.line.ask({ do: "step" });
  l.comes({ re: 2, done: true });
  await vote;
  l.loses();
  const late = l.line.ask({ do: "rename" });
  assert.equal(l.sent.length, 3, "without a connection it waits");
  l.connects({ last: 2 });
  assert.deepEqual(l.sent.slice(4).map((c) => [c.id, c.do]), [[3, "step"], [4, "rename"]]);
  l.comes({ re: 3, refused: "A waits." });
  l.comes({ re: 4, done: true, name: "Red Panda" });
  await assert.rejects(step, (error) => error instanceof Refused && error.message === "A waits.");
  assert.equal((await late).name, "Red Panda");
});

test("ids grow beyond those that wait, whatever the room knows", () => {
  const l = line();
  l.connects();
  l.line.ask({ do: "step" });
  l.loses();
  l.connects({ last: 1 });
  l.line.ask({ do: "step" });
  assert.deepEqual(l.sent.map((c) => c.id), [1, 2, 1, 2, 3]);
});

test("frames are heard in their order, those before the answer to join, too", () => {
  const l = line();
  l.handlers.opened();
  l.comes({ v: 1, seq: 3, room: {} });
  l.comes(joined());
  l.comes({ v: 1, seq: 4, room: {} });
  assert.deepEqual(l.heard, ["joining", "frame 3", "joined", "frame 4"]);
});

test("a member that the room does not know comes as a new one", () => {
  const l = line();
  l.kept = { member: "m9", token: "old" };
  l.handlers.opened();
  l.comes({ v: 1, re: 1, refused: "that member and token do not belong together" });
  assert.deepEqual([l.kept, l.drops], [null, 1]);
  l.loses(1005);
  l.connects();
  assert.deepEqual(l.kept, { member: "m5", token: "t" });
});

test("who is not let in hears why, and stays away", () => {
  const l = line();
  l.handlers.opened();
  l.comes({ v: 1, re: 1, refused: "The room is locked." });
  assert.deepEqual(l.heard.at(-1), "gone 0 The room is locked.");
  assert.equal(l.loses(1005), false);
});

test("a room ends a line for good, others come back", () => {
  for (const code of [4041, 4042, 4043]) {
    const l = line();
    l.connects();
    assert.equal(l.loses(code), false);
    assert.equal(l.heard.at(-1), `gone ${code}`);
  }
  const l = line();
  l.connects();
  assert.equal(l.loses(4008), 0, "at once");
  assert.equal(l.loses(1001), true);
});

test("a room that is not there any more is not asked for ever", async () => {
  let asked = 0;
  const l = line({ there: async () => ++asked > 1 ? false : true });
  for (let i = 0; i < 3; i++) {
    l.loses();
  }
  await settled();
  assert.deepEqual([asked, l.heard.some((h) => h.startsWith("gone"))], [1, false], "the server may only be restarting");
  for (let i = 0; i < 3; i++) {
    l.loses();
  }
  await settled();
  assert.equal(l.heard.at(-1), "gone 404");
});

test("who leaves stays away", () => {
  const l = line();
  l.connects();
  l.line.leave();
  assert.equal(l.drops, 1);
  assert.equal(l.loses(1005), false);
});

test("a line that says nothing while it is asked is given up", () => {
  const l = line();
  l.connects();
  mock.timers.tick(1000);
  assert.equal(l.renewals, 0, "nothing was asked");
  l.line.ask({ do: "step" });
  mock.timers.tick(900);
  l.comes({ v: 1, seq: 2, room: {} });
  mock.timers.tick(900);
  assert.equal(l.renewals, 0, "something was heard");
  mock.timers.tick(100);
  assert.equal(l.renewals, 1);
});

test("what is not answered while others are heard is sent again", () => {
  const l = line();
  l.connects();
  l.line.ask({ do: "step" });
  for (let seq = 2; seq < 6; seq++) {
    mock.timers.tick(400);
    l.comes({ v: 1, seq, room: {} });
  }
  assert.deepEqual(l.sent.slice(1).map((c) => c.id), [2, 2]);
  l.comes({ v: 1, re: 2, done: true });
  mock.timers.tick(1500);
  assert.equal(l.sent.length, 3);
});

test("a line on which nothing happens is asked whether it is there", () => {
  const l = line();
  l.connects();
  mock.timers.tick(4900);
  l.comes({ v: 1, seq: 2, room: {} });
  mock.timers.tick(4900);
  assert.equal(l.sent.length, 1, "something was heard");
  mock.timers.tick(100);
  assert.deepEqual(l.sent[1], { id: 2, do: "ping" });
  l.comes({ v: 1, re: 2, done: true });
  mock.timers.tick(4900);
  assert.equal(l.renewals, 0, "it is there");
  mock.timers.tick(100);
  mock.timers.tick(1000);
  assert.equal(l.renewals, 1, "nobody answers");
});

test("one does not wait for ever to be let in", () => {
  const l = line();
  mock.timers.tick(1000);
  assert.equal(l.renewals, 1, "nothing opens");
  l.handlers.changed(true);
  l.handlers.opened();
  mock.timers.tick(1000);
  assert.equal(l.renewals, 2, "the join is not answered");
});

test("a line that has come to its end is left alone", () => {
  for (const ends of [(l) => l.loses(4042), (l) => l.handlers.broken("A mistake."), (l) => l.line.leave()]) {
    const l = line();
    l.connects();
    l.line.ask({ do: "step" });
    ends(l);
    mock.timers.tick(60000);
    assert.equal(l.renewals, 0);
  }
});

test("what a room hands out at its end is there when it is gone", async () => {
  const l = line();
  l.connects();
  const branches = [{ branch: 0, link: "/play#v1.z.x~1" }];
  l.comes({ v: 1, branches });
  l.loses(4042);
  assert.deepEqual(l.heard, ["joining", "joined", "gone 4042"]);
  assert.deepEqual(await branchesOf("K7M4XW"), branches);
});
