// What you see of a film: where you are in it, what you point at, and how far the clock
// has gone since. An act or a part of the film makes another state of it; nothing here
// knows a page, a server, or time.
import * as ways from "./cursor.js";
import { stopsOf } from "./film.js";
import { broken, matters } from "./marks.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./cursor.js").Cursor} Cursor
 * @typedef {"end" | "mark" | "violation"} Aim the things that a run can go on to
 * @typedef {"first" | "back" | "forward" | "end" | "next" | "violation" | "play" | "inside" | "into" | "out"} Act
 * @typedef {boolean | "box"} Follow "box": in the table's box, and the page stays
 *
 * @typedef {object} Awaited what to do where you are once its row is here
 * @property {number} at the stop
 * @property {boolean} enters go to its first command
 * @property {string | null} note with which to say it; null if there is nothing to say
 * @property {Follow} follow
 *
 * @typedef {object} State
 * @property {Film} film
 * @property {boolean} grows the page can make positions after the last
 * @property {Cursor} cursor
 * @property {{follow: Follow} | null} moved how you came there: a new object each time
 * @property {number} pointed row that you point at, 0 for none
 * @property {number} part of the way to the next row that the clock has gone
 * @property {number} passed ms since the row, as far as the clock shows
 * @property {number} started the stop at which it began to play
 * @property {boolean} running to what is wanted, which has not come yet
 * @property {{to: Aim | "", from: number} | null} wanted what the page is to make after a stop, "" for one position: another one each time
 * @property {{note: string} | null} said what is to be read out, after a note: another one each time
 * @property {Awaited | null} awaited
 *
 * @typedef {{type: "film", film: Film, grows: boolean, cursor: Cursor}
 *   | {type: "shown", follow: Follow}
 *   | {type: "came", inSight: boolean}
 *   | {type: "act", name: Act}
 *   | {type: "stop", stop: number, follow?: Follow}
 *   | {type: "row", row: number, moment?: number}
 *   | {type: "arrived", position: number, from: number}
 *   | {type: "ran", to: Aim, from: number}
 *   | {type: "clock", row: number}
 *   | {type: "flowed", part: number, passed: number}
 *   | {type: "pointed", row: number}
 *   | {type: "said", note: string}} Event
 *   film: what the page shows now, and where. shown: that is drawn. came: rows are
 *   here that were not, or could not come; one still sees the row where you are,
 *   or has scrolled away. stop and row: one has gone there. arrived: a position
 *   was made after a stop. ran: what was wanted was made. clock and flowed: it was
 *   moved to a row, and on from it. said: what is there is to be read out.
 *
 * @typedef {{kind: "show", follow: Follow} | {kind: "say", note: string} | {kind: "make", to: Aim | "", from: number}} Intent
 */

/** @type {State} */
export const INITIAL = Object.freeze({
  film: { threads: [], lease: 0, rows: [], positions: [{ row: 0, at: "" }] },
  grows: false,
  cursor: ways.START,
  moved: null,
  pointed: 0,
  part: 0,
  passed: 0,
  started: 0,
  running: false,
  wanted: null,
  said: null,
  awaited: null,
});

/** The stops to which one can run, and what to say where there is none.
 *  @type {Record<Aim, {is: (state: State, stop: number) => boolean, none: () => string}>} */
const AIMS = {
  end: { is: (state, stop) => stop === ways.endOf(state.film) && over(state), none: () => say("This is the end.") },
  mark: { is: ({ film }, stop) => matters(film, stop), none: () => say("Nothing that matters happens from here to the end.") },
  violation: { is: ({ film }, stop) => broken(film, stop), none: () => say("No rule is broken from here to the end.") },
};

/** @type {Record<Act, (state: State) => State>} */
const ACTS = {
  first: (state) => spoken(to(state, 0)),
  back: (state) => spoken(stood({ ...state, running: false }, ways.back(state.film, state.cursor))),
  forward,
  end: (state) => runTo(state, "end"),
  next: (state) => runTo(state, "mark"),
  violation,
  play,
  inside: (state) => (state.cursor.inside ? out(state) : into(state)),
  into,
  out,
};

/**
 * @param {State} state
 * @param {Event} event
 * @returns {State}
 */
export function reduce(state, event) {
  switch (event.type) {
    case "film":
      return { ...state, film: event.film, grows: event.grows, cursor: ways.within(event.film, event.cursor) };
    case "shown":
      return { ...state, awaited: awaiting(state, event.follow) };
    case "came":
      return came(state, event.inSight);
    case "act":
      return ACTS[event.name](state);
    case "stop":
      return to(state, event.stop, event.follow);
    case "row":
      return toRow(state, event.row, event.moment);
    case "arrived":
      return arrived(state, event.position, event.from);
    case "ran":
      return ran(state, event.to, event.from);
    case "clock":
      return clocked(state, event.row);
    case "flowed":
      return { ...state, part: event.part, passed: event.passed };
    case "pointed":
      return { ...state, pointed: event.row };
    case "said":
      return spoken(state, event.note);
  }
}

/**
 * The things to do on the way from one state to the next.
 * @param {State} was
 * @param {State} now
 * @returns {Intent[]}
 */
export function intents(was, now) {
  /** @type {Intent[]} */
  const all = [];
  if (now.moved && now.moved !== was.moved) {
    all.push({ kind: "show", ...now.moved });
  }
  if (now.said && now.said !== was.said) {
    all.push({ kind: "say", ...now.said });
  }
  if (now.wanted && now.wanted !== was.wanted) {
    all.push({ kind: "make", ...now.wanted });
  }
  return all;
}

// ---- standing

/** @param {State} state @param {Cursor} cursor @param {Follow} [follow] @returns {State} */
function stood(state, cursor, follow = true) {
  const now = { ...state, cursor, moved: { follow }, part: 0, passed: 0 };
  return { ...now, awaited: awaiting(now, follow) };
}

/** @param {State} state @param {number} stop @param {Follow} [follow] */
const to = (state, stop, follow) => stood({ ...state, running: false }, ways.toStop(state.film, state.cursor, stop), follow);

/** At a row, or at a command of it. @param {State} state @param {number} row @param {number} [moment] */
function toRow(state, row, moment = 0) {
  const now = stood({ ...state, running: false }, ways.toRow(state.film, state.cursor, row));
  const inside = moment > 0 && rowOf(now)?.step === row;
  return spoken(inside ? stood(now, { ...now.cursor, moment, inside: true }) : now);
}

/** What is awaited where you are. @param {State} state @param {Follow} follow */
function awaiting(state, follow) {
  const at = state.cursor.stop;
  if (!absent(state)) {
    return null;
  }
  return state.awaited?.at === at ? state.awaited : { at, enters: false, note: null, follow };
}

/** Says where you are, now, and again once its row is here.
 *  @param {State} state @param {string} [note] @returns {State} */
function spoken(state, note = "") {
  const awaited = absent(state) ? { at: state.cursor.stop, enters: state.awaited?.enters ?? false, note, follow: true } : state.awaited;
  return { ...state, said: { note }, awaited };
}

/** Who has scrolled away from where you are is not taken back.
 *  @param {State} state @param {boolean} inSight @returns {State} */
function came(state, inSight) {
  const { film, cursor, awaited } = state;
  if (!awaited) {
    return state;
  }
  const now = absent(state) ? state : stood(state, awaited.enters ? ways.entered(film, cursor) : cursor, inSight && awaited.follow);
  return awaited.note === null ? now : spoken(now, awaited.note);
}

// ---- going about

/** One step on. @param {State} state @param {Cursor} cursor */
function entering(state, cursor) {
  const now = stood({ ...state, running: false }, cursor);
  return cursor.inside && now.awaited ? { ...now, awaited: { ...now.awaited, enters: true } } : now;
}

/** @param {State} state @returns {State} */
function forward(state) {
  const next = ways.forward(state.film, state.cursor);
  if (next) {
    return spoken(entering(state, next));
  }
  return over(state) ? state : { ...state, wanted: { to: "", from: state.cursor.stop } };
}

/** Stands where the move to a position begins to show, that was made just now.
 *  @param {State} state @param {number} position @param {number} from the stop before @returns {State} */
function arrived(state, position, from) {
  const at = ways.stopOf(state.film, position, true);
  if (at === from && !over(state)) {
    return { ...state, wanted: { to: "", from } }; // nothing of it shows
  }
  return entering(state, ways.entered(state.film, ways.toStop(state.film, state.cursor, at)));
}

/** @param {State} state @param {Aim} aim @param {number} from */
const found = (state, aim, from) => stopsOf(state.film).findIndex((_, i) => i > from && AIMS[aim].is(state, i));

/** @param {State} state @param {Aim} aim @returns {State} */
function runTo(state, aim) {
  const next = found(state, aim, state.cursor.stop);
  if (next >= 0) {
    return spoken(to(state, next));
  }
  if (over(state)) {
    return spoken(to(state, ways.endOf(state.film)), AIMS[aim].none());
  }
  return { ...state, running: true, wanted: { to: aim, from: ways.endOf(state.film) } };
}

/** @param {State} state @param {Aim} aim @param {number} from */
function ran(state, aim, from) {
  const there = found(state, aim, from);
  return there >= 0 ? spoken(to(state, there)) : spoken(to(state, ways.endOf(state.film)), AIMS[aim].none());
}

/** To the first broken rule, or from there to the next. @param {State} state */
function violation(state) {
  const first = stopsOf(state.film).findIndex((_, i) => broken(state.film, i));
  return first >= 0 && first !== state.cursor.stop ? spoken(to(state, first)) : runTo(state, "violation");
}

/** It plays from here, or at the end from the start. @param {State} state */
function play(state) {
  const now = over(state) && state.cursor.stop === ways.endOf(state.film) ? to(state, 0) : state;
  return { ...now, started: now.cursor.stop };
}

/** @param {State} state */
function into(state) {
  if (state.cursor.moment > 0) {
    return out(state);
  }
  const now = stood(state, ways.into(state.film, state.cursor));
  return spoken(now, now.cursor.moment > 0 ? "" : say("From here, steps go through each command."));
}

/** @param {State} state */
function out(state) {
  return spoken(stood(state, ways.out(state.cursor)));
}

/** The clock is at a row, or between it and the next. @param {State} state @param {number} row */
function clocked(state, row) {
  const cursor = ways.toRow(state.film, state.cursor, row);
  const now = { ...state, running: false };
  return cursor.stop !== state.cursor.stop || state.cursor.moment > 0 ? stood(now, cursor) : now;
}

// ---- what follows from a state

/** @param {State} state */
export const stopOf = ({ film, cursor }) => stopsOf(film)[cursor.stop];

/** The current row, or undefined. @param {State} state */
export const rowOf = (state) => state.film.rows[stopOf(state).row - 1];

/** It has not come yet. @param {State} state */
export const absent = (state) => stopOf(state).row > 0 && !rowOf(state);

/** Nothing comes after the last position. @param {State} state */
const over = ({ film, grows }) => Boolean(film.positions[film.positions.length - 1].over ?? !grows);

/** @param {State} state */
export const atEnd = (state) => over(state) && state.cursor.stop === ways.endOf(state.film) && state.cursor.moment === 0;

/** A rule is broken where one stands, and that may do harm. @param {State} state */
export const atBroken = (state) => state.cursor.moment === 0 && broken(state.film, state.cursor.stop) && !state.film.rows[stopOf(state).row - 1]?.calm;

/** The row that is pointed at elsewhere, or 0. @param {State} state */
export const previewed = (state) => (state.pointed !== stopOf(state).row && state.pointed <= state.film.rows.length ? state.pointed : 0);

/**
 * What comes next while it plays: the next row is ready, or coming; it stops where a
 * rule is broken, unless it plays through, and at the end.
 * @param {State} state
 * @param {boolean} through
 * @returns {"ready" | "coming" | "broken" | "end"}
 */
export function upNext(state, through) {
  const { film, cursor, started } = state;
  if (atEnd(state)) {
    return "end";
  }
  if (!through && cursor.stop !== started && atBroken(state)) {
    return "broken";
  }
  const next = stopsOf(film)[cursor.stop + 1]?.row ?? 0;
  return absent(state) || (next > stopOf(state).row && !film.rows[next - 1]) ? "coming" : "ready";
}
