// Every mark explains itself: if you point at it, touch it, or go to it with the
// keyboard, its text comes from the legend.
import { byId, make, onceDrawn } from "./dom.js";
import { moved } from "./pointer.js";

const EDGE = 22; // px of a cell that are its bar's
const STAYS = 5000; // ms that a tip is there after a touch
const CELLS = { parted: "parted", leaving: "leaving", waiting: "wait", paused: "still", inside: "bar" };

/** The marks of what is at a place, from the top. @param {Element[]} stack */
export function marksIn(stack) {
  return [...new Set(stack.flatMap((e) => e.closest("[data-mark]")?.getAttribute("data-mark") || []))];
}

/** The mark that the bar of a table's cell is. @param {DOMTokenList} classes */
export const markOfCell = (classes) => Object.entries(CELLS).find(([name]) => classes.contains(name))?.[1];

/** @param {HTMLElement} box of the lanes */
export function legend(box) {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("legend"));
  const tip = document.getElementById("tip");
  if (!dialog || !tip) {
    return;
  }
  let timer = 0;
  document.querySelector("[data-dialog=legend]")?.addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      hide();
    }
  });

  function hide() {
    clearTimeout(timer);
    /** @type {HTMLElement} */ (tip).hidden = true;
  }

  /** @param {string[]} marks @param {number} x @param {number} y */
  function show(marks, x, y) {
    clearTimeout(timer);
    const texts = marks.map((mark) => dialog?.querySelector(`[data-legend="${mark}"] dd`)?.textContent ?? "").filter(Boolean);
    const e = /** @type {HTMLElement} */ (tip);
    if (texts.length === 0) {
      hide();
      return;
    }
    if (e.hidden || e.textContent !== texts.join("")) {
      e.replaceChildren(...texts.map((text) => make("p", {}, text)));
    }
    e.hidden = false;
    onceDrawn(e, () => {
      const left = Math.max(8, Math.min(x + 12, innerWidth - e.offsetWidth - 8));
      const top = y + 22 + e.offsetHeight > innerHeight ? Math.max(8, y - e.offsetHeight - 12) : y + 22;
      e.style.translate = `${left}px ${top}px`;
    });
  }

  /** @param {PointerEvent | MouseEvent} event */
  function at(event) {
    const cell = /** @type {Element} */ (event.target).closest("td.cell");
    if (cell && event.clientX - cell.getBoundingClientRect().left < EDGE) {
      const mark = markOfCell(cell.classList);
      return mark ? [mark] : [];
    }
    return box.contains(/** @type {Node} */ (event.target)) ? marksIn(document.elementsFromPoint(event.clientX, event.clientY)) : [];
  }

  for (const where of [box, byId("rows")]) {
    // Look at what is there before anything else: other handlers of this event change the
    // page.
    where.addEventListener("pointermove", (event) => moved(event) && show(event.buttons ? [] : at(event), event.clientX, event.clientY), { capture: true });
    where.addEventListener("pointerleave", hide);
    where.addEventListener("click", (event) => {
      if (/** @type {PointerEvent} */ (event).pointerType === "touch") {
        show(at(event), event.clientX, event.clientY);
        timer = window.setTimeout(hide, STAYS);
      }
    });
  }

  /** What the clock stands on, for who moves it by keys. */
  function standing() {
    const line = box.querySelector("[data-cursor] line")?.getBoundingClientRect();
    if (!line || !box.querySelector("[data-clock]:focus-visible")) {
      return;
    }
    const stack = [];
    for (let y = line.top + 4; y < line.bottom; y += 5) {
      stack.push(...document.elementsFromPoint(line.left - 1, y), ...document.elementsFromPoint(line.left + 1, y));
    }
    show(marksIn(stack), line.left, line.bottom);
  }
  box.addEventListener("focusin", () => requestAnimationFrame(standing));
  box.addEventListener("keyup", standing);
  box.addEventListener("focusout", hide);
}
