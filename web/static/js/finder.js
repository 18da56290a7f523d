// A list, and a field that narrows it to what has all of its words.
import { byId } from "./dom.js";
import { slash } from "./keys.js";
import { say } from "./words.js";

/** The parts of a list with commas. @param {string} list */
const partsOf = (list) => list.split(",").map((part) => part.trim());

/**
 * What has all words of a text, in any order, or what those are called here.
 * @param {string} sought
 * @param {string} [also] a line for each thing that is called otherwise: "ttl, timeout: lease"
 * @returns {(text: string) => boolean} of a text in small letters
 */
export function having(sought, also = "") {
  let rest = ` ${sought.toLowerCase().split(/\s+/).filter(Boolean).join(" ")} `;
  /** @type {string[][]} */
  const wanted = [];
  for (const [said, here] of also.split("\n").filter(Boolean).map((line) => line.split(":").map(partsOf))) {
    for (const word of said.filter((word) => rest.includes(` ${word} `))) {
      wanted.push([word, ...here]);
      rest = rest.replace(` ${word} `, " ");
    }
  }
  wanted.push(...rest.split(" ").filter(Boolean).map((word) => [word]));
  return (text) => wanted.every((words) => words.some((word) => text.includes(word)));
}

/**
 * @param {string} name what the ids of its parts begin with
 * @returns {{narrow: () => void}} shows what fits the field's text
 */
export function finder(name) {
  const filter = /** @type {HTMLInputElement} */ (byId(`${name}-filter`));
  const list = byId(`${name}-list`);
  const found = byId(`${name}-found`);
  const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-find]")]);
  const texts = all.map((one) => `${one.dataset.find} ${one.closest("section")?.querySelector("h2")?.textContent} ${one.textContent}`.toLowerCase());

  function narrow() {
    const has = having(filter.value, filter.dataset.also);
    let fit = 0;
    all.forEach((one, i) => {
      one.hidden = !has(texts[i]);
      fit += Number(!one.hidden);
    });
    for (const group of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("section"))) {
      group.hidden = group.querySelector("[data-find]:not([hidden])") === null;
      document.querySelector(`nav a[href="#${group.querySelector("h2")?.id}"]`)?.toggleAttribute("hidden", group.hidden);
    }
    const count = filter.value.trim() === "" ? "" : fit === 0 ? say("Nothing has all of these words. Try fewer, or others.") : say("%d of %d fit.", fit, all.length);
    if (found.textContent !== count) {
      found.textContent = count;
    }
  }

  const shown = () => all.flatMap((one) => (one.checkVisibility() ? (/** @type {HTMLElement | null} */ (one.querySelector("a, button")) ?? []) : []));

  filter.addEventListener("input", narrow);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault(); // one chooses by a second press
      shown()[0]?.focus();
    } else if (event.key === "Escape" && filter.value !== "") {
      event.preventDefault(); // a second press closes what it is in
      event.stopPropagation();
      filter.value = "";
      narrow();
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

/** Has a page begin with what its address looks for, and keep there what one leaves it with. */
export function search() {
  const { narrow } = finder("find");
  const filter = /** @type {HTMLInputElement} */ (byId("find-filter"));
  slash(() => filter.select());
  filter.value = new URLSearchParams(location.search).get("q") ?? "";
  narrow();
  filter.addEventListener("blur", () => {
    const url = new URL(location.href);
    url.searchParams.set("q", filter.value);
    if (filter.value === "") {
      url.searchParams.delete("q");
    }
    history.replaceState(history.state, "", url);
  });
}
