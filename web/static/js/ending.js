// The end of a film: the rule that it broke first, and why. Where to go on is in
// the page.
import { byId, make } from "./dom.js";
import { markAt, stopsOf } from "./film.js";
import { say } from "./words.js";

/** @typedef {import("./film.js").Film} Film */

/**
 * A broken rule in a film.
 * @typedef {object} Broken
 * @property {number} row
 * @property {string} name as a person calls it: "T8. two inside at once"
 * @property {string} [why] undefined where its row has not come
 */

/**
 * The rules that a film breaks, the first and the last.
 * @param {Film} film
 * @returns {{first: Broken, last: Broken} | null}
 */
export function brokenIn(film) {
  const all = stopsOf(film).filter((_, i) => markAt(film, i) === "violation");
  if (all.length === 0) {
    return null;
  }
  const [first, last] = [all[0], all[all.length - 1]].map(({ row }) => {
    const { alarm, why } = film.rows[row - 1] ?? {};
    return { row, name: alarm?.split(/[:：]/)[0] ?? `T${row}`, why };
  });
  return { first, last };
}

/**
 * The cause as a person reads it, from which one goes to the rows it names.
 * @param {{first: Broken, last: Broken}} broken
 * @param {{seek: (row: number) => void, missing: (row: number) => string}} on
 */
function sentence({ first, last }, on) {
  const way = (/** @type {Broken} */ { row, name }) => {
    const button = make("button", { type: "button", class: "to-row" }, name);
    button.onclick = () => on.seek(row);
    return button;
  };
  /** @param {string} text @param {Broken} broken the way to it is in the place of NUL */
  const around = (text, broken) => text.split("\0").flatMap((part, i) => (i > 0 ? [way(broken), part] : [part]));
  const cause = around(say("%s: %s", "\0", first.why ?? on.missing(first.row)), first);
  return last.row === first.row ? cause : [...cause, " ", ...around(say("Later: %s", "\0"), last)];
}

/**
 * Draws what stays at the end: in the page's box, and in the card that says why.
 * @param {Film} film
 * @param {{there: boolean, row: number}} at there: you stand at its end. row: at which
 * @param {{seek: (row: number) => void, missing: (row: number) => string}} on missing: what to say of a row that has not come
 */
export function drawEnding(film, { there, row }, on) {
  const broken = there ? brokenIn(film) : null;
  if (broken && broken.first.why === undefined) {
    film.portions?.look(broken.first.row);
  }
  const cause = byId("cause");
  cause.hidden = !broken || broken.first.row === row; // the reason beside it says it
  fill(cause, broken ? sentence(broken, on) : []);
  const box = document.getElementById("ending");
  if (box) {
    box.hidden = !there;
    fill(byId("ending-what"), broken ? sentence(broken, on) : [film.rows[film.rows.length - 1]?.why ?? ""]);
  }
}

/** The focus stays on what stays. @param {HTMLElement} element @param {(Node | string)[]} nodes */
function fill(element, nodes) {
  const other = make("p", {}, ...nodes);
  if (other.textContent !== element.textContent) {
    element.replaceChildren(...nodes);
  }
}
