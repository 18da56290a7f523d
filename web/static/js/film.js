// What a film is: the rows of a run with what there is to see at each, and the positions
// that you can go to.
import { portions } from "./portions.js";

/**
 * @typedef {object} State of the lock's key
 * @property {string} type "none", "hash", "string", or "elsewhere" or "no lock" where Redis is not asked
 * @property {number} lease ms left, or -1 where it never runs out
 * @property {number} left of the lease, in thousandths
 * @property {boolean} [heartbeat] the key is a device's, and no lock's
 *
 * @typedef {import("./lua.js").Moment} Lua
 *
 * @typedef {object} Moment right after one Redis command
 * @property {string} why
 * @property {string} at "62 ms"
 * @property {State} after
 * @property {Lua} [lua]
 * @property {import("./stage.js").Stage} [stage] absent: as before it
 * @property {string} says the command in words
 *
 * @typedef {object} Row
 * @property {number} step
 * @property {string} html
 * @property {HTMLElement[]} [made] of html
 * @property {() => void} [unfold] makes it, and others with it, from the page's text
 * @property {string} at "62 ms"
 * @property {number} [ms] the same as a number
 * @property {number} thread that acted, or -1
 * @property {string} why
 * @property {string} says what a screen reader says
 * @property {string} [mark] why it matters: "violation", "expired", "fault", "acquired", "released", "refused"
 * @property {string[]} [unjudged] at the end: what keeps the run from being judged, after a line that says so
 * @property {string} [alarm] the sentence of a broken rule, or of an expiry
 * @property {State} after
 * @property {Lua} [lua]
 * @property {Moment[]} [inside]
 * @property {import("./stage.js").Stage} stage
 * @property {boolean} [calm] what it breaks does no harm here
 * @property {string} [broken] what a person calls the rule that it breaks
 * @property {number} [fold] the first step of the rows that end with it, for which one can stand
 *
 * @typedef {object} Option what a thread would do next
 * @property {string} thread
 * @property {boolean} [background] its watchdog, or what it asks of nodes at once
 * @property {number} [node] that it asks in the background
 * @property {boolean} [network] a request of it that was held up
 * @property {boolean} can
 * @property {number} choice
 * @property {string} does
 * @property {string} [why] it cannot
 * @property {string} [armed] faults that wait for their moment
 * @property {number} [nth] of a lab: of several commands of the thread, which
 * @property {string} [name] who moves, where that is not the thread itself
 * @property {string} [verb] what it does
 * @property {string} [when] it can
 * @property {string} [which] call it makes
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
 * @property {Pointless[]} [pointless] faults that would change nothing here
 *
 * @typedef {object} Pointless some faults, and why they are: what is left out counts for all
 * @property {string[]} [do]
 * @property {string} [thread]
 * @property {string[]} [at]
 * @property {string} [for] "300ms": of this length only
 * @property {boolean} [keep] only those that keep the data
 * @property {string} why
 *
 * @typedef {object} Film
 * @property {string[]} threads
 * @property {number} lease in ms
 * @property {Row[]} rows of a long run undefined where they have not come yet
 * @property {Position[]} positions
 * @property {import("./portions.js").Portions} [portions] bring them; undefined where all are here
 * @property {string} [marks] of all rows then, a character each: the place in MARKS, or "."
 */

/** How much a mark matters, the most first. */
export const MARKS = ["violation", "expired", "fault", "acquired", "released"];

/**
 * A stop is a place that you can go to: the start, each row, and each fault or passage of
 * time without its own row. A decision without a row (it has asked a node that is down)
 * is passed over: there is nothing to see of it. One can act only where a move is over.
 * @typedef {object} Stop
 * @property {number} row the last that is over
 * @property {number} from the first position that it belongs to
 * @property {number} position the last one, where one acts
 * @property {boolean} whole the move is over here
 * @property {string} at
 * @property {string} [mark]
 */

/** @type {WeakMap<Position[], {positions: number, stops: Stop[]}>} by the positions that they are of */
const known = new WeakMap();

/**
 * The stops of a film; those that there are stay, others are appended.
 * @param {Film} film
 * @returns {Stop[]}
 */
export function stopsOf(film) {
  let had = known.get(film.positions);
  if (!had || had.positions > film.positions.length) {
    had = { positions: 0, stops: [] };
    known.set(film.positions, had);
  }
  for (; had.positions < film.positions.length; had.positions++) {
    const n = had.positions;
    const { row, at, move } = film.positions[n];
    const from = n === 0 ? -1 : film.positions[n - 1].row;
    if (row === from && typeof move === "number") {
      had.stops[had.stops.length - 1].position = n;
    } else if (row === from) {
      had.stops.push({ row, from: n, position: n, whole: true, at });
    }
    for (let r = from + 1; r <= row; r++) {
      had.stops.push({ row: r, from: n, position: n, whole: r === row, at: film.rows[r - 1]?.at ?? at });
    }
  }
  return had.stops;
}

/**
 * The mark of a row, or undefined.
 * @param {Film} film
 * @param {number} row
 */
function markOf(film, row) {
  const here = film.rows[row - 1];
  return here ? here.mark : MARKS[Number(film.marks?.[row - 1])];
}

/**
 * A film with what has come of it: positions from a place on, and rows. If a part in
 * between is missing, it changes nothing. The film given stays as it is.
 * @template {Film} F
 * @param {F} film
 * @param {number} from the place of the first position
 * @param {Position[]} positions
 * @param {Row[]} rows
 * @returns {F}
 */
export function grown(film, from, positions, rows) {
  const all = film.rows.slice();
  for (const row of rows) {
    if (row.step > all.length + 1) {
      return film;
    }
    all[row.step - 1] = row;
  }
  if (from > film.positions.length || positions.some((p) => p.row > all.length)) {
    return film;
  }
  const later = film.positions.slice(from + positions.length);
  const next = { ...film, rows: all, positions: [...film.positions.slice(0, from), ...positions, ...later] };
  const had = known.get(film.positions);
  if (had && from === film.positions.length) {
    known.set(next.positions, { ...had, stops: had.stops.map((stop, i) => (i === had.stops.length - 1 ? { ...stop } : stop)) });
  }
  return next;
}

/**
 * The mark of what happened at a stop, or undefined.
 * @param {Film} film
 * @param {number} stop
 */
export function markAt(film, stop) {
  const stops = stopsOf(film);
  const { row } = stops[stop];
  return stop > 0 && row !== stops[stop - 1].row ? markOf(film, row) : undefined;
}

/**
 * @typedef {object} Index what a page has of all rows of a long run
 * @property {number} count of rows
 * @property {number} size rows of a portion
 * @property {string} marks as a film has them
 * @property {string} at when each row was, with | between; empty where that is as of the row before
 */

/**
 * The film of a run that is over, or goes on elsewhere: you can go to its rows.
 * @param {{threads: string[], lease: number, rows: Row[], index?: Index}} recorded
 * @param {string} [address] where the rows come from that are not here, ready for which
 * @returns {Film}
 */
export function recorded({ threads, lease, rows, index }, address = "") {
  if (!index) {
    const positions = [{ row: 0, at: rows[0]?.at ?? "" }, ...rows.map((row, i) => ({ row: i + 1, at: row.at }))];
    return { threads, lease, rows, positions };
  }
  /** @type {Row[]} */
  const all = new Array(index.count).fill(undefined);
  for (const row of rows) {
    all[row.step - 1] = row;
  }
  let last = "";
  const times = index.at.split("|").map((at) => (last = at || last));
  const positions = [{ row: 0, at: times[0] ?? "" }, ...times.map((at, i) => ({ row: i + 1, at }))];
  /** @type {Film} */
  const film = { threads, lease, rows: all, positions, marks: index.marks };
  film.portions = portions(film, address, index.size);
  return film;
}
