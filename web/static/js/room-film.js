// The film of a room: its branches, as they come, and where in them the class
// stands. It is the state of state.js; the room alone says where one stands.
import { stopOf } from "./cursor.js";
import { stopsOf } from "./film.js";
import { initial, reduce, shown } from "./state.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./cursor.js").Cursor} Cursor
 * @typedef {import("./state.js").State} State
 * @typedef {import("./room-state.js").Room} Room
 *
 * @typedef {object} Standing where a class stands
 * @property {number} branch
 * @property {number} at moves
 * @property {number} row 0: the last of the move
 * @property {number} moment
 */

const OPENING = 0; // the id of what nobody asked for

/** The film of a line that has been opened just now: all of it comes anew, and
 *  what is there stays until it has. @param {State} [film] */
export function begun(film = initial("")) {
  const lost = reduce(film, { type: "line", lost: true });
  return reduce(reduce(lost, { type: "line", lost: false }), { type: "sent", id: OPENING, command: { do: "open" } });
}

/**
 * The film with what a frame brings.
 * @param {State} film
 * @param {any} frame
 */
export function taken(film, frame) {
  // What comes is for the room, whatever has made it come; so is another scenario.
  return reduce(frame.opened ? begun(film) : film, { type: "frame", frame: { ...frame, re: OPENING, done: undefined, refused: undefined } });
}

/** Whether a frame brings something of the film. @param {any} frame */
export const isFilm = (frame) => Boolean(frame.opened || frame.branch || frame.dropped !== undefined || frame.lanes !== undefined);

/**
 * The film, standing where the class stands. The rows of that have come before.
 * @param {State} film
 * @param {Standing} at
 */
export function standing(film, at) {
  const whole = film.fresh && film.fresh.branches.has(at.branch) ? reduce(film, { type: "frame", frame: { re: OPENING, done: true } }) : film;
  const there = whole.current === at.branch ? whole : reduce(whole, { type: "onto", branch: at.branch });
  const branch = shown(there);
  return branch && there.current === at.branch ? reduce(there, { type: "stand", cursor: cursorAt(branch, there.cursor, at) }) : there;
}

/**
 * @param {Film} film
 * @param {Cursor} cursor
 * @param {Standing} at
 * @returns {Cursor}
 */
export function cursorAt(film, cursor, { at, row, moment }) {
  const last = stopOf(film, at);
  const stop = row > 0 ? stopsOf(film).findLastIndex((s, i) => i <= last && s.row <= row) : last;
  return { ...cursor, stop: Math.max(0, stop), moment };
}

/**
 * Where one stands, as a room is told.
 * @param {Film} film
 * @param {number} branch
 * @param {Cursor} cursor
 * @returns {Standing}
 */
export function standingOf(film, branch, { stop, moment }) {
  const { position, row, whole } = stopsOf(film)[stop];
  return { branch, at: position, row: whole && moment === 0 ? 0 : row, moment };
}
