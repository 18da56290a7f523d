import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, stopAt } from "../js/cursor.js";
import { canAct, carried, intents, movesOf, positionAt, shown, toOpen } from "../js/board-state.js";
import { Client } from "./client.js";
import { Server } from "./server.js";

/** A page on which so many steps were made. */
function stepped(...moves) {
  const c = new Client(new Server()).connect();
  for (const move of moves) {
    c.ask({ do: "step", branch: c.state.current, at: positionAt(c.state), move });
  }
  return c;
}
const stand = (c, stop, moment = 0) => c.event({ type: "looked", cursor: { stop, moment, inside: false } });
const moves = (c) => [...c.state.branches.values()].map((b) => movesOf(b).join(""));
const numbers = (c) => [...c.state.branches.values()].map((b) => b.number);

test("a scenario is opened, and you stand where its link says", () => {
  const c = new Client(new Server({ name: "two", schedule: [0, 0, 0] })).connect();
  assert.equal(positionAt(c.state), 1);
  assert.equal(shown(c.state).rows.length, 3);
  assert.equal(c.state.session.title, "two");
  assert.equal(c.state.session.asServed, true);
  assert.equal(c.state.opening, null);
});

test("a step takes one along", () => {
  const c = stepped(0, 1);
  assert.deepEqual([positionAt(c.state), shown(c.state).rows.length], [2, 3]);
  assert.equal(c.state.branches.size, 1);
  assert.equal(shown(c.state).lanes, "lanes of 2");
});

test("an act in the past makes a branch, the other one stays and goes on", () => {
  const c = stepped(0, 0, 0);
  stand(c, 1).ask({ do: "step", branch: 0, at: 1, move: 1 });
  assert.deepEqual(moves(c), ["000", "01"]);
  assert.deepEqual([c.state.current, positionAt(c.state)], [1, 2]);
  assert.equal(shown(c.state).rows[0].why, c.state.branches.get(0).rows[0].why);
  assert.notEqual(shown(c.state).rows[0], c.state.branches.get(0).rows[0], "a row is drawn once in each branch");
  c.event({ type: "onto", branch: 0 });
  assert.equal(positionAt(c.state), 2, "you stand at the same move of the other");
  c.ask({ do: "step", branch: 0, at: 3, move: 0 });
  assert.deepEqual(moves(c), ["0000", "01"]);
});

test("who does again what was done there goes along the branch", () => {
  const c = stepped(0, 1, 0);
  stand(c, 0).ask({ do: "step", branch: 0, at: 0, move: 0 });
  assert.deepEqual(moves(c), ["010"]);
  assert.equal(positionAt(c.state), 1);
});

test("a branch is cut, and goes on", () => {
  const c = stepped(0, 0, 0);
  c.ask({ do: "cut", branch: 0, at: 2 });
  assert.deepEqual([moves(c), c.state.current, positionAt(c.state)], [["000", "00"], 1, 2]);
  c.ask({ do: "step", branch: 1, at: 2, move: 1 });
  assert.deepEqual(moves(c), ["000", "001"]);
  assert.equal(shown(c.state).rows.length, 4);
});

test("a refused command leaves everything as it was", () => {
  const c = stepped(0, 0);
  stand(c, 1);
  const before = c.state;
  for (const command of [
    { do: "strike", branch: 0, at: 1, refuse: true },
    { do: "step", branch: 7, at: 0 },
    { do: "drop", branch: 0 },
    { do: "lanes", branch: 9, row: 1 },
  ]) {
    assert.deepEqual(c.ask(command).state, before, command.do);
  }
});

test("while something is opened nothing is shown, and what was there comes back where it is refused", () => {
  const c = stepped(0, 0);
  const before = c.state;
  c.event({ type: "asked", opening: { scenario: '{"name": "other", "schedule": [0]}', at: 1 } });
  const frames = c.send(toOpen(c.state));
  c.take(frames.slice(0, 2));
  assert.equal(shown(c.state), null);
  assert.equal(c.state.session, before.session);
  c.take([{ re: c.last, refused: "no room" }]);
  assert.deepEqual({ ...c.state, standing: before.standing }, before);
  assert.equal(shown(c.state), shown(before));
});

test("you stand where the address says, which knows better than its link", () => {
  const c = new Client(new Server());
  c.event({ type: "asked", opening: { scenario: '{"name": "other", "schedule": [0, 0, 0]}', at: 2 } }).connect();
  assert.deepEqual([positionAt(c.state), c.state.session.asServed], [2, false]);
});

test("frames of something else that come while something is opened are not part of it", () => {
  const c = stepped();
  const late = c.send({ do: "step", branch: 0, at: 0, move: 1 });
  const refused = c.send({ do: "strike", branch: 0, at: 1, refuse: true });
  c.event({ type: "asked", opening: { scenario: '{"name": "other"}' } });
  const frames = c.send(toOpen(c.state));
  const end = frames.length - 1;
  c.take(frames.slice(0, end)).take(late).take(refused);
  assert.equal(shown(c.state), null);
  c.take(frames.slice(end));
  assert.equal(c.state.session.title, "other");
  assert.deepEqual([moves(c), shown(c.state).lanes], [[""], "lanes of 0"]);
});

test("what comes of opening something that nobody waits for any more opens nothing", () => {
  const c = stepped(0);
  const frames = c.send(toOpen(c.state));
  c.lose();
  const before = c.state;
  assert.deepEqual(c.take(frames.filter((f) => f.opened || f.done)).state, before);
});

test("opening falls back: without the branches, then to what the page is for", () => {
  const c = new Client(new Server());
  const branches = [{ id: 0, parent: -1, fork: 0, moves: ["bad"] }];
  c.event({ type: "asked", opening: { scenario: '{"name": "bad"}', branches, at: 5 }, standing: { index: 0, at: 5, numbers: [3] } });
  c.connect();
  assert.deepEqual(c.state.opening, { scenario: '{"name": "bad"}', at: 5 });
  c.connect();
  assert.deepEqual(c.state.opening, { link: "start" });
  c.connect();
  assert.deepEqual([c.state.session.title, positionAt(c.state), numbers(c)], ["two", 0, [0]]);
});

test("where nothing can be opened, it is asked for again on the next connection only", () => {
  const c = new Client(new Server(), "bad").connect();
  assert.deepEqual([c.state.session, c.state.opening], [null, { link: "bad" }]);
  assert.deepEqual(toOpen(c.lose().event({ type: "opened" }).state).link, "bad");
});

test("after a lost connection everything is as it was, but for what the server counts", () => {
  const c = stepped(0, 0, 0);
  stand(c, 1).ask({ do: "step", branch: 0, at: 1, move: 1 });
  stand(c, 1).ask({ do: "step", branch: 0, at: 1, move: { do: "pause" } });
  c.ask({ do: "drop", branch: 1 });
  c.ask({ do: "compare", branch: 2, with: 0 });
  stand(c, 1);
  const before = c.state;
  c.lose();
  stand(c, 2); // what is here needs no server
  c.connect();
  assert.deepEqual(moves(c), ["000", "0[object Object]"]);
  assert.deepEqual(numbers(c), [0, 2], "they are called what they were called");
  assert.deepEqual([...c.state.branches.keys()], [0, 1]);
  assert.deepEqual([c.state.current, positionAt(c.state)], [1, 2]);
  assert.deepEqual(shown(c.state).rows.map((r) => r.why), before.branches.get(2).rows.map((r) => r.why));
  c.ask({ do: "cut", branch: 0, at: 1 });
  assert.deepEqual(numbers(c), [0, 2, 3], "a new one is called by no name that another has");
});

test("a connection that is lost once more while everything is opened again loses nothing", () => {
  const c = stepped(0, 0, 0);
  c.lose().event({ type: "line", lost: false }).event({ type: "opened" });
  c.take(c.send(toOpen(c.state)).slice(0, 2));
  assert.equal(shown(c.state), null);
  c.lose();
  assert.equal(shown(c.state).rows.length, 3);
  stand(c, 1);
  c.connect();
  assert.deepEqual([moves(c), positionAt(c.state)], [["000"], 1]);
});

test("what had come of a command whose connection was lost is kept", () => {
  const c = stepped(0);
  c.take(c.send({ do: "run", branch: 0 }).slice(0, 2));
  c.lose();
  assert.equal(c.state.under.size, 0);
  assert.deepEqual(moves(c), ["00120"]);
  c.connect();
  assert.deepEqual([moves(c), positionAt(c.state)], [["00120"], 1]);
});

test("frames that come twice, late, or with a gap before them change nothing", () => {
  const c = stepped(0, 0);
  const frames = c.send({ do: "run", branch: 0 });
  c.take(frames);
  const all = moves(c);
  c.take(frames);
  assert.deepEqual(moves(c), all);
  c.take([{ ...frames[0], from: 99, positions: [{ move: 0, row: 1, at: "" }], rows: [] }]);
  assert.deepEqual(moves(c), all);
  c.ask({ do: "cut", branch: 0, at: 1 }).ask({ do: "drop", branch: 0 });
  const one = moves(c);
  c.take(frames); // of a branch that is dropped
  assert.deepEqual(moves(c), one);
});

test("a branch does not begin in its midst", () => {
  const c = stepped(0, 0, 0, 0);
  stand(c, 1).ask({ do: "step", branch: 0, at: 1, move: 1 });
  const frames = c.send({ do: "step", branch: 1, at: 2, move: 1 });
  c.take(frames).ask({ do: "drop", branch: 1 });
  const before = c.state;
  assert.deepEqual(c.take(frames).state, before);
});

test("a run to the end ends it", () => {
  const c = stepped(0);
  c.ask({ do: "run", branch: 0 });
  assert.equal(positionAt(c.state), 1, "who goes there is the viewer");
  stand(c, 999);
  const film = shown(c.state);
  assert.equal(film.positions[positionAt(c.state)].over, true);
  assert.equal(c.state.cursor.stop, endOf(film));
  assert.deepEqual(c.ask({ do: "step", branch: 0, at: 6 }).state.branches, c.state.branches);
});

test("one acts where a move is over, and nowhere while something is opened", () => {
  const c = stepped(1);
  assert.equal(canAct(c.state), true);
  assert.equal(canAct(stand(c, 1).state), false, "the first row of a decision of two");
  stand(c, 2).event({ type: "asked", opening: { link: "start" } });
  c.take(c.send(toOpen(c.state)).slice(0, 1));
  assert.equal(canAct(c.state), false);
});

test("a dropped branch leaves one at the same move of another", () => {
  const c = stepped(0, 0, 0);
  stand(c, 1).ask({ do: "step", branch: 0, at: 1, move: 1 });
  c.ask({ do: "drop", branch: 1 });
  assert.deepEqual([c.state.current, positionAt(c.state), moves(c)], [0, 2, ["000"]]);
  assert.deepEqual(carried(c.state), [{ id: 0, parent: -1, fork: 0, moves: [0, 0, 0] }]);
});

test("a branch whose parent is dropped is carried along by itself", () => {
  const c = stepped(0, 0, 0);
  stand(c, 1).ask({ do: "step", branch: 0, at: 1, move: 1 });
  c.ask({ do: "drop", branch: 0 });
  assert.deepEqual(carried(c.state), [{ id: 0, parent: -1, fork: 0, moves: [0, 1] }]);
});

test("a comparison is shown until it is closed, or what it compares is gone", () => {
  const c = stepped(0, 0);
  c.ask({ do: "cut", branch: 0, at: 1 });
  const compare = () => c.ask({ do: "compare", branch: 1, with: 0 }).state.compared;
  assert.equal(compare(), "<p>compared</p>");
  assert.equal(c.event({ type: "closed" }).state.compared, "");
  assert.equal(compare(), "<p>compared</p>");
  assert.equal(c.ask({ do: "drop", branch: 1 }).state.compared, "");
  compare();
  assert.equal(c.lose().connect().state.compared, "");
});

test("other lanes are those of their branch", () => {
  const c = stepped(0, 0);
  c.ask({ do: "lanes", branch: 0, row: 1 });
  assert.equal(shown(c.state).lanes, "lanes at 1");
});

test("what is opened is described, what is lost pauses, and nobody is taken along", () => {
  const c = new Client(new Server());
  const kinds = (act) => {
    const was = c.state;
    act();
    return intents(was, c.state).map((one) => one.kind);
  };
  assert.deepEqual(kinds(() => c.connect()), ["describe"]);
  assert.deepEqual(kinds(() => c.ask({ do: "step", branch: 0, at: 0, move: 0 })), []);
  assert.deepEqual(kinds(() => stand(c, 0)), []);
  assert.deepEqual(kinds(() => c.ask({ do: "cut", branch: 0, at: 0 })), []);
  assert.deepEqual(kinds(() => c.ask({ do: "compare", branch: 1, with: 0 })), ["compare"]);
  assert.deepEqual(kinds(() => c.lose()), ["pause"]);
  assert.deepEqual(kinds(() => c.event({ type: "line", lost: true })), []);
});

// ---- any acts, in any order

/** mulberry32 */
function random(seed) {
  return (n) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** What is true of every state. */
function holds(state) {
  for (const [id, b] of state.branches) {
    assert.equal(b.id, id);
    assert.ok(b.positions.length > 0);
    assert.ok(b.rows.every((r, i) => r?.step === i + 1), "each row is in its place");
    assert.ok(b.positions.every((p) => p.row <= b.rows.length), "no position without its row");
  }
  assert.equal(new Set([...state.branches.values()].map((b) => b.number)).size, state.branches.size, "no two of one name");
  if (state.branches.size > 0) {
    const film = state.branches.get(state.current);
    assert.ok(film, "what is shown is there");
    assert.ok(state.cursor.stop >= 0 && state.cursor.stop <= endOf(film), "the cursor is within the film");
    assert.ok(state.cursor.moment <= (film.rows[stopAt(film, state.cursor).row - 1]?.inside?.length ?? 0));
  }
}

/** The page has of each branch what the server has. */
function agrees({ state, server }) {
  const truth = server.truth();
  assert.deepEqual([...state.branches.keys()], [...truth.keys()]);
  for (const [id, { rows, positions }] of truth) {
    const b = state.branches.get(id);
    assert.deepEqual(b.positions, positions);
    assert.deepEqual(b.rows.map((r) => r.why), rows.map((r) => r.why));
  }
}

test("whatever one does and whatever comes, nothing is lost", () => {
  for (let seed = 0; seed < 200; seed++) {
    const pick = random(seed);
    const c = new Client(new Server()).connect();
    const log = [];
    let old = []; // frames
    try {
      for (let n = 0; n < 40; n++) {
        const { state } = c;
        const film = shown(state);
        const branch = state.current;
        const at = positionAt(state);
        const act = pick(14);
        log.push(`${act}@${branch}.${at}`);
        const move = [0, 1, 2, 4, { do: "pause" }][pick(5)];
        switch (act) {
          case 0: case 1: case 2:
            old = c.send({ do: "step", branch, at, move });
            c.take(old);
            break;
          case 3: case 4:
            c.ask({ do: "step", branch, move });
            break;
          case 5: case 6:
            c.event({ type: "looked", cursor: { stop: pick(endOf(film) + 3) - 1, moment: pick(4), inside: pick(2) === 0 } });
            break;
          case 7:
            c.event({ type: "onto", branch: [...state.branches.keys()][pick(state.branches.size)] });
            break;
          case 8:
            if (at > 0 && state.branches.size < 6) {
              c.ask({ do: "cut", branch, at: at - 1 });
            }
            break;
          case 9:
            c.ask({ do: "drop", branch });
            break;
          case 10:
            assert.deepEqual(c.ask({ do: "strike", branch, at, refuse: true }).state, state);
            break;
          case 11: // the connection is lost in the midst of an act, and everything is opened again
            c.take(c.send({ do: "step", branch, at, move }).slice(0, pick(3)));
            holds(c.state);
            const had = moves(c);
            c.lose().connect();
            assert.deepEqual(moves(c), had);
            break;
          case 12:
            c.ask({ do: "lanes", branch, row: 1 });
            break;
          case 13: // late, and once more
            if (old.every((f) => !f.branch || c.server.branches.has(f.branch.id)) && old[0]?.re > c.last - 3) {
              c.take(old);
            }
            break;
        }
        if (act === 11) {
          old = [];
        }
        holds(c.state);
        agrees(c);
      }
    } catch (error) {
      error.message = `seed ${seed}, after ${log.join(" ")}: ${error.message}`;
      throw error;
    }
  }
});
