// A script is put together of its lines: they are dragged, with the mouse or a
// finger, or moved with the arrow keys. Pieces below the mark are left out. Mends are put
// in order the same way, all of them, without a mark. The form has a place for each,
// which this fills in, and which works without it.
import { make } from "./dom.js";
import { say } from "./words.js";

const FAR = 4; // px: less is no drag

/** @param {HTMLFormElement} form */
export function ordering(form) {
  const list = /** @type {HTMLOListElement} */ (form.querySelector("ol"));
  const pieces = /** @type {HTMLLIElement[]} */ ([...list.children]);
  const mark = make("li", { class: "left-out" }, say("Your script is above this line. Everything below is left out."));
  const told = make("p", { class: "hint", role: "status" });
  const place = (/** @type {Element} */ li) => /** @type {HTMLSelectElement} */ (li.querySelector("select"));
  const grip = (/** @type {Element} */ li) => /** @type {HTMLButtonElement} */ (li.querySelector(".grip"));
  const name = (/** @type {Element} */ li) => (li.querySelector(".piece")?.textContent ?? "").trim().split("\n")[0];

  const all = "whole" in form.dataset; // nothing can be left out
  if (!all) {
    list.insertBefore(mark, pieces.find((li) => place(li).value === "0") ?? null);
  }
  list.after(told);
  form.classList.add("orderable");
  for (const li of pieces) {
    const up = make("button", { type: "button", class: "up", "aria-label": say("Move up: %s", name(li)) }, "↑");
    const down = make("button", { type: "button", class: "down", "aria-label": say("Move down: %s", name(li)) }, "↓");
    const handle = make("button", { type: "button", class: "grip", "aria-label": say("Move with the arrow keys, or drag: %s", name(li)) }, "⠿");
    up.onclick = () => move(li, -1, up);
    down.onclick = () => move(li, 1, down);
    li.prepend(handle);
    li.append(make("span", { class: "moves" }, up, down));
    handle.addEventListener("pointerdown", (event) => drag(li, event));
    li.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (step && (event.altKey || event.target === handle)) {
        event.preventDefault();
        event.stopPropagation();
        move(li, step, /** @type {HTMLElement} */ (event.target));
      }
    });
  }
  count();

  /** One on, or back: past its neighbour, or past the mark.
   *  @param {Element} li @param {number} step @param {HTMLElement} focused */
  function move(li, step, focused) {
    const next = step < 0 ? li.previousElementSibling : li.nextElementSibling;
    if (next) {
      list.insertBefore(step < 0 ? li : next, step < 0 ? next : li);
      focused.focus(); // which a piece loses when it is moved itself
    }
    count();
    tell(li);
  }

  /** Writes the places into the form. */
  function count() {
    let at = 0;
    let out = false;
    for (const li of list.children) {
      out ||= li === mark;
      if (li !== mark) {
        at += out ? 0 : 1;
        place(li).value = out ? "0" : String(at);
        li.classList.toggle("placed", !out);
      }
    }
  }

  /** @param {Element} li */
  function tell(li) {
    const at = place(li).value;
    const placed = String(pieces.filter((one) => place(one).value !== "0").length);
    told.textContent = at === "0" ? say("Left out: %s", name(li)) : all ? say("Place %s of %s: %s", at, placed, name(li)) : say("Line %s of %s: %s", at, placed, name(li));
  }

  /** @param {HTMLLIElement} li @param {PointerEvent} down */
  function drag(li, down) {
    if (down.button !== 0) {
      return;
    }
    const handle = grip(li);
    let far = false;
    handle.setPointerCapture(down.pointerId);
    /** @param {PointerEvent} event */
    const moved = (event) => {
      far ||= Math.abs(event.clientY - down.clientY) > FAR;
      if (!far) {
        return;
      }
      li.classList.add("dragged");
      for (const other of list.children) {
        const box = other.getBoundingClientRect();
        if (other === li || event.clientY < box.top || event.clientY > box.bottom) {
          continue;
        }
        const below = li.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
        const past = event.clientY > box.top + box.height / 2;
        if (below && past) {
          other.after(li);
        } else if (!below && !past) {
          other.before(li);
        }
        if (!handle.hasPointerCapture(event.pointerId)) {
          handle.setPointerCapture(event.pointerId); // a node that is moved loses it
        }
        break;
      }
    };
    const ended = () => {
      handle.removeEventListener("pointermove", moved);
      li.classList.remove("dragged");
      if (far) {
        count();
        tell(li);
      }
    };
    handle.addEventListener("pointermove", moved);
    handle.addEventListener("pointerup", ended, { once: true });
    handle.addEventListener("pointercancel", ended, { once: true });
  }
}
