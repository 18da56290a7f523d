import assert from "node:assert/strict";
import { test } from "node:test";
import { initial, intents, positionAt, reduce, shown } from "../js/board-state.js";
import { stopAt } from "../js/cursor.js";
import { frozen } from "./client.js";
import { Server } from "./server.js";

const after = (state, ...events) => events.reduce((now, event) => frozen(reduce(now, frozen(event))), frozen(state));

/** The frames of a film as a room pushes them: nobody has asked for them. */
const pushed = (frames) => frames.filter((f) => !f.done).map((frame) => ({ ...frame, re: 0 }));
const taken = (state, frame) => after(state, { type: "frame", frame });
const standing = (state, at) => after(state, { type: "told", stand: { scene: 0, ...at } });
const follows = (leads = true) => after(initial("", { leads }), { type: "opened" });

/** A board that follows a class with a server that has made moves, standing at a
 *  place. */
function film(moves, at, leads = true) {
  const server = new Server({ name: "two", schedule: moves });
  const state = pushed(server.answer(1, { do: "open" })).reduce(taken, follows(leads));
  return { server, state: standing(state, at) };
}
const place = (state) => [state.current, positionAt(state), stopAt(shown(state), state.cursor).row, state.cursor.moment];

test("a film that comes stands where the class stands", () => {
  const { state } = film([0, 1, 0], { branch: 0, at: 2, row: 3, moment: 0 });
  assert.deepEqual(place(state), [0, 2, 3, 0]);
  assert.equal(shown(state).rows.length, 4);
  assert.equal(state.session.title, "two");
});

test("inside of a move, and of a script", () => {
  const at = (row, moment) => place(film([0, 1, 0], { branch: 0, at: 2, row, moment }).state);
  assert.deepEqual(at(2, 0), [0, 2, 2, 0]); // the second move has two rows
  assert.deepEqual(at(0, 0), [0, 2, 3, 0], "0 is its end");
  assert.deepEqual(place(film([0], { branch: 0, at: 1, row: 1, moment: 2 }).state), [0, 1, 1, 2]);
  assert.deepEqual(place(film([0], { branch: 0, at: 0, row: 0, moment: 0 }).state), [0, 0, 0, 0]);
});

test("where you are is told so that others stand there", () => {
  for (const at of [{ at: 0, row: 0 }, { at: 1, row: 0 }, { at: 2, row: 2 }, { at: 2, row: 0 }, { at: 3, row: 0 }]) {
    const wanted = { branch: 0, moment: 0, ...at };
    const { state } = film([0, 1, 0], wanted);
    const other = standing(state, { branch: 0, at: wanted.at > 0 ? 0 : 3, row: 0, moment: 0 });
    assert.deepEqual(after(other, { type: "looked", cursor: state.cursor }).ahead, wanted);
  }
});

test("what comes later is added, and a branch gone onto", () => {
  const { server, state } = film([0, 1], { branch: 0, at: 2, row: 0, moment: 0 });
  let now = pushed(server.answer(2, { do: "step", branch: 0, move: 0 })).reduce(taken, state);
  assert.deepEqual(place(now), [0, 2, 3, 0], "until the room goes there");
  now = standing(now, { branch: 0, at: 3, row: 4, moment: 0 });
  assert.deepEqual(place(now), [0, 3, 4, 0]);
  now = pushed(server.answer(3, { do: "step", branch: 0, at: 1, move: 0 })).reduce(taken, now);
  now = standing(now, { branch: 1, at: 2, row: 0, moment: 0 });
  assert.deepEqual(place(now), [1, 2, 2, 0]);
  now = pushed(server.answer(4, { do: "drop", branch: 1 })).reduce(taken, now);
  assert.deepEqual(place(standing(now, { branch: 0, at: 2, row: 0, moment: 0 })), [0, 2, 3, 0]);
});

test("on a new connection all comes again, and what is there stays until it has", () => {
  const { server, state } = film([0, 1], { branch: 0, at: 2, row: 0, moment: 0 });
  const frames = pushed(server.answer(2, { do: "open" }));
  const again = after(state, { type: "line", lost: true }, { type: "line", lost: false }, { type: "opened" });
  assert.equal(shown(again).rows.length, 3);
  const half = frames.slice(0, 2).reduce(taken, again);
  assert.equal(shown(half), null, "half of a film is not shown");
  const begun = standing(after(half, { type: "opened" }), { branch: 0, at: 1, row: 0, moment: 0 });
  assert.equal(shown(begun).rows.length, 3, "nor is it once it comes from its beginning");
  const whole = standing(frames.slice(2).reduce(taken, half), { branch: 0, at: 1, row: 0, moment: 0 });
  assert.deepEqual(place(whole), [0, 1, 1, 0]);
});

test("lanes that were asked for are drawn", () => {
  const { server, state } = film([0], { branch: 0, at: 1, row: 0, moment: 0 });
  const now = server.answer(2, { do: "lanes", branch: 0, row: 1 }).reduce(taken, state);
  assert.equal(shown(now).lanes, "lanes at 1");
});

test("another scenario comes whole, and its branches are counted from its first", () => {
  const { state } = film([0, 1, 0], { branch: 0, at: 2, row: 3, moment: 0 });
  const other = new Server({ name: "fenced", schedule: [1] });
  const frames = pushed(other.answer(1, { do: "open" })).map((f) => ({
    ...f,
    opened: f.opened && { ...f.opened, scene: 1, first: 4, lanes: "empty lanes" },
    branch: f.branch && { ...f.branch, id: 4 },
  }));
  const half = frames.slice(0, 1).reduce(taken, state);
  assert.equal(shown(half), null, "nothing is shown of two scenarios");
  const now = standing(frames.slice(1).reduce(taken, half), { branch: 4, at: 0, row: 0, moment: 0, scene: 1 });
  assert.deepEqual([...now.branches.keys()], [4]);
  assert.equal(now.session.scene, 1);
  assert.equal(shown(now).number, 0);
  assert.equal(shown(now).lanes, "empty lanes");
  assert.deepEqual(place(now), [4, 0, 0, 0]);
});

// ---- going elsewhere

const start = { branch: 0, at: 2, row: 0, moment: 0 };
const look = (stop, moment = 0) => ({ type: "looked", cursor: { stop, moment, inside: false } });
const goes = (was, now) => intents(was, now).filter((one) => one.kind === "go").map((one) => one.to);

test("where a host looks the class goes, and nobody else can go", () => {
  const { state } = film([0, 1, 0], start);
  const now = after(state, look(1));
  assert.deepEqual(place(now), [0, 1, 1, 0]);
  assert.deepEqual(goes(state, now), [{ branch: 0, at: 1, row: 0, moment: 0 }]);
  assert.deepEqual(goes(now, after(now, look(1))), [], "it goes there already");
  assert.deepEqual(goes(state, after(state, look(2))), [{ branch: 0, at: 2, row: 2, moment: 0 }], "inside of the same move");
  assert.deepEqual(goes(after(state, look(2)), after(state, look(2), look(3))), [start], "and to its end");
  const stage = film([0, 1, 0], start, false).state;
  assert.equal(after(stage, look(1)), stage);
});

test("a class that is behind takes nobody back, until it is told", () => {
  const { state } = film([0, 1, 0], start);
  const first = after(state, look(1));
  const both = after(first, look(0));
  const late = standing(both, { branch: 0, at: 1, row: 1, moment: 0 }); // the first go has come
  assert.deepEqual(place(late), [0, 0, 0, 0]);
  assert.deepEqual(after(late, { type: "settled", to: first.ahead }).ahead, both.ahead, "the answer to the first");
  const there = standing(late, { branch: 0, at: 0, row: 0, moment: 0 });
  assert.equal(there.ahead, null);
  assert.deepEqual(place(standing(there, start)), [0, 2, 3, 0], "and then it leads again");
});

test("a go that comes to nothing leaves one where the class is", () => {
  const { state } = film([0, 1, 0], start);
  const now = after(state, look(0));
  assert.deepEqual(place(after(now, { type: "settled", to: now.ahead })), [0, 2, 3, 0]);
});

test("onto a branch the class goes to the same move, or to its end", () => {
  const { server, state } = film([0, 1, 0], start);
  const two = standing(pushed(server.answer(2, { do: "cut", branch: 0, at: 1 })).reduce(taken, state), start);
  const now = after(two, { type: "onto", branch: 1 });
  assert.deepEqual(place(now), [1, 1, 1, 0]);
  assert.deepEqual(goes(two, now), [{ branch: 1, at: 1, row: 0, moment: 0 }]);
});

test("another scenario forgets where one has gone, and what goes on by itself", () => {
  const { state } = film([0, 1, 0], start);
  const away = after(state, look(0));
  const now = standing(away, { ...start, branch: 4, scene: 1 });
  assert.equal(now.ahead, null);
  assert.deepEqual(intents(away, now).map((one) => one.kind), ["pause"]);
});

test("what is compared stays while the class is in the same scenario", () => {
  const { server, state } = film([0, 1], start);
  const frame = { v: 1, re: 5, done: true, compared: "<p>" };
  const now = after(state, { type: "frame", frame });
  assert.deepEqual(intents(state, now).map((one) => one.kind), ["compare"]);
  const again = (scene) => pushed(server.answer(6, { do: "open" })).map((f) => ({ ...f, opened: f.opened && { ...f.opened, scene } }));
  const back = (scene) => standing(again(scene).reduce(taken, after(now, { type: "opened" })), { ...start, scene });
  assert.equal(back(0).compared, "<p>");
  assert.equal(back(1).compared, "");
  assert.deepEqual(intents(now, back(1)).map((one) => one.kind), ["pause", "describe", "compare"]);
});
