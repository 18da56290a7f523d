// What a page of a room knows: who the member is, and the room as the server last
// described it. A frame or an act makes another state of it; nothing here knows a page, a
// server, or time.

/**
 * @typedef {object} Thread a thread in the room
 * @property {string[]} by names of those who play it
 * @property {string[]} members and who they are
 * @property {Record<string, number>} [wishes] of several: how many want what
 * @property {Record<string, string>} [wished] by member
 * @property {number} [wait] seconds until their majority decides, 0 while nothing is decided
 * @property {string} next what it would do
 * @property {string} [why] it cannot now, "" where it can
 * @property {string} [armed] faults that wait for their moment
 * @property {boolean} [watchdog] its watchdog can move
 * @property {boolean} [tied] a table's wishes are: a host decides
 * @property {number} [belief] levels that it believes to hold; -1: there is no lock
 * @property {string} [knows] what it knows, in words
 *
 * @typedef {object} Question
 * @property {number} id
 * @property {string} kind
 * @property {string} text
 * @property {string[]} options
 * @property {number} votes
 * @property {number} of how many can vote
 * @property {number} round
 * @property {boolean} closed
 * @property {number[] | null} counts by option, once it is revealed
 * @property {number | null} right
 * @property {number[] | null} [before] the counts of the first round
 * @property {string} [advice]
 * @property {number} [left] seconds that the host gives it
 * @property {boolean} [veiled] the counts are for hosts alone: others have null
 * @property {boolean} [talk] people talk and vote again first: who is right is not shown yet
 * @property {string} [call] of the kind write: whose script is to be written
 * @property {string} [start] what it begins with
 *
 * @typedef {object} Sheet what an item of the course has beside its question
 * @property {number} question
 * @property {string} html before it
 * @property {string} after once all may know what is right; HTML, too
 *
 * @typedef {object} Person
 * @property {string} member
 * @property {string} name
 * @property {string} part
 * @property {boolean} here
 * @property {boolean} removed
 * @property {string[]} threads
 *
 * @typedef {object} Lesson
 * @property {string} title
 * @property {number} step from 0
 * @property {string[]} steps what each is called
 * @property {string} notes for hosts alone
 * @property {"go" | "return" | "ask" | "reveal" | "again" | "tell" | ""} next
 *
 * @typedef {object} Room
 * @property {string} code
 * @property {string} title
 * @property {number} scene how many scenarios the class has gone through before
 * @property {number} branch
 * @property {number} at moves
 * @property {number} length of the branch
 * @property {number} row the table's, 0 before the first
 * @property {number} moment the command inside of it, 0 outside
 * @property {string} focus
 * @property {string} [says] what happened in the row
 * @property {string} [why]
 * @property {import("./stage.js").Stage} stage who believes what there, and what Redis says
 * @property {string} broken what a person calls the rule that the row breaks, "" for none
 * @property {{branch: number, to: string, thread: string} | null} going a run that goes on by itself
 * @property {number} members
 * @property {{id: number, parent: number, fork: number, length: number}[]} branches
 * @property {Record<string, Thread>} threads
 * @property {Question | null} question
 * @property {boolean} locked
 * @property {boolean} held the host leads: players watch and vote
 * @property {string[]} allowed faults of players
 * @property {boolean} [veiled] the counts of a first vote are for hosts alone until the second
 * @property {boolean} [reserved] only hosts give threads: players claim none
 * @property {Person[]} [people] to hosts
 * @property {number} [lost] to hosts: how many do not follow any more
 * @property {number} [doubts] to hosts: how many find the question wrong
 * @property {number} [scripts] to hosts: how many there are to look at
 * @property {{text: string, met: boolean, moves: number, own: number, par: number, proven: boolean} | null} [goal] what the class is to break
 * @property {Lesson | null} [lesson] to hosts
 * @property {boolean} [lobby] the stages show how one joins
 * @property {boolean} [awaits] the lesson is about to ask something here
 * @property {boolean} [apart] what is asked has nothing to do with the run
 *
 * @typedef {object} Me
 * @property {string} member
 * @property {string} name
 * @property {string} part
 * @property {boolean} [lost] the member has said so
 * @property {number} [doubts] the question that the member finds wrong
 *
 * @typedef {object} Vote
 * @property {number} question
 * @property {number} round
 * @property {number} option
 *
 * @typedef {object} State
 * @property {Me | null} me null until the member has joined
 * @property {Room | null} room null until it came
 * @property {string} epoch
 * @property {number} seq
 * @property {Vote | null} vote the member's last
 * @property {boolean} lost there is no connection
 * @property {{code: number, why: string} | null} gone the member is no longer in the room
 *
 * @typedef {{type: "joined", answer: any}
 *   | {type: "frame", frame: any}
 *   | {type: "named", name: string}
 *   | {type: "strays", lost: boolean}
 *   | {type: "doubts", question: number}
 *   | {type: "voted", vote: Vote | null}
 *   | {type: "line", lost: boolean}
 *   | {type: "gone", code: number, why: string}} Event
 */

/** @returns {State} */
export const initial = () => ({ me: null, room: null, epoch: "", seq: 0, vote: null, lost: false, gone: null });

/**
 * @param {State} state
 * @param {Event} event
 * @returns {State}
 */
export function reduce(state, event) {
  switch (event.type) {
    case "joined":
      return joined(state, event.answer);
    case "frame":
      return framed(state, event.frame);
    case "named":
      return state.me ? { ...state, me: { ...state.me, name: event.name } } : state;
    case "strays":
      return state.me ? { ...state, me: { ...state.me, lost: event.lost } } : state;
    case "doubts":
      return state.me ? { ...state, me: { ...state.me, doubts: event.question } } : state;
    case "voted":
      return { ...state, vote: event.vote };
    case "line":
      return { ...state, lost: event.lost };
    case "gone":
      return { ...state, gone: { code: event.code, why: event.why } };
  }
}

/**
 * @param {State} state
 * @param {any} answer
 * @returns {State}
 */
function joined(state, { member, name, part, mine, lost = false, doubts = 0 }) {
  const vote = typeof mine === "number" ? { question: -1, round: -1, option: mine } : null; // of the question that comes
  return { ...state, me: { member, name, part, lost, doubts }, gone: null, vote };
}

/**
 * The room is absolute: it takes nothing from frames that come late, or from a server
 * that has handed the room over.
 * @param {State} state
 * @param {any} frame
 * @returns {State}
 */
function framed(state, { epoch, seq, room }) {
  if (!room || (epoch === state.epoch && seq < state.seq)) {
    return state;
  }
  const { vote } = state;
  const { question } = room;
  const named = vote?.question === -1 ? (question ? { question: question.id, round: question.round, option: vote.option } : null) : vote;
  return { ...state, epoch, seq, room, vote: named };
}

// ---- what follows from a state

/** The threads that one plays, by name. @param {State} state */
export const mine = ({ me, room }) =>
  me && room ? Object.keys(room.threads).filter((name) => room.threads[name].members.includes(me.member)) : [];

/** What one wishes for at a table, or "". @param {State} state @param {string} thread */
export const myWish = ({ me, room }, thread) => (me && room?.threads[thread]?.wished?.[me.member]) || "";

/** One's vote on the question that is asked now, or null. @param {State} state */
export function myVote({ vote, room }) {
  const question = room?.question;
  return question && vote && vote.question === question.id && vote.round === question.round ? vote.option : null;
}

/** One has said that the question is wrong. @param {State} state */
export const doubts = ({ me, room }) => room?.question != null && me?.doubts === room.question.id;

/** One can vote now. @param {State} state */
export const canVote = ({ room, gone }) => gone === null && room?.question != null && room.question.counts === null && !room.question.closed;

/**
 * @typedef {object} Bar of an option
 * @property {string} option
 * @property {number} count
 * @property {number | null} before of the first round
 * @property {number} share of the longest bar, 0 to 1
 * @property {number} shareBefore
 * @property {boolean} right
 */

/**
 * The votes, once they are revealed. All bars have one measure, also those of the first
 * round.
 * @param {Question} question
 * @returns {Bar[] | null}
 */
export function bars({ options, counts, before, right, talk }) {
  if (!counts) {
    return null;
  }
  const longest = Math.max(1, ...counts, ...(before ?? []));
  return options.map((option, i) => ({
    option,
    count: counts[i] ?? 0,
    before: before ? (before[i] ?? 0) : null,
    share: (counts[i] ?? 0) / longest,
    shareBefore: (before?.[i] ?? 0) / longest,
    right: i === right && !talk,
  }));
}

/** What a projector shows of a question: nothing that is for hosts alone, even in a host's browser.
 *  @param {Question | null} question @returns {Question | null} */
export const projected = (question) => (question?.veiled ? { ...question, counts: null, right: null, before: null, advice: "" } : question);

/** A stage shows how one joins: while nobody is in, and whenever a host wants it.
 *  @param {Room} room */
export const lobby = ({ lobby, members, scene, row }) => Boolean(lobby) || (members === 0 && scene === 0 && row === 0);

/** What may be told of where it was asked: nothing that comes after it, until what is right is known.
 *  @param {Question | null} question */
export const covers = (question) => question !== null && (question.counts === null || question.right === null || Boolean(question.talk));

/** The same of a room, where a question may be about to come.
 *  @param {Room} room */
export const covered = ({ awaits, question }) => Boolean(awaits) || covers(question);

/** A script is to be written now. @param {State} state */
export const writes = (state) => canVote(state) && state.room?.question?.kind === "write";

/** How many of those who voted were right, in per cent, or null where nobody can say.
 *  @param {Question} question */
export function rightShare({ counts, right, talk }) {
  const all = counts?.reduce((sum, n) => sum + n, 0) ?? 0;
  return counts && right !== null && !talk && all > 0 ? Math.round((100 * counts[right]) / all) : null;
}

/**
 * The wishes of a table, and how many of it have each: what most want is first.
 * @param {Thread} thread
 */
export const wishesOf = ({ wishes, members }) =>
  Object.entries(wishes ?? {})
    .filter(([, count]) => count > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([what, count]) => ({ what, count, of: members.length }));

/**
 * @typedef {{kind: "asked" | "again" | "counted" | "revealed" | "closed" | "stands" | "locked" | "unlocked" | "held" | "let go"}
 *   | {kind: "given" | "taken", thread: string}
 *   | {kind: "opened", plays: string[], chooses: boolean}} News
 *   opened: the class has gone on to another scenario; who plays threads of it
 *   has played them before, who chooses has lost his and can take another.
 */

/**
 * The news on the way from one state to the next.
 * @param {State} was
 * @param {State} now
 * @returns {News[]}
 */
export function news(was, now) {
  /** @type {News[]} */
  const all = [];
  const [a, b] = [was.room, now.room];
  if (!b) {
    return all;
  }
  if (a && a.scene !== b.scene) {
    const plays = mine(now);
    all.push({ kind: "opened", plays, chooses: mine(was).length > 0 && plays.length === 0 && !b.held && !b.reserved });
  }
  const [q, r] = [a?.scene === b.scene ? a?.question : null, b.question];
  if (r && r.id !== q?.id && !r.counts) {
    all.push({ kind: "asked" });
  } else if (r && q && r.id === q.id && r.round !== q.round) {
    all.push({ kind: "again" });
  } else if (r?.counts && !(q?.id === r.id && q.counts && (q.right !== null || r.right === null))) {
    all.push({ kind: "revealed" });
  } else if (r?.closed && q?.id === r.id && !q.closed) {
    all.push({ kind: "counted" });
  } else if (q && !r) {
    all.push({ kind: "closed" });
  }
  if (!a || a.scene !== b.scene) {
    return all; // the member has just come
  }
  const [had, has] = [mine(was), mine(now)];
  if (was.me) {
    all.push(...has.filter((t) => !had.includes(t)).map((thread) => ({ kind: /** @type {const} */ ("given"), thread })));
    all.push(...had.filter((t) => !has.includes(t)).map((thread) => ({ kind: /** @type {const} */ ("taken"), thread })));
  }
  if (a.branch !== b.branch || a.at !== b.at || a.row !== b.row || a.moment !== b.moment) {
    all.push({ kind: "stands" });
  }
  if (a.locked !== b.locked) {
    all.push({ kind: b.locked ? "locked" : "unlocked" });
  }
  if (a.held !== b.held) {
    all.push({ kind: b.held ? "held" : "let go" });
  }
  return all;
}
