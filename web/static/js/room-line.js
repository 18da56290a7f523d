// The line to a room. It comes back by itself as the member that one was, and
// sends again what was not answered: the room takes each command once, by its id.
import { connect } from "./connection.js";
import { keep } from "./room-links.js";
import { Refused } from "./rpc.js";

const JOIN = 1; // its id; those of commands come after it
const SILENCE = 10_000; // ms without a word while one is awaited: the connection is dead
const QUIET = 15_000; // ms without a word until the server is asked whether it is there
const LONGEST_PAUSE = 1500; // ms: a class waits for a server that restarts
const TRIES = 3; // attempts that fail until one asks whether the room is still there

/** Codes with which a room ends a line for good. */
export const REMOVED = 4041;
export const ENDED = 4042;
export const ELSEWHERE = 4043;
export const NO_ROOM = 404;
const SLOW = 4008; // we could not keep up: come back at once

/**
 * @typedef {object} Membership who one is in a room
 * @property {string} member
 * @property {string} token
 *
 * @typedef {object} On
 * @property {() => string} path where to connect
 * @property {string} part as which one joins
 * @property {() => boolean} rows whether the film is wanted
 * @property {{read: () => Membership | null, write: (who: Membership | null) => void}} keeper
 * @property {() => void} joining all that there is comes anew
 * @property {(answer: any) => void} joined
 * @property {(frame: any) => void} frame
 * @property {(lost: boolean, why?: string) => void} changed as connection.js has it
 * @property {(code: number, why: string) => void} gone for good: a code from above, or 0 with the reason why one was not let in
 */

/**
 * @param {On} on
 * @param {{dial?: typeof connect, silence?: number, quiet?: number, there?: () => Promise<boolean>}} [with_] other parts, in tests
 */
export function roomLine(on, { dial = connect, silence = SILENCE, quiet = QUIET, there = async () => true } = {}) {
  /** @type {Map<number, {command: object, resolve: (answer: any) => void, reject: (why: Error) => void, again?: ReturnType<typeof setTimeout>}>} */
  const under = new Map();
  let last = JOIN; // id
  let joined = false;
  let over = false;
  let failed = 0; // attempts without a word
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let listening;

  /** A line that is dead says nothing, as one on which nothing happens. */
  function listen() {
    clearTimeout(listening);
    if (over) {
      return;
    }
    listening = joined && under.size === 0
      ? setTimeout(() => ask({ do: "ping" }).catch(() => {}), quiet) // whatever comes, the server is there
      : setTimeout(() => line.renew(), silence);
  }

  function join() {
    joined = false;
    on.joining();
    line.send({ id: JOIN, do: "join", part: on.part, rows: on.rows(), ...on.keeper.read() });
  }

  /** @param {any} answer */
  function arrived(answer) {
    if (answer.removed) {
      return; // the room says so with its code; who is let in again is the same member
    }
    if (answer.refused) {
      if (on.keeper.read()) {
        on.keeper.write(null); // the room does not know this member: come as a new one
        line.drop();
      } else {
        leave(0, answer.refused);
      }
      return;
    }
    joined = true;
    on.keeper.write({ member: answer.member, token: answer.token });
    last = Math.max(last, answer.last ?? 0);
    on.joined(answer);
    for (const id of under.keys()) {
      give(id);
    }
  }

  /** Sends a command, and again where others are answered and it is not: a Redis
   *  that another took the place of may have lost it. @param {number} id */
  function give(id) {
    const call = under.get(id);
    if (call && joined && !over) {
      line.send({ id, ...call.command });
      clearTimeout(call.again);
      call.again = setTimeout(give, silence, id);
    }
  }

  /** @param {number} code @param {string} why */
  function leave(code, why) {
    over = true;
    clearTimeout(listening);
    line.drop();
    on.gone(code, why);
  }

  const line = dial({
    path: on.path,
    longest: LONGEST_PAUSE,
    opened: () => (over ? line.drop() : join()),
    received(frame) {
      failed = 0;
      if (frame.branches) {
        keep(frame.branches);
      } else if (!joined && frame.re === JOIN && (frame.done || frame.refused)) {
        arrived(frame);
      } else {
        on.frame(frame);
        const call = under.get(frame.re);
        if (call && (frame.done || frame.refused)) {
          under.delete(frame.re);
          clearTimeout(call.again);
          if (frame.refused) {
            call.reject(new Refused(frame.refused));
          } else {
            call.resolve(frame);
          }
        }
      }
      listen();
    },
    closed({ code }) {
      if (over) {
        return false;
      }
      if ([REMOVED, ENDED, ELSEWHERE].includes(code)) {
        over = true;
        clearTimeout(listening);
        on.gone(code, "");
        return false;
      }
      if (++failed % TRIES === 0) {
        there().then((is) => {
          if (!is && !over) {
            leave(NO_ROOM, "");
          }
        }, () => {});
      }
      return code === SLOW ? 0 : true;
    },
    broken(why) {
      over = true;
      clearTimeout(listening);
      on.gone(0, why);
    },
    changed(lost, why) {
      joined &&= !lost;
      listen();
      on.changed(lost, why);
    },
  });

  /**
   * Asks for something. Without a connection it waits for one.
   * @param {object} command
   * @returns {Promise<any>} the answer; rejected with Refused
   */
  const ask = (command) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      under.set(id, { command, resolve, reject });
      if (joined) {
        give(id);
        listen();
      }
    });

  listen();
  return {
    ask,
    /** Joins once more, as somebody who wants other frames. */
    anew: () => line.renew(),
    /** One looks at the page again. */
    hurry: () => line.hurry(silence),
    /** Stays away. */
    leave() {
      over = true;
      clearTimeout(listening);
      line.drop();
    },
  };
}

/**
 * Keeps a membership while a tab is open.
 * @param {string} name
 */
export const keeper = (name) => ({
  /** @returns {Membership | null} */
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(name) ?? "null");
    } catch {
      return null;
    }
  },
  /** @param {Membership | null} who */
  write(who) {
    try {
      if (who) {
        sessionStorage.setItem(name, JSON.stringify(who));
      } else {
        sessionStorage.removeItem(name);
      }
    } catch {
      // No storage: one is somebody else after a reload.
    }
  },
});

/** Whether there is a room. @param {string} code */
export async function isThere(code) {
  const answer = await fetch(`/room/${code}`, { method: "HEAD" });
  return answer.status !== 404;
}

/** Has a line come back as soon as its page is looked at, or the network is there.
 *  @param {{hurry: () => void}} line */
export function wakeful(line) {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      line.hurry();
    }
  });
  document.addEventListener("resume", () => line.hurry());
  addEventListener("online", () => line.hurry());
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      line.hurry();
    }
  });
}
