// The end of a film: the rule that it broke first, and why. The page says where to go on.
import { byId, make } from "./dom.js";
import { stopsOf } from "./film.js";
import { broken } from "./marks.js";
import { say } from "./words.js";

/** @typedef {import("./film.js").Film} Film */

/** An alarm's beginning: its step, and the rule as a person calls it. */
const step = /^T\d+[.:。：]?\s*[^:：]*/;

/**
 * The rules that a film breaks, each with its row; name: as a person calls it,
 * "T8. two inside at once". If its row has not come, there is no reason.
 * @param {Film} film
 * @returns {{row: number, name: string, why?: string}[]}
 */
export const brokenIn = (film) =>
  stopsOf(film)
    .filter((_, i) => broken(film, i))
    .map(({ row }) => {
      const { alarm, why } = film.rows[row - 1] ?? {};
      return { row, name: alarm?.match(step)?.[0] ?? `T${row}`, why };
    });

/** The rule in a name, without its step. @param {string} name */
const ruleIn = (name) => name.replace(/^T\d+[.:。：]?\s*/, "");

/** What helps where a run cannot be judged: a button, where the page can play every order of several threads.
 *  @param {Film} film */
function everyOrder(film) {
  const explore = document.getElementById("explore");
  if (!explore || film.threads.length < 2) {
    return [];
  }
  const button = make("button", { type: "button", class: "to-row every" }, say("Every order"));
  button.onclick = () => explore.click();
  return [" ", button];
}

/**
 * Draws what stays at the end, below the sentence: the first broken rule with its
 * reason, and the first other rule, or else the last time, each a link to its place; and
 * where to go on.
 * @param {Film} film
 * @param {{there: boolean, row: number}} at there: you are at its end. row: at which
 * @param {{seek: (row: number) => void, missing: (row: number) => string}} on missing: what to say of a row that has not come
 */
export function drawEnding(film, { there, row }, on) {
  const box = document.getElementById("ending");
  if (box) {
    box.hidden = !there;
    box.closest(".foot")?.classList.toggle("ended", there);
  }
  const all = there ? brokenIn(film) : [];
  const [first] = all;
  const cause = byId("cause");
  const lacks = there ? (film.rows[film.rows.length - 1]?.unjudged ?? []) : [];
  if (!first && lacks.length > 0) {
    cause.hidden = false;
    cause.replaceChildren(lacks.slice(1).join(" "), ...everyOrder(film));
    return;
  }
  cause.hidden = !first || first.row === row; // there the sentence says it
  if (!first) {
    return;
  }
  if (first.why === undefined) {
    film.portions?.look(first.row);
  }
  const text = say("%s: %s", "", first.why ?? on.missing(first.row));
  const way = (/** @type {{row: number, name: string}} */ { row, name }) => {
    const button = make("button", { type: "button", class: "to-row" }, name);
    button.onclick = () => on.seek(row);
    return button;
  };
  const parts = [way(first), text];
  if (all.length > 1) {
    const other = all.find(({ name }) => ruleIn(name) !== ruleIn(first.name)) ?? all[all.length - 1];
    const [before, after] = say("Later: %s", "\n").split("\n");
    parts.push(` ${before}`, way(other), after);
  }
  if (cause.textContent !== parts.map((part) => (typeof part === "string" ? part : part.textContent)).join("")) { // else the focus may be in it
    cause.replaceChildren(...parts);
  }
}
