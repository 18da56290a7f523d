import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Lost, Refused, line } from "../js/line.js";
import { joined } from "./room-frames.js";

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A line that a test holds in its hand, and what its page hears: into a room,
 *  or alone. */
function held(join, times = { silence: 1000, coming: 3000, quiet: 5000 }) {
  const l = { sent: [], heard: [], drops: 0, renewals: 0, open: true };
  const dial = (handlers) => {
    l.handlers = handlers;
    return {
      send: (frame) => l.open && Boolean(l.sent.push(frame)),
      drop: () => l.drops++,
      renew() {
        l.renewals++;
        handlers.changed(true);
      },
    };
  };
  l.line = line(
    {
      path: () => "/socket",
      join,
      opened: () => l.heard.push("opened"),
      sent: join ? undefined : (id, command) => l.heard.push(`sent ${id} ${command.do}`),
      frame: (frame) => l.heard.push(`frame ${frame.seq ?? frame.re}`),
      changed: (lost) => l.heard.push(lost ? "lost" : "found"),
      gone: (code, why) => l.heard.push(`gone ${code} ${why}`.trim()),
    },
    { dial, ...times },
  );
  l.ask = l.line.ask;
  l.comes = (frame) => l.handlers.received(frame);
  l.opens = () => {
    l.open = true;
    l.handlers.opened();
  };
  l.loses = (code = 1006) => {
    l.open = false;
    const again = l.handlers.closed({ code });
    if (again !== false) {
      l.handlers.changed(true);
    }
    return again;
  };
  /** What a promise comes to. */
  l.follow = (name, promise) =>
    promise.then(() => l.heard.push(`${name} done`), (why) => l.heard.push(`${name} ${why.constructor.name} ${why.message}`.trim()));
  return l;
}

/** A line of who steps alone, open. */
function alone() {
  const l = held();
  l.opens();
  l.heard = [];
  return l;
}

/** A line into a room, not open yet. */
function room({ there = async () => true, times } = {}) {
  let l;
  const join = {
    as: () => ({ part: "player", rows: false }),
    keeper: { read: () => l.kept, write: (who) => { l.kept = who; } },
    there,
    joined: () => l.heard.push("joined"),
  };
  l = held(join, times);
  l.kept = null;
  l.connects = (answer) => {
    l.opens();
    l.comes(joined(answer));
  };
  return l;
}

// ---- alone

test("a promise ends with its own command, after what came of it", async () => {
  const l = alone();
  l.follow("step", l.ask({ do: "step" }));
  l.follow("lanes", l.ask({ do: "lanes" }));
  assert.deepEqual(l.sent, [{ id: 1, do: "step" }, { id: 2, do: "lanes" }]);
  l.comes({ re: 2, lanes: "" });
  l.comes({ re: 2, done: true });
  await settled();
  l.comes({ re: 1, done: true });
  await settled();
  assert.deepEqual(l.heard, ["sent 1 step", "sent 2 lanes", "frame 2", "frame 2", "lanes done", "frame 1", "step done"]);
});

test("a refusal rejects with its sentence", async () => {
  const l = alone();
  const step = l.ask({ do: "step" });
  l.comes({ re: 1, refused: "A has ended." });
  await assert.rejects(step, (error) => error instanceof Refused && error.message === "A has ended.");
});

test("a refusal of what was not understood is one of all that is under way", async () => {
  const l = alone();
  const both = [l.ask({ do: "step" }), l.ask({ do: "lanes" })];
  l.comes({ re: 0, refused: "That is no command." });
  for (const one of both) {
    await assert.rejects(one, Refused);
  }
});

test("a lost connection rejects all that is under way, and what is asked for meanwhile", async () => {
  const l = alone();
  l.follow("step", l.ask({ do: "step" }));
  l.loses();
  l.follow("run", l.ask({ do: "run" }));
  await settled();
  assert.deepEqual(l.heard, ["sent 1 step", "lost", "step Lost", "run Lost"]);
});

test("what has ended for good ends all that is under way", async () => {
  const l = alone();
  l.follow("step", l.ask({ do: "step" }));
  l.handlers.broken("Something went wrong.");
  await settled();
  assert.deepEqual(l.heard, ["sent 1 step", "gone 0 Something went wrong.", "step Lost"]);
});

test("frames of a command that is over end nothing", async () => {
  const l = alone();
  l.follow("step", l.ask({ do: "step" }));
  l.loses();
  l.opens();
  l.follow("open", l.ask({ do: "open" }));
  l.comes({ re: 1, done: true });
  await settled();
  assert.ok(!l.heard.includes("open done"));
  l.comes({ re: 2, done: true });
  await settled();
  assert.ok(l.heard.includes("open done"));
});

test("a connection that says nothing while it is asked is given up", async () => {
  const l = alone();
  mock.timers.tick(5000);
  assert.equal(l.renewals, 0, "nothing was asked");
  const run = l.ask({ do: "run" });
  mock.timers.tick(900);
  l.comes({ re: 1, rows: [] });
  mock.timers.tick(900);
  assert.equal(l.renewals, 0, "something was heard");
  mock.timers.tick(100);
  assert.equal(l.renewals, 1);
  await assert.rejects(run, Lost);
  mock.timers.tick(5000);
  assert.equal(l.renewals, 1, "nothing is under way any more");
});

test("the answer is what the promise comes to", async () => {
  const l = alone();
  const compared = l.ask({ do: "compare" });
  l.comes({ re: 1, done: true, compared: "<p>" });
  assert.equal((await compared).compared, "<p>");
});

// ---- in a room

test("one joins, and is the same member afterwards", () => {
  const l = room();
  l.connects();
  assert.deepEqual(l.sent, [{ id: 1, do: "join", part: "player", rows: false }]);
  assert.deepEqual(l.kept, { member: "m5", token: "t" });
  l.loses();
  l.connects({ last: 4 });
  assert.deepEqual(l.sent[1], { id: 1, do: "join", part: "player", rows: false, member: "m5", token: "t" });
  l.ask({ do: "claim" });
  assert.equal(l.sent[2].id, 5, "ids go on from the last that the room knows");
});

test("what was not answered is sent again, by the same id", async () => {
  const l = room();
  l.connects();
  const vote = l.ask({ do: "vote", option: 1 });
  const step = l.ask({ do: "step" });
  l.comes({ re: 2, done: true });
  await vote;
  l.loses();
  const late = l.ask({ do: "rename" });
  assert.equal(l.sent.length, 3, "without a connection it waits");
  l.connects({ last: 2 });
  assert.deepEqual(l.sent.slice(4).map((c) => [c.id, c.do]), [[3, "step"], [4, "rename"]]);
  l.comes({ re: 3, refused: "A waits." });
  l.comes({ re: 4, done: true, name: "Red Panda" });
  await assert.rejects(step, (error) => error instanceof Refused && error.message === "A waits.");
  assert.equal((await late).name, "Red Panda");
});

test("ids grow beyond those that wait, whatever the room knows", () => {
  const l = room();
  l.connects();
  l.ask({ do: "step" });
  l.loses();
  l.connects({ last: 1 });
  l.ask({ do: "step" });
  assert.deepEqual(l.sent.map((c) => c.id), [1, 2, 1, 2, 3]);
});

test("frames are heard in their order, those before the answer to join, too", () => {
  const l = room();
  l.opens();
  l.comes({ v: 1, seq: 3, room: {} });
  l.comes(joined());
  l.comes({ v: 1, seq: 4, room: {} });
  assert.deepEqual(l.heard, ["opened", "frame 3", "joined", "frame 4"]);
});

test("a member that the room does not know comes as a new one", () => {
  const l = room();
  l.kept = { member: "m9", token: "old" };
  l.opens();
  l.comes({ v: 1, re: 1, refused: "that member and token do not belong together" });
  assert.deepEqual([l.kept, l.drops], [null, 1]);
  l.loses(1005);
  l.connects();
  assert.deepEqual(l.kept, { member: "m5", token: "t" });
});

test("who is not let in hears why, and stays away", () => {
  const l = room();
  l.opens();
  l.comes({ v: 1, re: 1, refused: "The room is locked." });
  assert.deepEqual(l.heard.at(-1), "gone 0 The room is locked.");
  assert.equal(l.loses(1005), false);
});

test("a room ends a line for good, others come back", () => {
  for (const code of [4041, 4042, 4043]) {
    const l = room();
    l.connects();
    assert.equal(l.loses(code), false);
    assert.equal(l.heard.at(-1), `gone ${code}`);
  }
  const l = room();
  l.connects();
  assert.equal(l.loses(4008), 0, "at once");
  assert.equal(l.loses(1001), true);
});

test("a room that is not there any more is not asked for ever", async () => {
  let asked = 0;
  const l = room({ there: async () => ++asked > 1 ? false : true });
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
  const l = room();
  l.connects();
  l.line.leave();
  assert.equal(l.drops, 1);
  assert.equal(l.loses(1005), false);
});

test("a line that says nothing while it is asked is given up", () => {
  const l = room();
  l.connects();
  mock.timers.tick(1000);
  assert.equal(l.renewals, 0, "nothing was asked");
  l.ask({ do: "step" });
  mock.timers.tick(900);
  l.comes({ v: 1, seq: 2, room: {} });
  mock.timers.tick(900);
  assert.equal(l.renewals, 0, "something was heard");
  mock.timers.tick(100);
  assert.equal(l.renewals, 1);
});

test("what is not answered while others are heard is sent again", () => {
  const l = room();
  l.connects();
  l.ask({ do: "step" });
  for (let seq = 2; seq < 6; seq++) {
    mock.timers.tick(400);
    l.comes({ v: 1, seq, room: {} });
  }
  assert.deepEqual(l.sent.slice(1).map((c) => c.id), [2, 2]);
  l.comes({ v: 1, re: 2, done: true });
  mock.timers.tick(1500);
  assert.equal(l.sent.length, 3);
});

test("who joins again for other frames has lost nothing", async () => {
  const l = room();
  l.connects();
  l.heard = [];
  const step = l.ask({ do: "step" });
  l.line.again();
  assert.deepEqual(l.heard, []);
  l.sent = [];
  l.connects({ last: 1 });
  assert.deepEqual(l.sent.map((c) => c.do), ["join", "step"], "it joins, and asks again");
  l.comes({ v: 1, re: 2, done: true });
  await step;
  l.loses();
  assert.equal(l.heard.at(-1), "lost", "and says so when it does");
});

test("a line on which nothing happens is asked whether it is there", () => {
  const l = room();
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

test("a dead line is noticed in five seconds", () => {
  const l = room({ times: {} });
  l.connects();
  mock.timers.tick(2000);
  assert.deepEqual(l.sent.at(-1), { id: 2, do: "ping" });
  mock.timers.tick(2999);
  assert.equal(l.renewals, 0);
  mock.timers.tick(1);
  assert.equal(l.renewals, 1);
});

test("one does not wait for ever to be let in", () => {
  const l = room();
  mock.timers.tick(3000);
  assert.equal(l.renewals, 1, "nothing opens");
  l.handlers.changed(true);
  l.opens();
  mock.timers.tick(3000);
  assert.equal(l.renewals, 2, "the join is not answered");
});

test("a line that has come to its end is left alone", () => {
  for (const ends of [(l) => l.loses(4042), (l) => l.handlers.broken("A mistake."), (l) => l.line.leave()]) {
    const l = room();
    l.connects();
    l.ask({ do: "step" });
    ends(l);
    mock.timers.tick(60000);
    assert.equal(l.renewals, 0);
  }
});
