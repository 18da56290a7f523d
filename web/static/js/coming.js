// What comes next, below the rows: in each thread's column what it would do and when, and
// in the key's when its lease ends. The dock says the same to who does not see it.
import { make } from "./dom.js";
import { boxesOf, linesOf } from "./options.js";
import { say } from "./words.js";

/** @typedef {import("./film.js").Option} Option */

/**
 * @param {HTMLElement | null} foot of the table
 * @param {import("./film.js").Position} position
 * @param {{threads: string[], step: (who: Option) => void} | null} on null where something has come already, or nothing may be told
 */
export function drawComing(foot, position, on) {
  const boxes = boxesOf(position).boxes.filter(([o]) => !o.network);
  if (!foot || !on || position.over || boxes.length === 0) {
    foot?.replaceChildren();
    return;
  }
  const cells = on.threads.map((name, i) => {
    const own = boxes.filter(([o]) => o.thread === name);
    const can = own.flat().find((o) => o.can);
    const cell = make("td", { class: `cell t${i % 8}${can ? " can" : ""}` });
    for (const box of own) {
      const { who, verb, line } = linesOf(box, on.threads.length);
      const does = [who === name ? "" : who, verb, box.length > 1 ? box.map((o) => o.node).join(say(", ")) : ""].filter(Boolean).join(" ");
      cell.append(make("p", { class: box.includes(/** @type {Option} */ (can)) ? "can" : "" }, ...(does ? [make("b", {}, does), make("br", {})] : []), line));
    }
    cell.onclick = can ? () => on.step(can) : null;
    return cell;
  });
  const key = make("td", { class: "key" }, position.expiry ? say("lease ends at %s", position.expiry) : "");
  foot.replaceChildren(make("tr", {}, make("td", { class: "time" }, say("next")), ...cells, key));
}
