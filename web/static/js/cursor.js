// Where you are in a film, and the ways from there.
import { stopsOf } from "./film.js";

/**
 * @typedef {import("./film.js").Film} Film
 *
 * @typedef {object} Cursor
 * @property {number} stop
 * @property {number} moment the command inside of the row, 0 outside
 * @property {boolean} inside steps go through the commands
 */

/** @type {Cursor} */
export const START = Object.freeze({ stop: 0, moment: 0, inside: false });

/** The last stop. @param {Film} film */
export const endOf = (film) => stopsOf(film).length - 1;

/** The stop that you are at: of a film that is shorter its last one.
 *  @param {Film} film @param {Cursor} cursor */
export const stopAt = (film, cursor) => stopsOf(film)[Math.min(cursor.stop, endOf(film))];

/** How many commands are inside of the current row.
 *  @param {Film} film @param {Cursor} cursor */
const commandsAt = (film, cursor) => film.rows[stopAt(film, cursor).row - 1]?.inside?.length ?? 0;

/** Whether the current row came at this stop.
 *  @param {Film} film @param {Cursor} cursor */
const isRow = (film, cursor) => stopAt(film, cursor).row > (stopsOf(film)[cursor.stop - 1]?.row ?? 0);

/**
 * The cursor, or the nearest one that is within the film.
 * @param {Film} film
 * @param {Cursor} cursor
 * @returns {Cursor}
 */
export function within(film, cursor) {
  const stop = Math.max(0, Math.min(cursor.stop, endOf(film)));
  const moment = Math.min(cursor.moment, commandsAt(film, { ...cursor, stop }));
  return stop === cursor.stop && moment === cursor.moment ? cursor : { ...cursor, stop, moment };
}

/** At a stop, outside of its commands.
 *  @param {Film} film @param {Cursor} cursor @param {number} stop */
export const toStop = (film, cursor, stop) => within(film, { ...cursor, stop, moment: 0 });

/**
 * The stop at which the move to a position is over, or at which it begins.
 * @param {Film} film
 * @param {number} position
 * @param {boolean} [begins]
 */
export function stopOf(film, position, begins = false) {
  const stops = stopsOf(film);
  return Math.max(0, begins ? stops.findIndex((s) => s.position >= position) : stops.findLastIndex((s) => s.from <= position));
}

/** Where the move to a position is over.
 *  @param {Film} film @param {Cursor} cursor @param {number} position */
export const toPosition = (film, cursor, position) => toStop(film, cursor, stopOf(film, position));

/** At a row, or at the last one before it. @param {Film} film @param {Cursor} cursor @param {number} row */
export const toRow = (film, cursor, row) => toStop(film, cursor, stopsOf(film).findLastIndex((s) => s.row <= row));

/** Who steps through commands stands at the first one of a row first.
 *  @param {Film} film @param {Cursor} cursor @returns {Cursor} */
export const entered = (film, cursor) =>
  cursor.inside && commandsAt(film, cursor) > 0 && isRow(film, cursor) ? { ...cursor, moment: 1 } : cursor;

/**
 * One step on, or null at the end of what is there.
 * @param {Film} film
 * @param {Cursor} cursor
 * @returns {Cursor | null}
 */
export function forward(film, cursor) {
  if (cursor.moment > 0) {
    return { ...cursor, moment: cursor.moment < commandsAt(film, cursor) ? cursor.moment + 1 : 0 };
  }
  return cursor.stop < endOf(film) ? entered(film, toStop(film, cursor, cursor.stop + 1)) : null;
}

/**
 * One step back; at the start one stays.
 * @param {Film} film
 * @param {Cursor} cursor
 * @returns {Cursor}
 */
export function back(film, cursor) {
  const commands = commandsAt(film, cursor);
  if (cursor.inside && cursor.moment !== 1 && commands > 0 && isRow(film, cursor)) {
    return { ...cursor, moment: (cursor.moment || commands + 1) - 1 };
  }
  return toStop(film, cursor, cursor.stop - 1);
}

/** Steps go through commands from here. @param {Film} film @param {Cursor} cursor @returns {Cursor} */
export const into = (film, cursor) => ({ ...cursor, inside: true, moment: commandsAt(film, cursor) > 0 ? 1 : 0 });

/** And no more. @param {Cursor} cursor @returns {Cursor} */
export const out = (cursor) => ({ ...cursor, inside: false, moment: 0 });

/** One can act here: the move is over. @param {Film} film @param {Cursor} cursor */
export const whole = (film, cursor) => stopAt(film, cursor).whole && (cursor.moment === 0 || cursor.moment === commandsAt(film, cursor));
