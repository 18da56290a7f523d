// The timeline's table. Of a long run only the rows around what is seen are
// in the page; two rows of empty space stand for the others.
import { elements, make } from "./dom.js";

/** @typedef {import("./film.js").Row} Row */

const MOST = 500; // rows that are all in the page
const WINDOW = 160; // rows in the page, of more
const GUESS = 90; // px of a row that was never seen

/**
 * @param {{body: HTMLElement, scroller: HTMLElement}} place
 * @param {{seek: (step: number) => void, preview: (step: number) => void, inside: (step: number, moment: number) => void}} on
 */
export function table({ body, scroller }, on) {
  /** @type {Row[]} */
  let rows = [];
  let first = 0; // of the rows in the page
  let last = 0; // and after them
  let current = 0; // step
  let fresh = false; // the rows have changed
  /** @type {number[]} */
  let heights = [];
  /** @type {Set<number>} */
  const open = new Set(); // steps whose commands are shown
  const above = space();
  const below = space();

  const height = (/** @type {number} */ i) => heights[i] ?? GUESS;
  const sum = (/** @type {number} */ from, /** @type {number} */ to) => {
    let px = 0;
    for (let i = from; i < to; i++) {
      px += height(i);
    }
    return px;
  };

  function space() {
    const cell = make("td", { colspan: "99" });
    return make("tr", { class: "space", "aria-hidden": "true" }, cell);
  }

  function made(/** @type {Row} */ row) {
    row.made ??= elements(row.html);
    return row.made;
  }

  /** Puts rows into the page so that row i is among them. */
  function place(/** @type {number} */ i) {
    const all = rows.length <= MOST;
    first = all ? 0 : Math.max(0, Math.min(i - WINDOW / 2, rows.length - WINDOW));
    last = all ? rows.length : Math.min(rows.length, first + WINDOW);
    const wanted = rows.slice(first, last).flatMap(made);
    /** @type {HTMLElement[]} */
    const list = all ? wanted : [above, ...wanted, below];
    if (body.children.length !== list.length || list.some((tr, n) => body.children[n] !== tr)) {
      body.replaceChildren(...list);
    }
    if (!all) {
      /** @type {HTMLElement} */ (above.firstElementChild).style.height = `${sum(0, first)}px`;
      /** @type {HTMLElement} */ (below.firstElementChild).style.height = `${sum(last, rows.length)}px`;
    }
  }

  function measure() {
    for (let i = first; i < last; i++) {
      heights[i] = made(rows[i]).reduce((px, tr) => px + tr.offsetHeight, 0);
    }
  }

  let asked = false;
  scroller.addEventListener("scroll", () => {
    if (rows.length <= MOST || asked) {
      return;
    }
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      let i = 0;
      for (let px = scroller.scrollTop; i < rows.length - 1 && px > height(i); i++) {
        px -= height(i);
      }
      if ((i < first + 20 && first > 0) || (i > last - 40 && last < rows.length)) {
        measure();
        place(i);
        mark();
      }
    });
  });

  const stepOf = (/** @type {Event} */ event) => {
    const tr = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("tr[data-step]"));
    return tr ? { step: Number(tr.dataset.step), moment: tr.dataset.moment ? Number(tr.dataset.moment) : 0 } : null;
  };
  body.addEventListener("click", (event) => {
    const where = stepOf(event);
    const control = /** @type {Element} */ (event.target).closest("a, button");
    if (!where || (control && !control.classList.contains("t")) || !getSelection()?.isCollapsed) {
      return;
    }
    event.preventDefault();
    if (where.moment > 0) {
      on.inside(where.step, where.moment);
    } else {
      on.seek(where.step);
    }
  });
  const previews = (/** @type {Event} */ event) => on.preview(stepOf(event)?.step ?? 0);
  body.addEventListener("mouseover", previews);
  body.addEventListener("focusin", previews);
  body.addEventListener("mouseleave", () => on.preview(0));
  body.addEventListener("focusout", () => on.preview(0));

  /** Shows at each row in the page whether it is over, now, or still to come. */
  function mark(moment = 0) {
    for (let i = first; i < last; i++) {
      for (const tr of made(rows[i])) {
        const sub = Number(tr.dataset.moment ?? 0);
        const now = rows[i].step === current && sub === moment;
        tr.classList.toggle("future", rows[i].step > current || (rows[i].step === current && moment > 0 && sub > moment));
        tr.hidden = sub > 0 && !open.has(rows[i].step);
        if (now) {
          tr.setAttribute("aria-current", "step");
        } else {
          tr.removeAttribute("aria-current");
        }
      }
    }
  }

  /** Scrolls a row into sight, the page itself only where the table does not
   *  scroll by itself. @param {HTMLElement} tr */
  function reveal(tr) {
    if (scroller.scrollHeight <= scroller.clientHeight + 1) {
      tr.scrollIntoView({ block: "nearest" });
      return;
    }
    const head = scroller.querySelector("thead")?.offsetHeight ?? 0;
    const top = tr.offsetTop - head;
    if (scroller.scrollTop > top) {
      scroller.scrollTop = top;
    } else if (scroller.scrollTop + scroller.clientHeight < tr.offsetTop + tr.offsetHeight) {
      scroller.scrollTop = tr.offsetTop + tr.offsetHeight - scroller.clientHeight;
    }
  }

  return {
    /**
     * Shows rows, standing at a step and, inside of it, at a command.
     * @param {Row[]} list
     * @param {number} step 0 before the first
     * @param {number} moment 0 outside
     * @param {boolean} follow scroll to where one stands
     */
    draw(list, step, moment, follow) {
      if (list !== rows) {
        rows = list;
        heights = [];
        fresh = true;
      }
      if (moment > 0) {
        open.add(step);
      } else if (step !== current) {
        open.clear();
      }
      current = step;
      const i = Math.max(step - 1, 0);
      if (fresh || rows.length <= MOST || i < first || i >= last || last > rows.length || (last < rows.length && last - first < WINDOW)) {
        place(i);
        fresh = false;
      }
      mark(moment);
      const now = step === 0 ? null : made(rows[i]).find((tr) => Number(tr.dataset.moment ?? 0) === moment);
      if (follow && now) {
        reveal(now);
      } else if (follow) {
        scroller.scrollTop = 0;
      }
    },
    /** Marks the row that is pointed at elsewhere. @param {number} step 0 for none */
    point(step) {
      body.querySelector(".pointed")?.classList.remove("pointed");
      document.getElementById(`row-${step}`)?.classList.add("pointed");
    },
    /** The rows have changed though the list is the same. */
    changed() {
      fresh = true;
    },
  };
}
