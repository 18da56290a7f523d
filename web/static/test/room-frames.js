// Frames of a room, as its socket sends them.

/** A room with two threads, A played by m5 and m6. */
export const room = (over = {}) => ({
  code: "K7M4XW", title: "The lease ends before the work", branch: 0, at: 3, length: 5, row: 4, moment: 0, focus: "", members: 27,
  branches: [{ id: 0, parent: -1, fork: 0, length: 5 }],
  threads: {
    A: { by: ["Quiet Otter", "Red Panda"], members: ["m5", "m6"], wishes: {}, wait: 0, next: "HEXISTS … in unlock, level 1", why: "works until 300 ms" },
    B: { by: [], members: [], wishes: {}, wait: 0, next: "EXISTS … in lock, level 1", why: "" },
  },
  going: null, question: null, locked: false, held: false, allowed: [],
  ...over,
});

export const question = (over = {}) => ({
  id: 1, kind: "predict", text: "What do we see at 210 ms?", options: ["refused", "B in, A goes on", "B in, A stopped"],
  votes: 18, of: 23, round: 1, closed: false, counts: null, right: null, before: null, advice: "", ...over,
});

export const frame = (seq, over = {}, epoch = "e1") => ({ v: 1, epoch, seq, room: room(over) });

/** The answer to a join. */
export const joined = (over = {}) => ({ v: 1, re: 1, done: true, member: "m5", token: "t", name: "Quiet Otter", part: "player", last: 1, ...over });
