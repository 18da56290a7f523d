// A film that is over: all of it is in the page, and no server is asked.
import { byId, elements } from "./dom.js";
import { recorded } from "./film.js";
import { keys, keysOf } from "./keys.js";
import { stageTheme } from "./settings.js";
import { viewer } from "./viewer.js";

/**
 * The film that the page carries, the rows that are in it already being its own.
 * @returns {import("./film.js").Film}
 */
export function filmInPage() {
  const data = JSON.parse(byId("film").textContent ?? "{}");
  hand(data.rows, byId("rows").children);
  for (const script of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("script[data-first]"))) {
    const first = Number(script.dataset.first);
    for (const row of data.rows.slice(first - 1, first - 1 + Number(script.dataset.count))) {
      row.unfold = () => hand(data.rows, elements(script.textContent ?? ""));
    }
  }
  return recorded(data);
}

/**
 * Hands each row its elements.
 * @param {import("./film.js").Row[]} rows
 * @param {Iterable<Element>} list
 */
function hand(rows, list) {
  for (const tr of /** @type {Iterable<HTMLElement>} */ (list)) {
    const row = rows[Number(tr.dataset.step) - 1];
    row.made = [...(row.made ?? []), tr];
  }
}

/** The keys that need nothing but the film.
 *  @param {ReturnType<typeof viewer>} view
 *  @param {Element | null} [within] as keys has it */
export function readingKeys(view, within) {
  keys({ ...keysOf(view), f: () => stageTheme(view.show) }, undefined, within);
}

/** Stands still at the end until it is started. */
export function replay() {
  const film = filmInPage();
  const view = viewer({ film: () => film });
  readingKeys(view, document.querySelector(".replay"));
  view.go(film.positions.length - 1, false);
}
