// The end of a film: what was broken, and why. Where to go on is in the page.
import { byId } from "./dom.js";
import { say } from "./words.js";

/**
 * What is said at the end: the first rule that was broken, with its reason, and
 * how many more were; else what the last row says.
 * @param {import("./film.js").Row[]} rows
 */
export function lastWords(rows) {
  const broken = rows.filter((row) => row?.mark === "violation");
  if (broken.length === 0) {
    return rows[rows.length - 1]?.why ?? "";
  }
  const [first] = broken;
  const words = `${named(first)}: ${first.why}`;
  return broken.length === 1 ? words : `${words} ${say("Later: %s", named(broken[broken.length - 1]))}`;
}

/** A broken rule as a person calls it, with its row: what its alarm begins with.
 *  @param {import("./film.js").Row} row */
const named = (row) => (row.alarm ?? "").split(/[:：]/)[0];

/** @param {import("./film.js").Film} film @param {boolean} there you stand at its end */
export function drawEnding(film, there) {
  const box = document.getElementById("ending");
  if (!box) {
    return;
  }
  box.hidden = !there;
  if (there) {
    byId("ending-what").textContent = lastWords(film.rows);
  }
}
