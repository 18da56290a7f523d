// The end of a film: the rule that it broke first, and why. Where to go on is in
// the page.
import { byId, make } from "./dom.js";
import { stopsOf } from "./film.js";
import { broken } from "./marks.js";
import { say } from "./words.js";

/** @typedef {import("./film.js").Film} Film */

/**
 * The rules that a film breaks, each with its row; name: as a person calls it,
 * "T8. two inside at once". Where its row has not come there is no reason.
 * @param {Film} film
 * @returns {{row: number, name: string, why?: string}[]}
 */
export const brokenIn = (film) =>
  stopsOf(film)
    .filter((_, i) => broken(film, i))
    .map(({ row }) => {
      const { alarm, why } = film.rows[row - 1] ?? {};
      return { row, name: alarm?.split(/[:：]/)[0] ?? `T${row}`, why };
    });

/**
 * Draws what stays at the end, in the card that says why and in the page's box: the
 * first broken rule with its reason, from which one goes there, and the last one;
 * else what the last row says.
 * @param {Film} film
 * @param {{there: boolean, row: number}} at there: you stand at its end. row: at which
 * @param {{seek: (row: number) => void, missing: (row: number) => string}} on missing: what to say of a row that has not come
 */
export function drawEnding(film, { there, row }, on) {
  const all = there ? brokenIn(film) : [];
  const [first] = all;
  if (first && first.why === undefined) {
    film.portions?.look(first.row);
  }
  const text = first ? say("%s: %s", "", first.why ?? on.missing(first.row)) : (film.rows[film.rows.length - 1]?.why ?? "");
  const later = all.length > 1 ? ` ${say("Later: %s", all[all.length - 1].name)}` : "";
  const box = document.getElementById("ending");
  const cause = byId("cause");
  cause.hidden = !first || first.row === row; // there the reason says it
  if (box) {
    box.hidden = !there;
  }
  for (const place of there ? [cause, document.getElementById("ending-what")] : []) {
    const name = first?.name ?? "";
    if (place && place.textContent !== name + text + later) { // else the focus may be in it
      const way = make("button", { type: "button", class: "to-row" }, name);
      way.onclick = () => on.seek(first.row);
      place.replaceChildren(...(first ? [way] : []), text, later);
    }
  }
}
