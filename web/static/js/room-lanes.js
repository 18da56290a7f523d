// The lanes on a watcher's laptop, if there is room for them.
import { byId } from "./dom.js";
import { lanes } from "./lanes.js";
import { Refused } from "./line.js";

/** @param {(command: object) => Promise<any>} ask rejected with Refused */
export function pictured(ask) {
  const box = byId("lanes");
  const picture = lanes(box, { step: () => {}, preview: () => {} });
  let drawn = ""; // the moves that are in the picture
  let wanted = ""; // and those that were asked for last

  return {
    /** @param {import("./room-state.js").Room} room */
    async draw(room) {
      const now = [room.scene, room.branch, room.length].join();
      if (now === drawn && (room.row === 0 || picture.around(room.row, room.row))) {
        picture.cursor(room.row || null);
        return;
      }
      const asked = `${now},${room.row}`;
      if (asked === wanted) {
        return;
      }
      wanted = asked;
      try {
        const { lanes: html } = await ask({ do: "lanes", branch: room.branch, row: room.row });
        if (asked === wanted) {
          picture.draw(html);
          box.hidden = false;
          drawn = now;
          picture.cursor(room.row || null);
        }
      } catch (error) {
        wanted = ""; // it is asked for again with the next move
        if (!(error instanceof Refused)) {
          throw error;
        }
      }
    },
  };
}
