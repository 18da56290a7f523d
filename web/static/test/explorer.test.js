import assert from "node:assert/strict";
import { test } from "node:test";
import { UNEXPLORED, arrow, explored, outlook } from "../js/explorer.js";
import { Client } from "./client.js";
import { Server } from "./server.js";

const ended = { explored: { going: false, found: "<p>", picture: "<svg>" } };
const stands = { branch: 1, at: 3, dot: 7, way: [0, 7], lost: -1, outlooks: [{ choice: 0, short: "3 of 8 break" }, { choice: -1, short: "0 of 5 break" }], says: "" };

test("a search goes on, ends, and is asked about", () => {
  let state = explored(UNEXPLORED, { explored: { going: true, found: "<p>" } });
  assert.deepEqual(state, { going: true, ended: false, stands: null });
  assert.equal(explored(state, { stands }).stands, null, "nothing is known before its end");
  state = explored(explored(state, ended), { stands });
  assert.deepEqual([state.going, state.ended, state.stands.dot], [false, true, 7]);
  assert.equal(explored(state, { explored: { going: true, found: "" } }).stands, null, "another search knows nothing yet");
  assert.deepEqual(explored(state, { opened: {} }), UNEXPLORED);
  assert.equal(explored(state, { branch: {} }), state);
});

test("a search that failed has nothing to ask about", () => {
  assert.equal(explored(UNEXPLORED, { explored: { going: false, found: "Something went wrong." } }).ended, false);
});

test("an outlook is said where it belongs, and nowhere else", () => {
  const state = explored(explored(UNEXPLORED, ended), { stands });
  assert.equal(outlook(state, 1, 3, 0).short, "3 of 8 break");
  assert.equal(outlook(state, 1, 3, -1).short, "0 of 5 break");
  assert.equal(outlook(state, 1, 3, 2), undefined);
  assert.equal(outlook(state, 1, 4, 0), undefined);
  assert.equal(outlook(state, 0, 3, 0), undefined);
  assert.equal(outlook(UNEXPLORED, 1, 3, 0), undefined);
});

test("arrows lead to the neighbours of a dot", () => {
  const to = "4 -1 6 8";
  assert.deepEqual(["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "a"].map((key) => arrow(to, key)), [4, -1, 6, 8, -1]);
});

test("you stand where a walk has led", () => {
  const c = new Client(new Server({ name: "two", schedule: [0, 0, 0] })).connect();
  c.event({ type: "frame", frame: { re: 0, went: { branch: 0, at: 2 } } });
  assert.deepEqual([c.state.current, c.state.cursor.stop], [0, 2]);
});
