import assert from "node:assert/strict";
import { test } from "node:test";
import { stopAt } from "../js/cursor.js";
import { begun, isFilm, standing, standingOf, taken } from "../js/room-film.js";
import { positionAt, shown } from "../js/state.js";
import { Server } from "./server.js";

/** The frames of a film as a room pushes them: nobody has asked for them. */
const pushed = (frames) => frames.filter(isFilm).map((frame) => ({ ...frame, re: 0, done: undefined }));

/** A film of a server that has made moves, standing at a place. */
function film(moves, at) {
  const server = new Server({ name: "two", schedule: moves });
  const state = pushed(server.answer(1, { do: "open" })).reduce(taken, begun());
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

test("where one stands is told so that others stand there", () => {
  for (const at of [{ at: 0, row: 0 }, { at: 1, row: 0 }, { at: 2, row: 2 }, { at: 2, row: 0 }, { at: 3, row: 0 }]) {
    const wanted = { branch: 0, moment: 0, ...at };
    const { state } = film([0, 1, 0], wanted);
    assert.deepEqual(standingOf(shown(state), 0, state.cursor), wanted);
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

test("on a new connection all comes anew, and what is there stays until it has", () => {
  const { server, state } = film([0, 1], { branch: 0, at: 2, row: 0, moment: 0 });
  const frames = pushed(server.answer(2, { do: "open" }));
  const again = begun(state);
  assert.equal(shown(again).rows.length, 3);
  const half = frames.slice(0, 2).reduce(taken, again);
  assert.equal(shown(half), null, "half of a film is not shown");
  const whole = standing(frames.slice(2).reduce(taken, half), { branch: 0, at: 1, row: 0, moment: 0 });
  assert.deepEqual(place(whole), [0, 1, 1, 0]);
});

test("lanes that were asked for are no room's", () => {
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
  const now = standing(frames.slice(1).reduce(taken, half), { branch: 4, at: 0, row: 0, moment: 0 });
  assert.deepEqual([...now.branches.keys()], [4]);
  assert.equal(now.session.scene, 1);
  assert.equal(shown(now).number, 0);
  assert.equal(shown(now).lanes, "empty lanes");
  assert.deepEqual(place(now), [4, 0, 0, 0]);
});
