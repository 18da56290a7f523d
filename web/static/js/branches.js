// The branches that there are, to go to, to compare, and to drop.
import { byId, make } from "./dom.js";
import { say } from "./words.js";

/** @typedef {import("./board-state.js").Branch} Branch */

/** @param {Branch} branch */
export const nameOf = ({ number }) => (number === 0 ? say("main") : say("branch %d", number));

/** The branch after one, or null where it is the only one.
 *  @param {ReadonlyMap<number, Branch>} branches
 *  @param {number} current */
export function nextOf(branches, current) {
  const ids = [...branches.keys()];
  return ids.length > 1 ? ids[(ids.indexOf(current) + 1) % ids.length] : null;
}

/**
 * Shows them, unless one is alone. The focus stays where it is.
 * @param {ReadonlyMap<number, Branch>} branches
 * @param {number} current
 * @param {{onto: (id: number) => void, compare?: (id: number) => void, drop: () => void}} on
 */
export function drawBranches(branches, current, on) {
  const box = byId("branches");
  const focused = document.activeElement?.id;
  const others = [...branches.values()].filter((b) => b.id !== current);
  /** @type {HTMLElement[]} */
  const buttons = [...branches.values()].map((b) => {
    const row = b.positions[Math.min(b.fork, b.positions.length - 1)].row;
    const label = b.parent >= 0 ? say("%s from T%d", nameOf(b), String(row)) : nameOf(b);
    const button = make("button", { type: "button", id: `branch-${b.id}`, "aria-pressed": String(b.id === current) }, label);
    button.onclick = () => on.onto(b.id);
    return button;
  });
  const { compare } = on;
  if (others.length > 0 && compare) {
    const button = make("button", { type: "button", id: "compare" }, others.length > 1 ? say("Compare with") : say("Compare with %s", nameOf(others[0])));
    const select = /** @type {HTMLSelectElement} */ (
      make("select", { id: "compare-with", "aria-label": say("Branch to compare with") }, ...others.map((b) => make("option", { value: String(b.id) }, nameOf(b))))
    );
    select.hidden = others.length === 1;
    button.onclick = () => compare(Number(select.value));
    buttons.push(make("span", { class: "row" }, button, select));
  }
  if (others.length > 0) {
    const drop = make("button", { type: "button", id: "drop", class: "quiet" }, say("Drop %s", nameOf(/** @type {Branch} */ (branches.get(current)))));
    drop.onclick = on.drop;
    buttons.push(drop);
  }
  box.hidden = others.length === 0;
  box.replaceChildren(...buttons);
  if (focused) {
    byId(focused)?.focus({ preventScroll: true });
  }
}
