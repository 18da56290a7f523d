// A film that the page carries: all of it, or of a long run the beginning, the
// end, and where the rest comes from.
import { byId, elements } from "./dom.js";
import { recorded } from "./film.js";
import { keys, keysOf } from "./keys.js";
import { stageTheme, tools } from "./settings.js";
import { viewer } from "./viewer.js";

/**
 * The film that the page carries, the rows that are in it already being its own.
 * @param {string} [address] where the others come from, ready for which
 * @returns {import("./film.js").Film}
 */
export function filmInPage(address) {
  const film = recorded(JSON.parse(byId("film").textContent ?? "{}"), address);
  hand(film.rows, byId("rows").children);
  for (const script of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("script[data-first]"))) {
    const first = Number(script.dataset.first);
    for (const row of film.rows.slice(first - 1, first - 1 + Number(script.dataset.count))) {
      row.unfold = () => hand(film.rows, elements(script.textContent ?? ""));
    }
  }
  return film;
}

/**
 * Hands each row its elements. A table without its script can have others than
 * the script knows of.
 * @param {import("./film.js").Row[]} rows
 * @param {Iterable<Element>} list
 */
function hand(rows, list) {
  for (const tr of /** @type {Iterable<HTMLElement>} */ (list)) {
    const row = rows[Number(tr.dataset.step) - 1];
    if (row) {
      row.made = [...(row.made ?? []), tr];
    }
  }
}

/** The keys that need nothing but the film.
 *  @param {ReturnType<typeof viewer>} view
 *  @param {Element | null} [within] as keys has it
 *  @param {Record<string, () => void>} [more] others of the page */
export function readingKeys(view, within, more) {
  document.querySelector("[data-tools-toggle]")?.addEventListener("click", () => tools(view.show));
  keys({ ...keysOf(view), f: () => stageTheme(view.show), t: () => tools(view.show), ...more }, undefined, within);
}

/** Stands still, at the start or where the page says, until it is asked to play.
 *  @param {HTMLElement} stage */
export function replay(stage) {
  const film = filmInPage();
  const view = viewer({
    film: () => film,
    shown(row) {
      stage.dataset.row = String(row);
      stage.dispatchEvent(new CustomEvent("relock:row"));
    },
  });
  readingKeys(view, document.querySelector(".replay"));
  // If the page is about that row, it brings it into sight; on a phone people come to it by
  // reading.
  const follow = "stand" in stage.dataset && stage.closest("[data-lesson]") !== null && matchMedia("(min-width: 60.01rem)").matches;
  view.go(Math.min(Number(stage.dataset.stand ?? 0), film.positions.length - 1), follow);
  document.getElementById("watch")?.addEventListener("click", () => {
    byId("lanes-card").scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    view.act("first");
    view.act("play");
  });
}
