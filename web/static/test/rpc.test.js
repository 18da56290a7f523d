import assert from "node:assert/strict";
import { test } from "node:test";
import { Lost, Refused, rpc } from "../js/rpc.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A line that a test holds in its hand. */
function line({ silence } = {}) {
  const l = { sent: [], heard: [], drops: 0, open: true };
  const dial = (handlers) => {
    l.handlers = handlers;
    return {
      send(frame) {
        if (l.open) {
          l.sent.push(frame);
        }
        return l.open;
      },
      drop() {
        l.drops++;
        l.lose();
      },
    };
  };
  l.lose = () => {
    l.open = false;
    l.handlers.changed(true);
  };
  l.comes = (frame) => l.handlers.received(frame);
  l.ask = rpc(
    {
      path: () => "/socket",
      connected: () => l.heard.push("connected"),
      sent: (id, command) => l.heard.push(`sent ${id} ${command.do}`),
      frame: (frame) => l.heard.push(`frame of ${frame.re}`),
      broken: (why) => l.heard.push(`broken: ${why}`),
      changed: (lost) => l.heard.push(lost ? "lost" : "found"),
    },
    { dial, silence },
  );
  /** What a promise comes to. */
  l.follow = (name, promise) =>
    promise.then(() => l.heard.push(`${name} done`), (why) => l.heard.push(`${name} ${why.constructor.name} ${why.message}`.trim()));
  return l;
}

test("a promise ends with its own command, after what came of it", async () => {
  const l = line();
  l.follow("step", l.ask({ do: "step" }));
  l.follow("lanes", l.ask({ do: "lanes" }));
  assert.deepEqual(l.sent, [{ id: 1, do: "step" }, { id: 2, do: "lanes" }]);
  l.comes({ re: 2, lanes: "" });
  l.comes({ re: 2, done: true });
  await settled();
  l.comes({ re: 1, done: true });
  await settled();
  assert.deepEqual(l.heard, ["sent 1 step", "sent 2 lanes", "frame of 2", "frame of 2", "lanes done", "frame of 1", "step done"]);
});

test("a refusal rejects with its sentence", async () => {
  const l = line();
  const step = l.ask({ do: "step" });
  l.comes({ re: 1, refused: "A has ended." });
  await assert.rejects(step, (error) => error instanceof Refused && error.message === "A has ended.");
});

test("a refusal of what was not understood is one of all that is under way", async () => {
  const l = line();
  const both = [l.ask({ do: "step" }), l.ask({ do: "lanes" })];
  l.comes({ re: 0, refused: "That is no command." });
  for (const one of both) {
    await assert.rejects(one, Refused);
  }
});

test("a lost connection rejects all that is under way, and what is asked for meanwhile", async () => {
  const l = line();
  l.follow("step", l.ask({ do: "step" }));
  l.lose();
  l.follow("run", l.ask({ do: "run" }));
  await settled();
  assert.deepEqual(l.heard, ["sent 1 step", "lost", "step Lost", "run Lost"]);
});

test("what has ended for good ends all that is under way", async () => {
  const l = line();
  l.follow("step", l.ask({ do: "step" }));
  l.handlers.broken("Something went wrong.");
  await settled();
  assert.deepEqual(l.heard, ["sent 1 step", "broken: Something went wrong.", "step Lost"]);
});

test("frames of a command that is over end nothing", async () => {
  const l = line();
  l.follow("step", l.ask({ do: "step" }));
  l.lose();
  l.open = true;
  l.follow("open", l.ask({ do: "open" }));
  l.comes({ re: 1, done: true });
  await settled();
  assert.ok(!l.heard.includes("open done"));
  l.comes({ re: 2, done: true });
  await settled();
  assert.ok(l.heard.includes("open done"));
});

test("a connection that says nothing while it is asked is given up", async (t) => {
  const { setTimeout, clearTimeout } = globalThis;
  t.after(() => Object.assign(globalThis, { setTimeout, clearTimeout }));
  let now = 0;
  /** @type {Map<number, {at: number, act: () => void}>} */
  const timers = new Map();
  globalThis.setTimeout = (act, ms) => timers.set(timers.size + 1, { at: now + ms, act }).size;
  globalThis.clearTimeout = (id) => timers.set(id, { at: Infinity, act: () => {} });
  const pass = (ms) => {
    now += ms;
    for (const timer of timers.values()) {
      if (timer.at <= now) {
        timer.at = Infinity;
        timer.act();
      }
    }
  };

  const l = line({ silence: 1000 });
  pass(5000);
  assert.equal(l.drops, 0, "nothing was asked");
  const run = l.ask({ do: "run" });
  pass(900);
  l.comes({ re: 1, rows: [] });
  pass(900);
  assert.equal(l.drops, 0, "something was heard");
  pass(100);
  assert.equal(l.drops, 1);
  await assert.rejects(run, Lost);
  pass(5000);
  assert.equal(l.drops, 1, "nothing is under way any more");
});
