// Plays: one step after the other, at the speed that is chosen, while the page
// is looked at.
import { byId } from "./dom.js";

/**
 * @param {() => boolean} step makes one; false where it ends
 * @param {() => void} changed it plays now, or no more
 */
export function player(step, changed) {
  let timer = 0; // 0: it does not play

  function tick() {
    if (document.hidden || !step()) {
      stop();
    } else if (timer) {
      timer = window.setTimeout(tick, Number(/** @type {HTMLSelectElement} */ (byId("speed")).value));
    }
  }

  function stop() {
    const was = timer;
    clearTimeout(timer);
    timer = 0;
    if (was) {
      changed();
    }
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      stop();
    }
  });
  return {
    on: () => timer !== 0,
    start() {
      timer = window.setTimeout(tick, 0);
      changed();
    },
    stop,
  };
}
