// The storybook's own script: what other pages do to a component when somebody
// uses it.
import { show } from "../js/lua.js";
import { questionBox } from "../js/room-question.js";
import { drawMine, drawSeat } from "../js/room-seats.js";

for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-moment]"))) {
  if (box.dataset.moment && box.matches(".story")) {
    show(box, JSON.parse(box.dataset.moment));
  }
}
for (const row of document.querySelectorAll(".story .inner[hidden]")) {
  row.removeAttribute("hidden");
}

/** What fills the parts of a room's pages. @type {Record<string, (box: HTMLElement, data: any) => void>} */
const fill = {
  cast(box, seats) {
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-cast]"))) {
      const seat = seats[item.dataset.cast ?? ""];
      drawSeat(item, seat, seat.left);
    }
  },
  mine(box, seat) {
    const part = /** @type {HTMLElement} */ (box.querySelector("[data-mine]"));
    part.hidden = false;
    drawMine(part, seat, { covered: false, closed: "", held: "", wish: "", lost: false, allowed: ["crash"] });
  },
  question: (_, question) => questionBox(null)(question, 1, false),
};
for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-sample]"))) {
  fill[box.dataset.kind ?? ""]?.(box, JSON.parse(box.dataset.sample ?? "{}"));
}
