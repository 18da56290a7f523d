// On the stepping page, for who has gone there from a room: where the class is,
// what it is asked, and the way back.
import { enter } from "./room-door.js";
import { setText } from "./room-question.js";
import { goodbye, place, titleOf } from "./room-says.js";
import { initial, reduce } from "./room-state.js";
import { say } from "./words.js";

/** @param {HTMLElement} box */
export function back(box) {
  const code = box.dataset.room ?? "";
  const scene = Number(box.dataset.scene); // that the member has left
  let state = initial();
  const [text, link] = /** @type {Iterable<HTMLElement>} */ (box.children);

  /** @param {import("./room-state.js").Room} room */
  const question = (room) => (room.question && !room.question.closed ? say("A question: %s", room.question.text) : say("You step on your own. Nobody sees it."));

  /** @param {import("./room-state.js").Event} event */
  function happened(event) {
    state = reduce(state, event);
    const { room, gone } = state;
    if (gone) {
      text.textContent = goodbye(gone.code, gone.why);
      link.hidden = true;
    } else if (room) {
      link.textContent = say("Back to the class (%s)", place(room));
      setText(text, [room.scene === scene ? "" : say("The class has gone on to “%s”.", titleOf(room)), question(room)].filter(Boolean).join(" "));
    }
  }

  enter(code, `relock-room-${code}`, {
    device: true,
    path: () => `/room/${code}/socket?lang=${document.documentElement.lang}`,
    as: () => ({ part: "player", rows: false }),
    opened() {},
    joined: (answer) => happened({ type: "joined", answer }),
    frame: (frame) => frame.room && happened({ type: "frame", frame }),
    changed: (lost) => happened({ type: "line", lost }),
    gone: (gone, why) => happened({ type: "gone", code: gone, why }),
  });
}
