// A film that is over: all of it is in the page, and no server is asked.
import { byId } from "./dom.js";
import { recorded } from "./film.js";
import { keys, keysOf } from "./keys.js";
import { theme } from "./settings.js";
import { viewer } from "./viewer.js";

/**
 * The film that the page carries, the rows that are in it already being its own.
 * @returns {import("./film.js").Film}
 */
export function filmInPage() {
  const data = JSON.parse(byId("film").textContent ?? "{}");
  /** @type {Map<number, HTMLElement[]>} */
  const made = new Map();
  for (const tr of /** @type {NodeListOf<HTMLElement>} */ (byId("rows").querySelectorAll("tr[data-step]"))) {
    const step = Number(tr.dataset.step);
    made.set(step, [...(made.get(step) ?? []), tr]);
  }
  for (const row of data.rows) {
    row.made = made.get(row.step);
  }
  return recorded(data);
}

/** The keys that need nothing but the film.
 *  @param {ReturnType<typeof viewer>} view */
export function readingKeys(view) {
  keys({
    ...keysOf(view),
    f: () => theme(document.documentElement.dataset.theme === "stage" ? "auto" : "stage"),
  });
}

/** Stands still at the end until it is started. */
export function replay() {
  const film = filmInPage();
  const view = viewer({ film: () => film });
  readingKeys(view);
  view.go(film.positions.length - 1, false);
}
