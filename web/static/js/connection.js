// A websocket that comes back by itself.
import { unpacker } from "./unpack.js";

const FIRST_PAUSE = 250; // ms before the first new attempt
const LONGEST_PAUSE = 10000;

const FULL = 4029; // the server has no room: what it says first is why
const BROKEN = 4011; // a mistake of the program's has ended it: what it says first is how
const GONE = 4012; // the server that had it has ended: what it says first is that
const FULL_PAUSE = 5000;
const LONGEST_FULL_PAUSE = 60000;
const CLICK_PAUSE = 1000; // between two attempts that are asked for

const COLUMNS = 4; // of a packed record

/**
 * @typedef {object} Handlers
 * @property {() => string} path where to connect, asked at each attempt
 * @property {() => void} [opened]
 * @property {(frame: any) => void} received
 * @property {number} [longest] ms between two attempts at most, unless there is no room
 * @property {(texts: string[]) => any} [unpacked] makes a frame of a packed record
 * @property {(event: CloseEvent) => boolean | number} [closed] false: stay away; 0: at once; true: after a pause
 * @property {(why: string) => void} broken it has ended before its time, in the server's sentence: no attempt follows
 * @property {(lost: boolean, why?: string) => void} changed the connection was lost, or is there again; why: the server's sentence where it has no room
 */

/**
 * Connects, and connects again, until told to stay away.
 * @param {Handlers} handlers
 */
export function connect(handlers) {
  /** @type {WebSocket} */
  let socket;
  let pause = FIRST_PAUSE;
  let full = ""; // why there is no room
  let broken = ""; // why it has ended
  let next = 0; // the timer of the next attempt, 0 without one
  let asked = 0; // when the last attempt was
  let heard = 0; // when something came last

  // With a click, somebody who waits for room asks at once.
  document.addEventListener("click", () => {
    if (full && next && performance.now() - asked > CLICK_PAUSE) {
      clearTimeout(next);
      attempt();
    }
  });

  function attempt() {
    next = 0;
    asked = performance.now();
    const url = new URL(handlers.path(), location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    /** @type {ReturnType<typeof unpacker> | undefined} */
    let packed;
    socket.onopen = () => {
      heard = performance.now();
      if (!full) {
        handlers.changed(false);
      }
      handlers.opened?.();
    };
    socket.onmessage = ({ data }) => {
      heard = performance.now();
      if (typeof data === "string") {
        arrived(JSON.parse(data));
        return;
      }
      packed ??= unpacker(COLUMNS, (texts) => arrived(handlers.unpacked?.(texts)));
      packed.add(data);
    };
    const arrived = (/** @type {any} */ frame) => {
      if (frame.v !== 1) {
        location.reload(); // the server is newer than this page
        return;
      }
      if (frame.full) {
        full = frame.refused; // the close comes right after
        return;
      }
      if (frame.broken || frame.gone) {
        broken = frame.refused;
        return;
      }
      pause = FIRST_PAUSE;
      if (full) {
        full = "";
        handlers.changed(false);
      }
      handlers.received(frame);
    };
    socket.onclose = async (event) => {
      await packed?.end(); // what has come is taken before what comes next is asked for
      if (event.code === BROKEN || event.code === GONE) {
        handlers.broken(broken);
        return;
      }
      const again = handlers.closed?.(event) ?? true;
      if (again === false) {
        handlers.changed(false);
        return;
      }
      if (event.code === FULL) {
        pause = Math.max(pause, FULL_PAUSE);
      } else {
        full = "";
      }
      handlers.changed(true, full);
      // Somewhat sooner or later at random, so that not all ask at once.
      next = window.setTimeout(attempt, again === 0 ? 0 : pause * (0.5 + Math.random() * (full ? 0.5 : 1)));
      pause = Math.min(pause * 2, full ? LONGEST_FULL_PAUSE : (handlers.longest ?? LONGEST_PAUSE));
    };
  }

  /** Makes another connection in place of the one that there is, or is made. */
  function renew() {
    socket.onopen = socket.onmessage = socket.onclose = null; // a dead one says much later that it is closed
    socket.close();
    handlers.changed(true);
    attempt();
  }

  attempt();
  return {
    /** @param {object} frame */
    send(frame) {
      if (socket.readyState !== WebSocket.OPEN) {
        return false;
      }
      socket.send(JSON.stringify(frame));
      return true;
    },
    /** Makes a connection now where one is awaited, and another where the one
     *  that there is may be dead, as that of a phone that was locked: a network
     *  that is gone closes nothing.
     *  @param {number} silence ms without a word after which it may be */
    hurry(silence) {
      if (next) {
        clearTimeout(next);
        attempt();
      } else if (socket.readyState <= WebSocket.OPEN && performance.now() - Math.max(heard, asked) > silence) {
        renew();
      }
    },
    /** Makes another connection at once, unless one is awaited. */
    renew() {
      if (!next) {
        renew();
      }
    },
    /** Closes the connection that there is. */
    drop() {
      socket.close();
    },
  };
}
