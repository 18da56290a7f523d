import assert from "node:assert/strict";
import { test } from "node:test";
import { START } from "../js/cursor.js";
import { INITIAL, absent, atBroken, atEnd, intents, previewed, reduce, rowOf, stopOf, upNext } from "../js/viewer-state.js";
import { film } from "./films.js";

/** T1 has two commands; T2 and T3 come of one decision, T3 breaks a rule; then a
 *  fault without a row, and T4. */
function example(over = true) {
  const f = film([{ move: 0, rows: 1 }, { move: 1, rows: 2 }, { move: { do: "pause" }, rows: 0 }, { move: 0, rows: 1, over }]);
  f.rows[0].inside = [{ says: "one" }, { says: "two" }];
  f.rows[0].mark = "acquired";
  f.rows[2].mark = "violation";
  return f;
}

/** What one sees of a film, standing at a stop. */
const seen = (f, stop = 0, more = {}, grows = false) => reduce({ ...INITIAL, ...more }, { type: "film", film: f, grows, cursor: { ...START, stop } });
const act = (state, name) => reduce(state, { type: "act", name });
const kinds = (was, now) => intents(was, now).map(({ kind, ...rest }) => (kind === "show" ? kind : `${kind} ${Object.values(rest).join(" ")}`.trim()));
const stops = (state, ...names) => names.map((name) => (state = act(state, name)).cursor.stop);

test("one goes about by names, is shown it, and told", () => {
  const state = seen(example());
  assert.deepEqual(stops(state, "forward", "forward", "next", "back", "first", "violation", "end"), [1, 2, 3, 2, 0, 3, 5]);
  assert.deepEqual(kinds(state, act(state, "forward")), ["show", "say"]);
  assert.deepEqual(kinds(state, act(state, "end")), ["show", "say"]);
});

test("at the end nothing is made, and what there is not is said", () => {
  const end = seen(example(), 5);
  assert.equal(atEnd(end), true);
  assert.equal(act(end, "forward"), end);
  assert.deepEqual(kinds(end, act(end, "next")), ["show", "say Nothing that matters happens from here to the end."]);
  assert.deepEqual(kinds(end, act(end, "end")), ["show", "say This is the end."]);
  const at = seen(example(), 3);
  assert.deepEqual(kinds(at, act(at, "violation")), ["show", "say No rule is broken from here to the end."], "it is the only one");
});

test("where the page can make more, it is asked to", () => {
  const end = seen(example(false), 5, {}, true);
  assert.equal(atEnd(end), false);
  assert.deepEqual(kinds(end, act(end, "forward")), ["make  5"]);
  const runs = act(end, "next");
  assert.deepEqual([kinds(end, runs), runs.running], [["make mark 5"], true]);
  const longer = example(false);
  longer.rows.push({ ...longer.rows[0], step: 5, mark: "expired" });
  longer.positions.push({ move: 0, row: 5, at: "9 ms", over: true });
  const there = reduce(seen(longer, 5, runs, true), { type: "ran", to: "mark", from: 5 });
  assert.deepEqual([there.cursor.stop, there.running, there.said.note], [6, false, ""]);
  const none = reduce(seen(longer, 5, runs, true), { type: "ran", to: "violation", from: 5 });
  assert.deepEqual([none.cursor.stop, none.said.note], [6, "No rule is broken from here to the end."]);
  assert.equal(act(runs, "back").running, false, "who goes elsewhere waits no more");
});

test("a position that was made is stood at where it begins to show", () => {
  const state = seen(example(false), 1, {}, true);
  const now = reduce(state, { type: "arrived", position: 2, from: 1 });
  assert.deepEqual([now.cursor.stop, kinds(state, now)], [2, ["show"]]);
  const led = reduce(seen(example(false), 3, {}, true), { type: "arrived", position: 2, from: 1 });
  assert.equal(led.cursor.stop, 2, "a class has gone to its end already");
  const quiet = film([{ move: 0, rows: 1 }, { move: 0, rows: 0 }]);
  const none = reduce(seen(quiet, 1, {}, true), { type: "arrived", position: 2, from: 1 });
  assert.deepEqual(kinds(seen(quiet, 1), none), ["make  1"], "nothing of it shows: one more");
});

test("commands are gone through, by steps and by pointing at one", () => {
  const one = seen(example(), 1);
  const into = act(one, "inside");
  assert.deepEqual([into.cursor, into.said.note], [{ stop: 1, moment: 1, inside: true }, ""]);
  assert.deepEqual(act(into, "into").cursor, { stop: 1, moment: 0, inside: false });
  assert.deepEqual(act(seen(example(), 2), "into").said.note, "From here, steps go through each command.");
  assert.deepEqual(reduce(seen(example(), 5), { type: "row", row: 1, moment: 2 }).cursor, { stop: 1, moment: 2, inside: true });
  assert.deepEqual(reduce(one, { type: "row", row: 3 }).cursor, { stop: 4, moment: 0, inside: false }, "the last place at that row");
});

test("the clock goes on from a row until one goes elsewhere", () => {
  const state = reduce(seen(example(), 1), { type: "flowed", part: 0.5, passed: 20 });
  assert.deepEqual([state.part, state.passed], [0.5, 20]);
  assert.deepEqual([act(state, "forward").part, act(state, "forward").passed], [0, 0]);
  assert.equal(reduce(state, { type: "clock", row: 1 }).part, 0.5, "you stand there");
  const other = reduce(state, { type: "clock", row: 2 });
  assert.deepEqual([other.cursor.stop, other.part, kinds(state, other)], [2, 0, ["show"]]);
});

test("what is pointed at is another row than where you are, and one that there is", () => {
  const at = (row) => previewed(reduce(seen(example(), 2), { type: "pointed", row }));
  assert.deepEqual([0, 1, 2, 4, 5].map(at), [0, 1, 0, 4, 0]);
});

test("it plays to a broken rule, and on from there to the end", () => {
  const plays = (stop, started, through = false) => upNext(seen(example(), stop, { started }), through);
  assert.deepEqual([plays(1, 0), plays(3, 0), plays(3, 3), plays(3, 0, true), plays(5, 0)], ["ready", "broken", "ready", "ready", "end"]);
  assert.deepEqual([2, 3, 4].map((stop) => atBroken(seen(example(), stop))), [false, true, false]);
  const calm = example();
  calm.rows[2].calm = true; // what the lock protects decides for itself
  assert.deepEqual([atBroken(seen(calm, 3)), upNext(seen(calm, 3, { started: 0 }), false)], [false, "ready"]);
  const again = act(seen(example(), 5), "play");
  assert.deepEqual([again.cursor.stop, again.started], [0, 0], "from the end it begins again");
  assert.equal(act(seen(example(), 2), "play").started, 2);
});

// ---- rows that are not here

/** A film of which some rows have not come. */
function partly(...missing) {
  const f = example();
  f.rows = f.rows.map((row) => (missing.includes(row.step) ? undefined : row));
  return f;
}
const comes = (state, f, inSight = true) => reduce(seen(f, state.cursor.stop, { ...state }), { type: "came", inSight });

test("what is not here is said when it has come", () => {
  const away = act(seen(partly(2), 1), "forward");
  assert.deepEqual([absent(away), stopOf(away).row, rowOf(away)], [true, 2, undefined]);
  assert.deepEqual(away.awaited, { at: 2, enters: false, note: "", follow: true });
  const still = comes(away, partly(2));
  assert.deepEqual(kinds(away, still), ["say"], "it could not be loaded");
  assert.ok(still.awaited);
  const here = comes(still, example());
  assert.deepEqual([kinds(still, here), here.awaited, here.moved.follow], [["show", "say"], null, true]);
});

test("who only looks hears nothing of it, and who has scrolled away is not taken back", () => {
  const away = reduce(seen(partly(2), 2), { type: "shown", follow: true });
  assert.deepEqual(away.awaited, { at: 2, enters: false, note: null, follow: true });
  const here = comes(away, example(), false);
  assert.deepEqual([kinds(away, here), here.moved.follow], [["show"], false]);
  assert.equal(comes(seen(example(), 2), example()).moved, null, "nothing was awaited");
});

test("who goes through commands enters a row that comes", () => {
  const outside = seen(partly(1), 0);
  const away = act({ ...outside, cursor: { ...outside.cursor, inside: true } }, "forward");
  assert.equal(away.awaited.enters, true);
  assert.equal(reduce(away, { type: "shown", follow: false }).awaited, away.awaited, "also where it is drawn again");
  const here = reduce({ ...away, film: example() }, { type: "came", inSight: true });
  assert.deepEqual(here.cursor, { stop: 1, moment: 1, inside: true });
});

test("it waits for rows while it plays", () => {
  assert.equal(upNext(seen(partly(2), 1), false), "coming");
  assert.equal(upNext(seen(partly(4), 3, { started: 3 }), false), "ready", "a fault comes first");
});
