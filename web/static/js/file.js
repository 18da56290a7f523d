// A film in a file of its own, which is opened without a server: all of it is in the page,
// packed, once for each language. The address says which of them it shows.
import { byId } from "./dom.js";
import { show } from "./embed.js";

/**
 * @typedef {object} Copy of a film, in a language
 * @property {string} code of the language
 * @property {string} direction of its text
 * @property {string} title
 * @property {Record<string, string>} words of the scripts
 * @property {string} body HTML
 * @property {any} shown runs.Replay
 * @property {Record<string, string>} lanes of a long film, HTML by the first row that they are for
 */

/**
 * One of several values that are side by side.
 * @param {any} woven as package export weaves them
 * @param {number} n
 * @returns {any}
 */
export function unwoven(woven, n) {
  if (Array.isArray(woven)) {
    return woven[Math.min(n, woven.length - 1)];
  }
  return woven["#"]?.map((/** @type {any} */ one) => unwoven(one, n)) ?? Object.fromEntries(Object.entries(woven).map(([name, one]) => [name, unwoven(one, n)]));
}

async function open() {
  const packed = Uint8Array.from(atob(byId("film").textContent ?? ""), (c) => c.charCodeAt(0));
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const woven = await new Response(text).json();
  /** @type {Copy} */
  const copy = unwoven(woven, Math.max(woven.code.indexOf(location.hash.slice(1)), 0));
  copy.shown.lanes = copy.lanes[0];
  document.documentElement.lang = copy.code;
  document.documentElement.dir = copy.direction;
  document.title = copy.title;
  byId("words").textContent = JSON.stringify(copy.words);
  byId("body").innerHTML = copy.body;
  for (const a of document.querySelectorAll("[data-language]")) {
    a.addEventListener("click", () => setTimeout(() => location.reload()));
  }
  const firsts = Object.keys(copy.lanes).map(Number);
  show(/** @type {HTMLElement} */ (document.querySelector(".embed")), copy.shown, async (row) => copy.lanes[Math.max(...firsts.filter((first) => first <= row))] ?? "");
}
if (globalThis.document) {
  open();
}
