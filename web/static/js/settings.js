// The switches for language and theme. They are links and work without this;
// with it the theme changes at once, and the place in a page is kept.

const YEAR = 365 * 24 * 60 * 60;

export function settings() {
  const menu = /** @type {HTMLDetailsElement} */ (document.getElementById("theme"));
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    const link = /** @type {HTMLAnchorElement | null} */ (target.closest("a[data-keeps-place]"));
    if (link?.dataset.themeName) {
      event.preventDefault();
      theme(link.dataset.themeName);
      menu.open = false;
      menu.querySelector("summary")?.focus();
      return;
    }
    if (link) {
      link.hash = location.hash;
    }
    shut((open) => !open.contains(target));
  });
  // Menus of every page close as those of a system do.
  document.addEventListener("focusin", (event) => {
    shut((open) => !open.contains(/** @type {Node} */ (event.target)));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      shut((open) => {
        if (open.contains(document.activeElement)) {
          open.querySelector("summary")?.focus();
        }
        return true;
      });
    }
  });
}

/** @param {(menu: HTMLDetailsElement) => boolean} which of the open menus */
function shut(which) {
  for (const open of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.menu[open]"))) {
    if (which(open)) {
      open.open = false;
    }
  }
}

/**
 * Changes the theme and remembers it.
 * @param {string} name
 */
function theme(name) {
  document.documentElement.dataset.theme = name;
  document.cookie = `relock-theme=${name}; path=/; max-age=${YEAR}; samesite=lax`;
  for (const link of document.querySelectorAll("[data-theme-name]")) {
    if (/** @type {HTMLElement} */ (link).dataset.themeName === name) {
      link.setAttribute("aria-current", "true");
    } else {
      link.removeAttribute("aria-current");
    }
  }
}

let before = "auto"; // the stage

/** Switches the stage on, or back to what was before it.
 *  @param {() => void} shown to show the place again where you are */
export function stageTheme(shown) {
  const now = document.documentElement.dataset.theme ?? "auto";
  if (now !== "stage") {
    before = now;
  }
  theme(now === "stage" ? before : "stage");
  requestAnimationFrame(shown);
}

/** Shows everything that the stage hides, or hides it again: the faults, the
 *  time, the scenarios, the other locks, and what is shared.
 *  @param {() => void} changed */
export function tools(changed) {
  const root = document.documentElement;
  const on = root.toggleAttribute("data-tools");
  document.querySelector("[data-tools-toggle]")?.setAttribute("aria-pressed", String(on));
  changed();
}
