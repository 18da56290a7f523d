// The rows of a room's run on a phone: only the table, at the class's place.
import { initial, reduce, shown } from "./board-state.js";
import { byId } from "./dom.js";
import { table } from "./table.js";
import { say } from "./words.js";

/** @typedef {import("./room-state.js").Room} Room */

export function rows() {
  let film = initial("", { leads: false });
  const list = table(
    { body: byId("rows"), scroller: byId("scroll") },
    { seek: () => {}, preview: () => {}, inside: () => {}, see: () => {}, missing: () => say("Loading …") },
  );

  return {
    /** All comes again. */
    joining() {
      film = reduce(film, { type: "opened" });
    },
    /** @param {any} frame */
    take(frame) {
      const was = film;
      film = reduce(film, { type: "frame", frame });
      if (film.branches !== was.branches || film.fresh !== was.fresh) {
        list.changed();
      }
    },
    /** @param {Room} room @param {boolean} follow scroll to where the class stands */
    draw(room, follow) {
      film = reduce(film, { type: "told", stand: room });
      const branch = shown(film);
      if (branch) {
        byId("empty").hidden = branch.rows.length > 0;
        list.draw(branch.rows, room.row, room.moment, follow);
      }
    },
  };
}
