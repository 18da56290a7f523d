// What comes next, below the rows: in each thread's column what it would do and when, and
// in the key's when its lease ends. The dock says the same to who does not see it.
import { make } from "./dom.js";
import { say } from "./words.js";

/** @typedef {import("./film.js").Option} Option */

/**
 * @param {HTMLElement | null} foot of the table
 * @param {import("./film.js").Position} position
 * @param {{threads: string[], step: (who: Option) => void} | null} on null where something has come already
 */
export function drawComing(foot, position, on) {
  const options = (position.options ?? []).filter((o) => !o.network && (o.verb || o.line));
  if (!foot || !on || position.over || options.length === 0) {
    foot?.replaceChildren();
    return;
  }
  const cells = on.threads.map((name, i) => {
    const own = options.filter((o) => o.thread === name);
    const cell = make("td", { class: `cell t${i % 8}` });
    for (const option of own.filter((o) => !o.background)) {
      cell.append(make("p", { class: option.can ? "can" : "" }, ...(option.verb ? [make("b", {}, option.verb), make("br", {})] : []), option.line ?? ""));
    }
    const can = own.find((o) => o.can);
    if (can) {
      cell.classList.add("can");
      cell.onclick = () => on.step(can);
    }
    return cell;
  });
  const key = make("td", { class: "key" }, position.expiry ? say("lease ends at %s", position.expiry) : "");
  foot.replaceChildren(make("tr", {}, make("td", { class: "time" }, say("next")), ...cells, key));
}
