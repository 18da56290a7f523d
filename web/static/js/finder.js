// A list of scenarios, and a field that narrows it to those with all of its words.
import { byId } from "./dom.js";
import { say } from "./words.js";

/**
 * @param {string} name what the ids of its parts begin with
 * @returns {{narrow: () => void}} shows what fits the field's text
 */
export function finder(name) {
  const filter = /** @type {HTMLInputElement} */ (byId(`${name}-filter`));
  const list = byId(`${name}-list`);
  const found = byId(`${name}-found`);
  const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-open]")]);
  const texts = all.map((one) => `${one.dataset.open} ${one.textContent}`.toLowerCase());

  function narrow() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let fit = 0;
    all.forEach((one, i) => {
      const is = words.every((word) => texts[i].includes(word));
      /** @type {HTMLElement} */ (one.closest("li")).hidden = !is;
      fit += Number(is);
    });
    for (const group of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("section"))) {
      group.hidden = group.querySelector("li:not([hidden])") === null;
    }
    const count = words.length === 0 ? "" : fit === 0 ? say("No scenario has all of these words.") : say("%d of %d scenarios", fit, all.length);
    if (found.textContent !== count) {
      found.textContent = count;
    }
  }

  const shown = () => all.filter((one) => one.checkVisibility());

  filter.addEventListener("input", narrow);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault(); // one chooses by a second press
      shown()[0]?.focus();
    }
  });
  list.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const seen = shown();
    const at = seen.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (way && at >= 0) {
      event.preventDefault();
      (at + way < 0 ? filter : seen[Math.min(at + way, seen.length - 1)]).focus();
    }
  });
  return { narrow };
}

/** Has the menu of all scenarios begin with its field whenever it opens, as it has now. */
export function picker() {
  const menu = /** @type {HTMLDetailsElement} */ (byId("picker"));
  const { narrow } = finder("pick");
  const filter = /** @type {HTMLInputElement} */ (byId("pick-filter"));
  const begin = () => {
    if (menu.open) {
      filter.value = "";
      narrow();
      filter.focus();
    }
  };
  menu.addEventListener("toggle", begin);
  begin();
}
