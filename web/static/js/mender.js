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
 * @returns {Mending}
 */
export function mended(was, frame) {
  if (frame.opened) {
    return UNASKED; // of something else
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

  box.addEventListener("click", async (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest("[data-copy-report]");
    if (button) {
      const text = /** @type {HTMLTextAreaElement} */ (byId("mend-report"));
      text.select(); // whoever may not copy by script has it marked
      await navigator.clipboard?.writeText(text.value).catch(() => undefined);
    }
  });

  return {
    /** @param {any} frame */
    frame(frame) {
      state = mended(state, frame);
      if (frame.opened) {
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
