// The lanes on the laptop of who watches: where there is room for them, with a
// style that phones never load.
import { byId } from "./dom.js";
import { lanes } from "./lanes.js";
import { Refused } from "./line.js";

const STYLES = ["/static/css/lanes.css", "/static/css/lanes-box.css"];

/** @param {(command: object) => Promise<any>} ask rejected with Refused */
export async function pictured(ask) {
  const styles = await Promise.all(STYLES.map(async (path) => (await fetch(path)).text()));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles.join("\n"));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
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
