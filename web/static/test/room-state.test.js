import assert from "node:assert/strict";
import { test } from "node:test";
import { bars, canVote, covers, initial, lobby, mine, myVote, news, projected, reduce, rightShare, wishesOf } from "../js/room-state.js";
import { gifts, whoIs } from "../js/room-desk.js";
import { doing, here, place, playedBy, result, standing, told, votes, whyThere, wished } from "../js/room-says.js";
import { frozen } from "./client.js";
import { frame, joined, question, room } from "./room-frames.js";

/** The state that events lead to. */
const after = (...events) => events.reduce((state, event) => frozen(reduce(state, frozen(event))), frozen(initial()));
const join = (over) => ({ type: "joined", answer: joined(over) });
const comes = (seq, over, epoch) => ({ type: "frame", frame: frame(seq, over, epoch) });

test("the newest room counts, in whatever order frames come", () => {
  const state = after(comes(12, { at: 3 }), comes(11, { at: 2 }));
  assert.equal(state.room.at, 3);
  assert.equal(reduce(state, comes(13, { at: 4 })).room.at, 4);
  assert.equal(reduce(state, comes(1, { at: 5 }, "e2")).room.at, 5, "another epoch counts again");
});

test("a frame that is no room's changes nothing", () => {
  const state = after(comes(12));
  assert.equal(reduce(state, { type: "frame", frame: { v: 1, re: 3, done: true } }), state);
});

test("one's threads are those that the room says", () => {
  assert.deepEqual(mine(after(comes(1))), [], "before one has joined");
  assert.deepEqual(mine(after(join(), comes(1))), ["A"]);
  assert.deepEqual(mine(after(join({ member: "m7" }), comes(1))), []);
});

test("a vote is of one round of one question", () => {
  const asked = [join(), comes(1, { question: question() })];
  assert.equal(myVote(after(...asked)), null);
  const voted = [...asked, { type: "voted", vote: { question: 1, round: 1, option: 2 } }];
  assert.equal(myVote(after(...voted)), 2);
  assert.equal(myVote(after(...voted, comes(2, { question: question({ round: 2 }) }))), null);
  assert.equal(myVote(after(...voted, comes(2, { question: question({ id: 2 }) }))), null);
  assert.equal(myVote(after(...voted, comes(2))), null);
});

test("who comes back has voted", () => {
  assert.equal(myVote(after(join({ mine: 1 }), comes(1, { question: question({ id: 4, round: 2 }) }))), 1);
  assert.equal(myVote(after(join({ mine: 0 }), comes(1))), null);
});

test("a vote that the room has lost is none", () => {
  const voted = [join(), comes(9, { question: question() }), { type: "voted", vote: { question: 1, round: 1, option: 2 } }];
  assert.equal(myVote(after(...voted, join(), comes(7, { question: question() }, "e2"))), null);
});

test("one votes until it is revealed", () => {
  assert.equal(canVote(after(join(), comes(1, { question: question() }))), true);
  assert.equal(canVote(after(join(), comes(1, { question: question({ closed: true, counts: [1, 2, 3], right: 1 }) }))), false);
  assert.equal(canVote(after(join(), comes(1))), false);
  assert.equal(canVote(after(join(), comes(1, { question: question() }), { type: "gone", code: 4042, why: "" })), false);
});

test("bars of both rounds have one measure", () => {
  const q = question({ counts: [5, 14, 2], before: [9, 6, 5], right: 1, closed: true });
  assert.deepEqual(bars(q).map((b) => [b.count, b.before, b.right]), [[5, 9, false], [14, 6, true], [2, 5, false]]);
  assert.equal(bars(q)[1].share, 1);
  assert.equal(bars(q)[0].shareBefore, 9 / 14);
  assert.equal(rightShare(q), 67);
  assert.equal(bars(question()), null, "votes are hidden");
  assert.equal(rightShare(question()), null);
  assert.equal(rightShare(question({ counts: [0, 0, 0], right: 0 })), null, "nobody voted");
  assert.deepEqual(bars(question({ counts: [0, 0, 0], right: 0 })).map((b) => b.share), [0, 0, 0]);
});

test("a table's wishes are shown, and how many have each", () => {
  const table = { by: ["a", "b", "c"], members: ["1", "2", "3"], next: "lock", why: "" };
  assert.deepEqual(wishesOf({ ...table, wishes: {} }), []);
  assert.deepEqual(wishesOf({ ...table, wishes: { pause: 1, step: 2 } }).map((w) => w.what), ["step", "pause"], "what most want is first");
  assert.equal(wished({ ...table, wishes: { pause: 1, step: 1 }, tied: true }, 0), "1 of 3 want: to be slow; 1 of 3 want to step · a tie: the host decides");
  assert.equal(wished({ ...table, wishes: { step: 2 } }, 8), "2 of 3 want to step · 8\u00a0s");
  assert.equal(wished({ ...table, wishes: { crash: 2 } }, 0), "2 of 3 want: a crash");
  assert.equal(wished({ ...table, members: ["1"], wishes: { step: 1 } }, 8), "", "who is alone waits for nobody");
  assert.equal(doing({ ...table, why: "waits until 210 ms" }, 0), "waits until 210 ms");
  assert.equal(doing(table, 0), "lock");
});

/** What is told of the way that events lead. */
function told_(before, ...events) {
  const was = after(...before);
  const now = events.reduce((state, event) => reduce(state, event), was);
  return news(was, now).map((one) => told(one, now.room));
}

test("what has changed is told", () => {
  const here = [join(), comes(1)];
  assert.deepEqual(told_(here, comes(2)), []);
  assert.deepEqual(told_(here, comes(2, { at: 4, row: 6 })), ["The class is at T6."]);
  assert.deepEqual(told_(here, comes(2, { moment: 2 })), ["The class is at T4.2."]);
  assert.deepEqual(told_(here, comes(2, { locked: true })), ["The room is locked."]);
  assert.deepEqual(told_(here, comes(2, { held: true })), ["The host is leading now: watch, and vote when you are asked."]);
  assert.deepEqual(told_(here, comes(2, { held: false })), []);
  assert.deepEqual(told_(here, comes(2, { question: question() })), ["A question: What do we see at 210\u00a0ms?"]);
  const asked = [join(), comes(1, { question: question() })];
  assert.deepEqual(told_(asked, comes(2, { question: question({ votes: 19 }) })), [], "votes alone are no news");
  assert.deepEqual(told_(asked, comes(2, { question: question({ closed: true, counts: [5, 14, 2], right: 1, advice: "Talk." }) })), [
    "The votes: refused: 5; B in, A goes on: 14, right; B in, A stopped: 2. Talk.",
  ]);
  const revealed = [join(), comes(1, { question: question({ closed: true, counts: [5, 14, 2], right: 1 }) })];
  assert.deepEqual(told_(revealed, comes(2, { question: question({ round: 2, before: [5, 14, 2] }) })), ["Vote again."]);
  assert.deepEqual(told_(revealed, comes(2)), ["The question is closed."]);
});

test("who comes late hears of an open question, and of nothing else", () => {
  assert.deepEqual(told_([join()], comes(9, { question: question() })), ["A question: What do we see at 210\u00a0ms?"]);
  assert.deepEqual(told_([join()], comes(9)), []);
});

test("what few knew is covered until it is told, and a veiled vote is told without its bars", () => {
  const open = question();
  const few = question({ closed: true, counts: [5, 1, 1] });
  assert.deepEqual([open, few, question({ closed: true, counts: [1, 2, 0], right: 0, talk: true }), question({ closed: true, counts: [9, 0, 0], right: 0 }), null].map(covers), [true, true, true, false, false]);
  assert.deepEqual(told_([join(), comes(1, { question: open })], comes(2, { question: few })), [result(few)]);
  assert.deepEqual(told_([join(), comes(1, { question: few })], comes(2, { question: { ...few, right: 0 } })), [result({ ...few, right: 0 })]);
  assert.deepEqual(told_([join(), comes(1, { question: open })], comes(2, { question: question({ closed: true, veiled: true }) })), ["The votes are counted."]);
  assert.equal(projected(question({ closed: true, veiled: true, counts: [9, 0, 0], right: 0 }))?.counts, null);
  assert.deepEqual(projected(few), few);
});

test("who does not see the stage hears why, unless that would tell what is asked", () => {
  const at = room({ says: "B. retry: refused", why: "A holds it." });
  assert.equal(standing(at), "The class is at T4. B. retry: refused A holds it.");
  assert.equal(standing({ ...at, question: question() }), "The class is at T4. B. retry: refused");
  assert.equal(whyThere({ ...at, question: question({ closed: true, counts: [1, 0, 0], right: 0 }) }), "A holds it.");
});

test("a stage shows how one joins while nobody is in, and when the host wants it", () => {
  const shows = [{ members: 0, row: 0, scene: 0 }, { members: 1, row: 0, scene: 0 }, { members: 0, row: 1, scene: 0 }, { members: 0, row: 0, scene: 1 }, { members: 9, scene: 2, lobby: true }];
  assert.deepEqual(shows.map((over) => lobby(room(over))), [true, false, false, false, true]);
});

test("who is lost stays so when one comes back", () => {
  const state = after(join({ lost: true }), comes(1));
  assert.equal(state.me.lost, true);
  assert.equal(reduce(state, { type: "strays", lost: false }).me.lost, false);
});

test("a thread that one is given or that is taken is told", () => {
  const B = { B: { by: ["Quiet Otter"], members: ["m5"], wishes: {}, next: "", why: "" } };
  assert.deepEqual(told_([join(), comes(1)], comes(2, { threads: B })), ["You play B now.", "You no longer play A."]);
});

test("a host gives people threads, in the place of who has them or with them, and no screen any", () => {
  const seat = (/** @type {[string, string][]} */ ...by) => ({ by: by.map(([name]) => name), members: by.map(([, id]) => id), next: "" });
  const at = room({ threads: { A: seat(["Quiet Otter", "m1"], ["Noble Owl", "m2"]), B: seat(["Noble Owl", "m2"]), C: seat() } });
  const offered = (/** @type {string} */ member, /** @type {string[]} */ ...threads) => gifts(at, { member, threads }).map(({ label, over }) => `${label}${over ? "!" : ""}`);
  assert.deepEqual(offered("m3"), ["A, from Quiet Otter, Noble Owl!", "A, with Quiet Otter, Noble Owl", "B, from Noble Owl!", "B, with Noble Owl", "C"]);
  assert.deepEqual(offered("m2", "A", "B"), ["A, from Quiet Otter!", "C"]);
  assert.deepEqual(offered("m1", "A"), ["A, from Noble Owl!", "B, from Noble Owl!", "B, with Noble Owl", "C"]);
  const one = (over) => whoIs({ member: "m1", name: "Noble Owl", part: "player", here: true, removed: false, threads: [], ...over });
  assert.deepEqual([one({}), one({ here: false }), one({ part: "stage" }), one({ part: "host" }), one({ part: "stage", removed: true })], ["", "away", "a screen, not a person", "host", "sent away"]);
});

test("what a page says of a room", () => {
  assert.equal(place(room({ row: 0 })), "at the start");
  assert.equal(place(room()), "T4");
  assert.deepEqual([here(room()), here(room({ members: 1 }))], ["27 here", "1 here"]);
  assert.equal(votes(question()), "18 of 23 voted");
  assert.equal(votes(question({ counts: [5, 14, 2], right: 1, closed: true })), "18 of 23 voted · 67% right");
  assert.equal(result(question({ counts: [1], options: ["a"], right: 0 })), "The votes: a: 1, right.");
  assert.deepEqual([[], ["a"], ["a", "b"], ["a", "b", "c", "d"]].map((by) => playedBy({ by })), ["nobody yet", "a", "a, b", "a, b and 2 more"]);
});

test("a class goes on to another scenario, and is told nothing else of it", () => {
  const was = after(join(), comes(1, { scene: 0, question: question() }));
  const now = reduce(was, comes(2, { scene: 1, title: "Fenced", at: 0, row: 0, threads: { A: { ...room().threads.B } } }));
  assert.deepEqual(news(was, now), [{ kind: "opened", plays: [], chooses: true }]);
  assert.equal(told(news(was, now)[0], now.room), "The class has gone on to “Fenced”: choose a thread.");
  const given = reduce(was, comes(2, { scene: 1, title: "Fenced", at: 0, row: 0, reserved: true, threads: { A: { ...room().threads.B } } }));
  assert.equal(told(news(was, given)[0], given.room), "The class has gone on to “Fenced”.");
  const kept = reduce(was, comes(2, { scene: 1, title: "Fenced", at: 0, row: 0 }));
  assert.equal(told(news(was, kept)[0], kept.room), "The class has gone on to “Fenced”: you are A there, too.");
  const audience = after(join({ member: "m9" }), comes(1, { scene: 0 }));
  assert.equal(told(news(audience, reduce(audience, comes(2, { scene: 1, title: "" })))[0], { title: "" }), "The class has gone on to “Your scenario”.");
  assert.deepEqual(news(now, reduce(now, comes(3, { scene: 1, at: 1, row: 1 }))).map(({ kind }) => kind), ["given", "stands"]);
});
