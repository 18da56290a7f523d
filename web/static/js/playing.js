// Plays: one step after the other, at the speed that is chosen, while the page
// is looked at.
import { byId, still } from "./dom.js";

const SLOWLY = 1.8; // times as long

/**
 * @param {() => boolean} step makes one; false where it ends
 * @param {() => void} changed it plays now, or has stopped
 * @param {(part: number) => void} [flow] so much of the way to the next step has gone by, 0 to 1
 * @param {() => boolean} [slow] a step takes longer here: something comes that people have to
 * see
 */
export function player(step, changed, flow, slow) {
  let timer = 0; // 0: it does not play
  let frame = 0; // of what flows
  let since = 0; // when the last step was made

  const speed = () => Number(/** @type {HTMLSelectElement} */ (byId("speed")).value) * (slow?.() ? SLOWLY : 1);

  function flowing() {
    const part = (performance.now() - since) / speed();
    if (timer && part < 1) {
      flow?.(part);
      frame = requestAnimationFrame(flowing);
    }
  }

  function tick() {
    if (document.hidden || !step()) {
      stop();
    } else if (timer) {
      timer = window.setTimeout(tick, speed());
      since = performance.now();
      cancelAnimationFrame(frame);
      if (flow && !still()) {
        frame = requestAnimationFrame(flowing);
      }
    }
  }

  function stop() {
    const was = timer;
    clearTimeout(timer);
    cancelAnimationFrame(frame);
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
