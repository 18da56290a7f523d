// What a room's pages say about it.
import { bars, covered, rightShare, wishesOf } from "./room-state.js";
import { say } from "./words.js";

/**
 * @typedef {import("./room-state.js").News} News
 * @typedef {import("./room-state.js").Question} Question
 * @typedef {import("./room-state.js").Room} Room
 * @typedef {import("./room-state.js").Thread} Thread
 */

const NAMED = 2; // of a table; the others are counted

/** Where a class stands: "T6". @param {Room} room */
export const place = ({ row, moment }) => (row === 0 ? say("at the start") : moment > 0 ? `T${row}.${moment}` : `T${row}`);

/** @param {Room} room */
export const classAt = (room) => (room.row === 0 ? say("The class is at the start.") : say("The class is at %s.", place(room)));

/** Why the row came about where the class stands, unless that would tell what is asked. @param {Room} room */
export const whyThere = (room) => (covered(room) ? "" : (room.why ?? ""));

/** Where the class stands, for who does not see it. @param {Room} room */
export const standing = (room) => [classAt(room), room.says, whyThere(room)].filter(Boolean).join(" ");

/** What the class is to break, and how far it is, or "". @param {Room} room */
export function goal({ goal: is }) {
  if (!is) {
    return "";
  }
  const { text, met, moves, own, par, proven } = is;
  const done = met ? say("Done in %d moves, %d of them delays and faults.", moves, own) : say("%d moves, %d of them delays and faults.", moves, own);
  const least = proven ? say("It cannot be done with fewer than %d: every order was searched.", par) : say("%d are enough.", par);
  return [text, done, least].join(" ");
}

/** @param {{title: string}} room */
export const titleOf = ({ title }) => title || say("Your scenario");

/** How many are here, and what counts for all of them. @param {Room} room */
export const here = ({ members, locked, held }) =>
  [members === 1 ? say("1 here") : say("%d here", members), locked ? say("locked") : "", held ? say("the host leads") : ""].filter(Boolean).join(" · ");

/** Why players keep their hands off, or "". @param {Room} room */
export const heldBack = ({ held }) => (held ? say("The host is leading now: watch, and vote when you are asked.") : "");

/** Why players take no thread, or "". @param {Room} room */
export const keptSeats = (room) => heldBack(room) || (room.reserved ? say("The host gives the threads here: wait for yours.") : "");

/** @param {{by: string[]}} thread */
export function playedBy({ by }) {
  if (by.length === 0) {
    return say("nobody yet");
  }
  const names = by.slice(0, NAMED).join(say(", "));
  return by.length > NAMED ? say("%s and %d more", names, by.length - NAMED) : names;
}

/** What its players are about to do, or what keeps it, or what it would do.
 *  @param {Thread} thread @param {number} left seconds until a table's majority decides */
export function doing(thread, left) {
  return wished(thread, left) || thread.why || thread.next;
}

/** What a table wants, each wish with how many have it, or "".
 *  @param {Thread} thread @param {number} left seconds */
export function wished(thread, left) {
  const wishes = wishesOf(thread);
  if (wishes.length === 0 || thread.members.length < 2) {
    return "";
  }
  const text = wishes.map(({ what, count, of }) => (what === "step" ? say("%d of %d want to step", count, of) : say("%d of %d want: %s", count, of, faultName(what)))).join(say("; "));
  if (thread.tied) {
    return `${text} · ${say("a tie: the host decides")}`;
  }
  return left > 0 ? `${text} · ${say("%d s", left)}` : text;
}

/** @param {string} fault */
export function faultName(fault) {
  switch (fault) {
    case "pause": return say("to be slow");
    case "crash": return say("a crash");
    case "lose-reply": return say("a lost reply");
    case "watchdog": return say("the watchdog to step");
    default: return fault;
  }
}

/** How many have voted; once it is revealed, how many were right.
 *  @param {Question} question */
export function votes(question) {
  const voted = question.kind === "write" ? say("%d of %d have handed in", question.votes, question.of) : say("%d of %d voted", question.votes, question.of);
  const share = rightShare(question);
  return share === null ? voted : `${voted} · ${say("%s right", (share / 100).toLocaleString(globalThis.document?.documentElement.lang || "en", { style: "percent" }))}`;
}

/** What came of a vote, to be read out. @param {Question} question */
export function result(question) {
  const list = (bars(question) ?? []).map((bar) => (bar.right ? say("%s: %d, right", bar.option, bar.count) : say("%s: %d", bar.option, bar.count)));
  return [say("The votes: %s.", list.join(say("; "))), question.advice ?? ""].filter(Boolean).join(" ");
}

/** What a thread believes, in its own words. @param {number} levels */
export const belief = (levels) =>
  levels < 0 ? say("There is no lock: nothing keeps a thread out.") : levels === 0 ? say("I do not hold the lock.") : levels === 1 ? say("I hold the lock, once.") : say("I hold the lock, %d times.", levels);

/** What is read out. @param {News} news @param {Room} room */
export function told(news, room) {
  const { question } = room;
  switch (news.kind) {
    case "asked": return question ? say("A question: %s", question.text) : "";
    case "again": return say("Vote again.");
    case "counted": return say("The votes are counted.");
    case "revealed": return question ? result(question) : "";
    case "closed": return say("The question is closed.");
    case "stands": return classAt(room);
    case "opened": return wentOn(news, titleOf(room));
    case "locked": return say("The room is locked.");
    case "unlocked": return say("The room is open.");
    case "held": return heldBack(room);
    case "let go": return say("You play: the threads are yours again.");
    case "given": return say("You play %s now.", news.thread);
    case "taken": return say("You no longer play %s.", news.thread);
  }
}

/** @param {{plays: string[], chooses: boolean}} news @param {string} title */
function wentOn({ plays, chooses }, title) {
  if (plays.length > 0) {
    return say("The class has gone on to “%s”: you are %s there, too.", title, plays.join(say(", ")));
  }
  return chooses ? say("The class has gone on to “%s”: choose a thread.", title) : say("The class has gone on to “%s”.", title);
}

/** Why one is in the room no more. @param {number} code @param {string} why */
export function goodbye(code, why) {
  switch (code) {
    case 4041: return say("A host has sent you away. If that was a mistake, ask, and try again.");
    case 4042: return say("The room has ended. Thank you for being here.");
    case 4043: return say("This room is open in another of your tabs: it goes on there.");
    case 404: return say("This room no longer exists.");
    default: return why;
  }
}
