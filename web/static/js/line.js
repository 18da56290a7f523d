// The line to a server: a command is a promise of its answer, whatever comes of
// it before. It comes back by itself. A board that one steps alone is gone with
// its line, and so is what was under way. Into a room one joins, comes back as the
// member that one was, and gives again what was not answered: a room takes each
// command once, by its id.
import { connect } from "./connection.js";

const ALONE = 120_000; // ms without a word while one is awaited: the connection is dead
const COMING = 10_000; // and where one comes into a room, in which others do, too
const TOGETHER = 3000; // and in it
const QUIET = 2000; // ms without a word until a room's server is asked whether it is there
const LONGEST_PAUSE = 1500; // ms: a class waits for a server that restarts
const TRIES = 3; // failed attempts until it asks whether the room is still there
const JOIN = 1; // its id; those of commands come after it

/** Codes with which a room ends a line for good. */
export const REMOVED = 4041;
export const ENDED = 4042;
export const NO_ROOM = 404;
const ELSEWHERE = 4043;
const SLOW = 4008; // we could not keep up: come back at once

/** The server does not do it; the message is a sentence for people. */
export class Refused extends Error {}

/** The connection is lost: what came of the command is not known. */
export class Lost extends Error {}

/**
 * @typedef {object} Membership who one is in a room
 * @property {string} member
 * @property {string} token
 *
 * @typedef {object} Join how one comes into a room
 * @property {() => object} as the keys of the command
 * @property {{read: () => Membership | null, write: (who: Membership | null) => void}} keeper
 * @property {() => Promise<boolean>} there whether there still is a room
 * @property {(answer: any) => void} joined
 *
 * @typedef {object} On
 * @property {() => string} path where to connect
 * @property {() => void} opened one can ask, or joins: all that there is comes again
 * @property {Join} [join] without it one asks at once
 * @property {(id: number, command: any) => void} [sent]
 * @property {(frame: any) => void} frame called for each, before the promise of its command ends
 * @property {(lost: boolean, why?: string) => void} changed as connection.js has it
 * @property {(code: number, why: string) => void} gone for good: a code from above, or 0 with the reason
 */

/**
 * @param {On} on
 * @param {{dial?: typeof connect, silence?: number, coming?: number, quiet?: number}} [with_] other parts, in tests
 */
export function line(on, { dial = connect, silence = on.join ? TOGETHER : ALONE, coming = COMING, quiet = QUIET } = {}) {
  const { join } = on;
  /** @type {Map<number, {command: object, resolve: (answer: any) => void, reject: (why: Error) => void, again?: ReturnType<typeof setTimeout>}>} */
  const under = new Map();
  let last = join ? JOIN : 0; // id
  let inside = false; // one can ask
  let over = false;
  let rejoins = false; // we close the connection ourselves, to make another
  let failed = 0; // attempts without a word
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let listening;

  /** A line that is dead says nothing, as one on which nothing happens. */
  function listen() {
    clearTimeout(listening);
    if (over) {
      return;
    }
    if (under.size > 0 || (join && !inside)) {
      listening = setTimeout(() => connection.renew(), join && !inside ? coming : silence);
    } else if (join) {
      listening = setTimeout(() => ask({ do: "ping" }).catch(() => {}), quiet); // whatever comes, the server is there
    }
  }

  function opened() {
    inside = !join;
    on.opened();
    if (join) {
      connection.send({ id: JOIN, do: "join", ...join.as(), ...join.keeper.read() });
    }
  }

  /** @param {Join} join @param {any} answer */
  function joined(join, answer) {
    if (answer.removed) {
      return; // the room says so with its code; who is let in again is the same member
    }
    if (answer.refused) {
      if (join.keeper.read()) {
        join.keeper.write(null); // the room does not know this member: come as a new one
        connection.drop();
      } else {
        leave(0, answer.refused);
      }
      return;
    }
    inside = true;
    join.keeper.write({ member: answer.member, token: answer.token });
    last = Math.max(last, answer.last ?? 0);
    join.joined(answer);
    for (const id of under.keys()) {
      give(id);
    }
  }

  /** Gives a command to a room, and again where others are answered and it is
   *  not: a Redis that another took the place of may have lost it.
   *  @param {number} id */
  function give(id) {
    const call = under.get(id);
    if (call && inside && !over) {
      connection.send({ id, ...call.command });
      clearTimeout(call.again);
      call.again = setTimeout(give, silence, id);
    }
  }

  /** @param {number} id @param {Error | null} why it fails @param {any} [answer] */
  function end(id, why, answer) {
    const call = under.get(id);
    under.delete(id);
    clearTimeout(call?.again);
    if (why) {
      call?.reject(why);
    } else {
      call?.resolve(answer);
    }
  }

  /** The connection is lost, and what is under way with it, but in a room. */
  function lose() {
    inside = false;
    if (!join) {
      [...under.keys()].forEach((id) => end(id, new Lost()));
    }
    listen();
  }

  /** It is over. @param {number} code @param {string} why */
  function leave(code, why) {
    over = true;
    clearTimeout(listening);
    connection.drop();
    on.gone(code, why);
  }

  /** @param {any} frame */
  function heard(frame) {
    on.frame(frame);
    if (frame.refused) {
      // One that nobody asked for is about something that was not understood.
      for (const id of under.has(frame.re) || join ? [frame.re] : [...under.keys()]) {
        end(id, new Refused(frame.refused));
      }
    } else if (frame.done) {
      end(frame.re, null, frame);
    }
  }

  const connection = dial({
    path: on.path,
    longest: join && LONGEST_PAUSE,
    opened: () => (over ? connection.drop() : opened()),
    received(frame) {
      failed = 0;
      if (join && !inside && frame.re === JOIN && (frame.done || frame.refused)) {
        joined(join, frame);
      } else {
        heard(frame);
      }
      listen();
    },
    closed({ code }) {
      if (over) {
        return false;
      }
      if ([REMOVED, ENDED, ELSEWHERE].includes(code)) {
        leave(code, "");
        return false;
      }
      if (join && ++failed % TRIES === 0) {
        join.there().then((is) => {
          if (!is && !over) {
            leave(NO_ROOM, "");
          }
        }, () => {});
      }
      return code === SLOW ? 0 : true;
    },
    broken(why) {
      lose();
      leave(0, why);
    },
    changed(lost, why) {
      if (!rejoins) {
        on.changed(lost, why);
      }
      if (lost) {
        lose();
      } else {
        listen();
      }
    },
  });

  /**
   * Asks for something. In a room it waits for a connection where there is none.
   * @param {object} command
   * @returns {Promise<any>} the answer; rejected with Refused, or alone with Lost
   */
  const ask = (command) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      if (!join && !(inside && connection.send({ id, ...command }))) {
        reject(new Lost());
        return;
      }
      under.set(id, { command, resolve, reject });
      on.sent?.(id, command);
      if (join) {
        give(id);
      }
      if (inside) {
        listen();
      }
    });

  listen();
  return {
    ask,
    /** Joins once more, as somebody who wants other frames: that is no loss. */
    again() {
      rejoins = true;
      connection.renew();
      rejoins = false;
    },
    /** One looks at the page again. */
    hurry: () => connection.hurry(silence),
    /** Stays away. */
    leave() {
      over = true;
      clearTimeout(listening);
      connection.drop();
    },
  };
}
