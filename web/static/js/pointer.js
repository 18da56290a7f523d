// Whether the mouse itself moves. Things that scroll or grow under a resting mouse send
// events, too; on the screen the mouse has not moved.

/** Tells of each position of a mouse whether it has moved there; of the first one
 *  nobody knows. */
export function mover() {
  let at = ""; // on the screen
  return (/** @type {{screenX: number, screenY: number}} */ { screenX, screenY }) => {
    const was = at;
    at = `${screenX} ${screenY}`;
    return was !== "" && was !== at;
  };
}

const hasMoved = mover();
/** @type {WeakSet<Event>} */
const moves = new WeakSet();
const note = (/** @type {PointerEvent} */ event) => event.pointerType === "mouse" && hasMoved(event) && moves.add(event);
globalThis.addEventListener?.("pointermove", note, true);

/** Whether an event is a move of the mouse itself. @param {Event} event */
export const moved = (event) => moves.has(event);
