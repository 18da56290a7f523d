// Asks the server: a command is a promise of its end, whatever comes of it
// before.
import { connect } from "./connection.js";

const SILENCE = 120_000; // ms without a frame until a connection is taken for dead

/** The server does not do it; the message is a sentence for people. */
export class Refused extends Error {}

/** The connection is lost: what came of the command is not known. */
export class Lost extends Error {}

/**
 * @typedef {object} On
 * @property {() => string} path where to connect
 * @property {() => void} connected one can ask
 * @property {(id: number, command: any) => void} sent
 * @property {(frame: any) => void} frame called for each, before the promise of its command ends
 * @property {(why: string) => void} broken as connection.js has it
 * @property {(lost: boolean, why?: string) => void} changed as connection.js has it
 */

/**
 * @param {On} on
 * @param {{dial?: typeof connect, silence?: number}} [with_] other parts, in tests
 */
export function rpc(on, { dial = connect, silence = SILENCE } = {}) {
  /** @type {Map<number, {resolve: () => void, reject: (why: Error) => void}>} */
  const under = new Map();
  let last = 0; // id
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let listening;

  function listen() {
    clearTimeout(listening);
    if (under.size > 0) {
      listening = setTimeout(() => line.drop(), silence);
    }
  }

  /** @param {number} id @param {Error} [why] it fails */
  function end(id, why) {
    const call = under.get(id);
    under.delete(id);
    if (why) {
      call?.reject(why);
    } else {
      call?.resolve();
    }
  }

  function lose() {
    [...under.keys()].forEach((id) => end(id, new Lost()));
    listen();
  }

  const line = dial({
    path: on.path,
    opened: on.connected,
    received(frame) {
      on.frame(frame);
      if (frame.refused) {
        // One that nobody asked for is about something that was not understood.
        for (const id of under.has(frame.re) ? [frame.re] : [...under.keys()]) {
          end(id, new Refused(frame.refused));
        }
      } else if (frame.done) {
        end(frame.re);
      }
      listen();
    },
    broken(why) {
      on.broken(why);
      lose();
    },
    changed(lost, why) {
      on.changed(lost, why);
      if (lost) {
        lose();
      }
    },
  });

  /**
   * Asks for something.
   * @param {object} command
   * @returns {Promise<void>} rejected with Refused or Lost
   */
  return (command) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      if (!line.send({ id, ...command })) {
        reject(new Lost());
        return;
      }
      under.set(id, { resolve, reject });
      on.sent(id, command);
      listen();
    });
}
