// The tabs beside the stage: the script, the threads, Redis.

/** @param {HTMLElement} side whose data-tab says which is open */
export function tabs(side) {
  const all = () => /** @type {HTMLButtonElement[]} */ ([...side.querySelectorAll("[data-to-tab]")]);

  /** @param {string} name @param {boolean} [focus] */
  function to(name, focus = true) {
    side.dataset.tab = name;
    for (const tab of all()) {
      const chosen = tab.dataset.toTab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen && focus) {
        tab.focus({ preventScroll: true });
        side.scrollIntoView({ block: "nearest" });
      }
    }
  }

  side.querySelector("[role=tablist]")?.addEventListener("click", (event) => {
    const tab = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-to-tab]"));
    if (tab?.dataset.toTab) {
      const clicked = /** @type {MouseEvent} */ (event).detail > 0;
      to(tab.dataset.toTab, !clicked);
      if (clicked) {
        tab.blur(); // the arrows step, as they did before it
      }
    }
  });
  side.querySelector("[role=tablist]")?.addEventListener("keydown", (/** @type {any} */ event) => {
    const list = all();
    const i = list.indexOf(event.target);
    const next = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: list.length - 1 }[/** @type {string} */ (event.key)];
    if (next !== undefined && i >= 0) {
      event.preventDefault();
      event.stopPropagation();
      to(/** @type {string} */ (list[(next + list.length) % list.length].dataset.toTab));
    }
  });
  return { to };
}
