// What would mend it? The panel in which each change of a scenario is tried, and
// what comes of it.
import { byId } from "./dom.js";

/**
 * @typedef {object} Mending what the page knows
 * @property {boolean} going
 * @property {number} branch that was asked about, or -1
 */

/** @type {Mending} */
export const UNASKED = { going: false, branch: -1 };

/**
 * What is known after a frame.
 * @param {Mending} was
 * @param {any} frame
 * @param {boolean} [variant] what is opened is the run with a change, or as it is
 * @returns {Mending}
 */
export function mended(was, frame, variant = false) {
  if (frame.opened) {
    return variant ? was : UNASKED; // of something else
  }
  return frame.mended ? { ...was, going: frame.mended.going } : was;
}

/** On a stage without the panel. */
const without = { frame() {} };

/**
 * @param {HTMLElement} stage
 * @param {import("./explorer.js").On} on
 * @returns {{frame: (frame: any) => void}}
 */
export function mender(stage, on) {
  if (!document.getElementById("mender")) {
    return without;
  }
  let state = UNASKED;
  const panel = byId("mender");
  const toggle = byId("mend");
  const halt = byId("mend-halt");
  const again = byId("mend-again");
  const box = byId("mended");

  function mark() {
    halt.setAttribute("aria-disabled", String(!state.going));
    again.setAttribute("aria-disabled", String(state.going));
    panel.setAttribute("aria-busy", String(state.going));
  }

  /** @param {boolean} open */
  function show(open) {
    panel.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    stage.classList.toggle("mending", open);
    on.show();
  }

  function ask() {
    const standing = on.standing();
    if (standing) {
      state = { ...state, branch: standing.branch };
      on.attempt(() => on.ask({ do: "mend", branch: standing.branch }));
    }
  }

  toggle.onclick = () => {
    show(panel.hidden);
    if (!panel.hidden) {
      panel.focus();
      if (!state.going && state.branch !== on.standing()?.branch) {
        ask();
      }
    }
  };
  byId("close-mender").onclick = () => {
    show(false);
    toggle.focus();
  };
  again.onclick = () => {
    if (!state.going) {
      ask();
    }
  };
  halt.onclick = () => {
    if (state.going) {
      on.attempt(() => on.ask({ do: "halt" }));
    }
  };

  /** The run that is being opened, of those in the panel. @type {HTMLAnchorElement | null} */
  let variant = null;
  let moved = false; // something had happened where it was asked
  const alone = !("room" in stage.dataset); // a class would not know where it went

  box.addEventListener("click", async (event) => {
    const { target } = event;
    const button = /** @type {HTMLElement} */ (target).closest("[data-copy]");
    if (button instanceof HTMLElement) {
      const text = /** @type {HTMLTextAreaElement} */ (byId(button.dataset.copy ?? ""));
      text.select(); // where a script may not copy, the keys do
      await navigator.clipboard?.writeText(text.value).catch(() => undefined);
    }
    const link = /** @type {HTMLElement} */ (target).closest("[data-variant]");
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (link instanceof HTMLAnchorElement && alone && !state.going && plain) {
      event.preventDefault();
      if (location.hash !== link.hash) {
        variant = link;
        moved = (on.standing()?.moves ?? 0) > 0;
        location.hash = link.hash;
      }
    }
  });

  return {
    /** @param {any} frame */
    frame(frame) {
      state = mended(state, frame, variant !== null);
      if (frame.opened && variant) {
        for (const one of box.querySelectorAll("[data-variant]")) {
          one.toggleAttribute("aria-current", one === variant);
        }
        variant.setAttribute("aria-current", "true");
        if ("run" in variant.dataset && moved) {
          on.attempt(() => on.ask({ do: "run", branch: 0, to: "end" })); // where one was, all had happened
        }
        variant = null;
      } else if (frame.opened) {
        box.replaceChildren();
        show(false);
      }
      if (frame.mended) {
        const open = box.querySelector("details")?.open ?? false;
        box.innerHTML = frame.mended.html;
        const others = box.querySelector("details");
        if (others) {
          others.open = open;
        }
      }
      mark();
    },
  };
}
