// What a film is: the rows of a run with what there is to see at each, and
// the positions at which one can stand.

/**
 * @typedef {object} Field of the lock's hash
 * @property {string} owner shortened
 * @property {number} thread its ordinal, or -1
 * @property {string} count
 *
 * @typedef {object} State of the lock's key
 * @property {string} type "none", "hash", "string", or "elsewhere" or "no lock" where Redis is not asked
 * @property {Field[]} [fields]
 * @property {number} lease ms left, or -1 where it never runs out
 * @property {number} left of the lease, in thousandths
 * @property {number[]} [nodes] where there are several: the ordinal of who has the key on each, or -1
 * @property {boolean} [heartbeat] the key is a device's, and no lock's
 *
 * @typedef {import("./lua.js").Moment} Lua
 *
 * @typedef {object} Moment right after one Redis command
 * @property {string} why
 * @property {string} at "62 ms"
 * @property {State} after
 * @property {number[]} belief levels that each thread believes to hold
 * @property {Lua} [lua]
 * @property {string} says the command in words
 *
 * @typedef {object} Row
 * @property {number} step
 * @property {string} html
 * @property {HTMLElement[]} [made] of html
 * @property {string} at "62 ms"
 * @property {number} thread that acted, or -1
 * @property {string} why
 * @property {string} says what a screen reader says
 * @property {string} [mark] why it matters: "violation", "expired", "fault", "acquired", "released", "refused"
 * @property {string} [alarm] the sentence of a broken rule, or of an expiry
 * @property {State} after
 * @property {number[]} belief levels that each thread believes to hold
 * @property {Lua} [lua]
 * @property {Moment[]} [inside]
 *
 * @typedef {object} Option what a thread would do next
 * @property {string} thread
 * @property {boolean} [background] its watchdog
 * @property {boolean} can
 * @property {number} choice
 * @property {string} does
 * @property {string} [why] it cannot
 * @property {string} [armed] faults that wait for their moment
 *
 * @typedef {object} Position
 * @property {any} [move] that led here
 * @property {number} row the last that is over
 * @property {string} at
 * @property {Option[]} [options]
 * @property {string} [next]
 * @property {string} [expiry]
 * @property {string[]} [outcomes]
 * @property {boolean} [over]
 *
 * @typedef {object} Film
 * @property {string[]} threads
 * @property {number} lease in ms
 * @property {Row[]} rows
 * @property {Position[]} positions
 */

/** How much a mark matters, the most first. */
export const MARKS = ["violation", "expired", "fault", "acquired", "released"];

/**
 * The mark of what happened between two positions, or undefined.
 * @param {Film} film
 * @param {number} at
 */
export function markAt(film, at) {
  if (at === 0) {
    return undefined;
  }
  const rows = film.rows.slice(film.positions[at - 1].row, film.positions[at].row);
  return MARKS.find((mark) => rows.some((row) => row.mark === mark));
}

/**
 * The state of the key before a row.
 * @param {Film} film
 * @param {number} row
 * @returns {State}
 */
export const before = (film, row) => film.rows[row - 2]?.after ?? { type: "none", lease: 0, left: 0 };

/**
 * The film of a run that is over, or goes on elsewhere: one stands at its rows.
 * @param {{threads: string[], lease: number, rows: Row[]}} recorded
 * @returns {Film}
 */
export function recorded({ threads, lease, rows }) {
  const positions = [{ row: 0, at: rows[0]?.at ?? "" }, ...rows.map((row, i) => ({ row: i + 1, at: row.at }))];
  return { threads, lease, rows, positions };
}
