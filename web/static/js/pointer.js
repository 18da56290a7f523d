// Whether the mouse itself moves. What scrolls or grows under a resting mouse
// sends events, too; on the screen it stays where it is.

/** Tells of each position of a mouse whether it has moved there; of the first one
 *  nobody knows. */
export function mover() {
  /** @type {{x: number, y: number} | null} */
  let at = null; // on the screen
  return (/** @type {{screenX: number, screenY: number}} */ { screenX: x, screenY: y }) => {
    const was = at;
    at = { x, y };
    return was !== null && (was.x !== x || was.y !== y);
  };
}

const hasMoved = mover();
/** @type {WeakSet<Event>} */
const moves = new WeakSet();
for (const name of ["pointermove", "pointerdown"]) {
  globalThis.addEventListener?.(
    name,
    (event) => {
      const e = /** @type {PointerEvent} */ (event);
      if (e.pointerType === "mouse" && hasMoved(e) && name === "pointermove") {
        moves.add(e);
      }
    },
    { capture: true, passive: true },
  );
}

/** Whether an event is a move of the mouse itself. @param {Event} event */
export const moved = (event) => moves.has(event);
