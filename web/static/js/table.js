// The timeline's table. Of a long run only the rows around what is seen are
// in the page; two rows of empty space stand for the others.
import { elements, make } from "./dom.js";
import { rowInAddress } from "./place.js";

/** @typedef {import("./film.js").Row} Row */

const MOST = 500; // rows that are all in the page
const AROUND = 12; // rows in the page before and after those that are seen, of more
const NEAR = 4; // when fewer are left there, others are put into the page
const ROOM = 8; // px between the row that one stands at and the edge of what is seen
const GUESS = 90; // px of a row while none was seen

/**
 * The rows between two edges, which are in px from the start of the first row.
 * @param {number} count of rows, at least one
 * @param {(i: number) => number} height of a row, in px
 * @param {number} top
 * @param {number} bottom
 * @returns {{a: number, b: number, before: number}} from the first one up to the one after the last, at least one; and the px before them
 */
export function rowsBetween(count, height, top, bottom) {
  let a = 0;
  let px = height(0);
  while (a < count - 1 && px <= top) {
    a++;
    px += height(a);
  }
  const before = px - height(a);
  let b = a + 1;
  while (b < count && px < bottom) {
    px += height(b);
    b++;
  }
  return { a, b, before };
}

/**
 * @param {{body: HTMLElement, scroller: HTMLElement}} place
 * @param {{seek: (step: number) => void, preview: (step: number) => void, inside: (step: number, moment: number) => void,
 *   see: (from: number, to: number) => void, missing: (step: number) => string}} on see: these steps are in the page now,
 *   or would be; missing: what to say of a row that is not here
 */
export function table({ body, scroller }, on) {
  /** @type {Row[]} */
  let rows = []; // undefined where they have not come yet
  let partly = false; // some have not come yet, or had not at first
  let first = 0; // of the rows in the page
  let last = 0; // and after them
  let current = 0; // step
  let currentMoment = 0;
  let fresh = false; // the rows have changed
  /** @type {number[]} */
  let heights = []; // in px, of rows that were in the page
  let guess = GUESS;
  /** @type {Set<number>} */
  const open = new Set(); // steps whose commands are shown
  const above = space();
  const below = space();

  const whole = () => !partly && rows.length <= MOST;
  const height = (/** @type {number} */ i) => heights[i] ?? guess;
  const sum = (/** @type {number} */ from, /** @type {number} */ to) => {
    let px = 0;
    for (let i = from; i < to; i++) {
      px += height(i);
    }
    return px;
  };

  function space() {
    return make("tr", { class: "space", "aria-hidden": "true" }, make("td", {}));
  }

  /** @type {Map<number, HTMLElement>} */
  const standIns = new Map(); // for rows that have not come yet, by index

  function made(/** @type {number} */ i) {
    const row = rows[i];
    if (!row) {
      return [standIn(i)];
    }
    standIns.delete(i);
    if (!row.made) {
      row.unfold?.();
    }
    row.made ??= elements(row.html);
    return row.made;
  }

  function standIn(/** @type {number} */ i) {
    let tr = standIns.get(i);
    if (!tr) {
      const cell = make("td", { colspan: String(columns() - 1) });
      cell.style.height = `${guess}px`;
      tr = make("tr", { class: "coming", "data-step": String(i + 1) }, make("th", { scope: "row", class: "time" }, `T${i + 1}`), cell);
      standIns.set(i, tr);
    }
    const text = on.missing(i + 1);
    const cell = /** @type {HTMLElement} */ (tr.lastElementChild);
    if (cell.textContent !== text) {
      cell.textContent = text;
    }
    return tr;
  }

  const columns = () => body.closest("table")?.tHead?.rows[0]?.cells.length ?? 2;

  /** The row itself: its commands stand before it. */
  const main = (/** @type {number} */ i) => made(i)[made(i).length - 1];

  /** The elements of a row that are to be in the page. */
  const parts = (/** @type {number} */ i) => (whole() || open.has(i + 1) ? made(i) : [main(i)]);

  /** The indexes from a up to b. @param {number} a @param {number} b */
  const range = (a, b) => Array.from({ length: b - a }, (_, i) => a + i);

  /** Puts the rows from a up to b into the page, and no others. Those that
   *  stay are not touched. @param {number} a @param {number} b */
  function place(a, b) {
    first = whole() ? 0 : Math.max(0, a);
    last = whole() ? rows.length : Math.min(rows.length, b);
    let list = range(first, last).flatMap(parts);
    if (!whole()) {
      list = [above, ...list, below];
      on.see(first + 1, last + 1);
    }
    const wanted = new Set(list);
    for (const tr of [...body.children]) {
      if (!wanted.has(/** @type {HTMLElement} */ (tr))) {
        tr.remove();
      }
    }
    let next = body.firstElementChild;
    for (const tr of list) {
      if (tr === next) {
        next = next.nextElementSibling;
      } else {
        body.insertBefore(tr, next);
      }
    }
    mark(first, last);
    if (!whole()) {
      measure();
    }
  }

  /** Notes how high the rows are, and gives the others their room. */
  function measure() {
    for (let i = first; i < last; i++) {
      heights[i] = parts(i).reduce((px, tr) => px + tr.getBoundingClientRect().height, 0);
    }
    const seen = Object.values(heights);
    guess = seen.reduce((px, h) => px + h, 0) / seen.length;
    for (const [tr, px] of /** @type {[HTMLElement, number][]} */ ([[above, sum(0, first)], [below, sum(last, rows.length)]])) {
      const cell = /** @type {HTMLElement} */ (tr.firstElementChild);
      cell.setAttribute("colspan", String(columns()));
      cell.style.height = `${px}px`;
    }
  }

  /** What scrolls: the table's box, or on a phone the page. */
  const scrolls = () => (scroller.scrollHeight > scroller.clientHeight + 1 ? scroller : /** @type {Element} */ (document.scrollingElement));

  /** The rows that are seen, and where the first of them is on the screen. */
  function seen() {
    const box = scroller.getBoundingClientRect();
    const start = body.getBoundingClientRect().top;
    const { a, b, before } = rowsBetween(rows.length, height, Math.max(box.top, 0) - start, Math.min(box.bottom, innerHeight) - start);
    return { a, b, at: start + before };
  }

  /** Puts the rows into the page that are seen, where they are not, so that
   *  what one looks at stays where it is. */
  function settle() {
    const { a, b, at } = seen();
    const near = (a - NEAR < first && first > 0) || (b + NEAR > last && last < rows.length);
    if (!near && !fresh) {
      return;
    }
    fresh = false;
    const tr = main(a);
    keep(tr, tr.isConnected ? tr.getBoundingClientRect().top : at, () => place(a - AROUND, b + AROUND));
  }

  /** Leaves a row where it is on the screen, whatever is done around it.
   *  @param {HTMLElement} tr @param {number} top where it is
   *  @param {() => void} act */
  function keep(tr, top, act) {
    act();
    const by = tr.getBoundingClientRect().top - top;
    if (by !== 0) {
      scrolls().scrollTop += by;
    }
  }

  let asked = false;
  function later() {
    if (whole() || asked) {
      return;
    }
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      settle();
    });
  }
  document.addEventListener("scroll", later, { capture: true, passive: true });
  addEventListener("resize", () => {
    const tr = range(first, last).map(main).find((e) => e.getBoundingClientRect().bottom > Math.max(scroller.getBoundingClientRect().top, 0));
    if (!whole() && tr) {
      heights = []; // narrower rows are higher
      keep(tr, tr.getBoundingClientRect().top, measure);
      later();
    }
  });

  /** Brings the row into sight that the address names, and that the browser
   *  does not find where it is not in the page. */
  function named() {
    const step = rowInAddress();
    if (step > 0 && step <= rows.length && !whole()) {
      place(step - 1 - AROUND, step + AROUND);
      reveal(main(step - 1));
    }
  }
  addEventListener("hashchange", named);

  const stepOf = (/** @type {Event} */ event) => {
    const tr = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("tr[data-step]"));
    return tr ? { step: Number(tr.dataset.step), moment: tr.dataset.moment ? Number(tr.dataset.moment) : 0 } : null;
  };
  body.addEventListener("click", (event) => {
    const where = stepOf(event);
    const control = /** @type {Element} */ (event.target).closest("a, button, summary");
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

  /** Shows at rows in the page whether each is over, now, or still to come.
   *  @param {number} from @param {number} to */
  function mark(from, to) {
    for (let i = Math.max(from, first); i < Math.min(to, last); i++) {
      const step = i + 1;
      if (!whole()) {
        main(i).setAttribute("aria-rowindex", String(step + 1)); // the head is the first
      }
      for (const tr of made(i)) {
        const sub = Number(tr.dataset.moment ?? 0);
        const now = step === current && sub === currentMoment;
        tr.classList.toggle("future", step > current || (step === current && currentMoment > 0 && sub > currentMoment));
        tr.hidden = sub > 0 && !open.has(step);
        if (now) {
          tr.setAttribute("aria-current", "step");
        } else {
          tr.removeAttribute("aria-current");
        }
      }
    }
  }

  /** Scrolls a row into sight: in the table's box, where that scrolls by
   *  itself, and the page where the box is not in sight. A page around an embed
   *  stays where it is. @param {HTMLElement} tr */
  function reveal(tr) {
    if (scroller.scrollHeight > scroller.clientHeight + 1) {
      inBox(tr);
    }
    sideways(tr);
    const [row, box] = [tr.getBoundingClientRect(), scroller.getBoundingClientRect()];
    const [top, bottom] = [Math.max(row.top, box.top), Math.min(row.bottom, box.bottom)];
    const end = Math.min(innerHeight, document.querySelector(".foot")?.getBoundingClientRect().top ?? innerHeight);
    if (bottom > end) {
      scrollBy(0, Math.min(bottom - end + ROOM, top));
    } else if (top < 0) {
      scrollBy(0, top - ROOM);
    }
  }

  /** @param {HTMLElement} tr */
  function inBox(tr) {
    const head = scroller.querySelector("thead")?.offsetHeight ?? 0;
    const top = tr.offsetTop - head;
    if (scroller.scrollTop > top || tr.offsetHeight > scroller.clientHeight - head) {
      scroller.scrollTop = top; // of what does not fit the beginning
    } else if (scroller.scrollTop + scroller.clientHeight < tr.offsetTop + tr.offsetHeight) {
      scroller.scrollTop = tr.offsetTop + tr.offsetHeight - scroller.clientHeight;
    }
  }

  /** @type {HTMLElement | null} */
  let followed = null; // the row that was brought into sight, until a person scrolls
  for (const by of ["wheel", "touchmove", "pointerdown"]) {
    scroller.addEventListener(by, () => (followed = null), { passive: true });
  }
  // What comes or goes around the box takes room of it, and the row stays in sight.
  new ResizeObserver(() => {
    if (followed?.isConnected && scroller.scrollHeight > scroller.clientHeight + 1) {
      inBox(followed);
    }
  }).observe(scroller);

  /** Brings the cell of who acts between the columns that stay.
   *  @param {HTMLElement} tr */
  function sideways(tr) {
    const cell = tr.querySelector(".cell.acting, .inner > .cell:not(:empty)");
    const [time, key] = [tr.querySelector(".time"), tr.querySelector(".key")];
    if (!cell || !time || !key || scroller.scrollWidth <= scroller.clientWidth) {
      return;
    }
    const { left, right } = cell.getBoundingClientRect();
    const hidden = right - key.getBoundingClientRect().left;
    const before = time.getBoundingClientRect().right - left;
    if (before > 0 || hidden > 0) {
      scroller.scrollLeft += before > 0 ? -before : hidden;
    }
  }

  return {
    /**
     * Shows rows, standing at a step and, inside of it, at a command.
     * @param {Row[]} list
     * @param {number} step 0 before the first
     * @param {number} moment 0 outside
     * @param {boolean | "box"} follow scroll to where one stands: "box" scrolls the table's box alone, and never the page
     */
    draw(list, step, moment, follow) {
      const others = list !== rows && list[0] !== rows[0]; // else they have grown
      fresh ||= list !== rows;
      rows = list;
      if (others) {
        partly = list.includes(/** @type {any} */ (undefined));
        heights = [];
        standIns.clear();
      }
      document.documentElement.classList.toggle("windowed", !whole());
      if (whole()) {
        body.closest("table")?.removeAttribute("aria-rowcount");
      } else {
        body.closest("table")?.setAttribute("aria-rowcount", String(rows.length + 1));
      }
      const was = current;
      const opened = open.size > 0 || moment > 0;
      if (moment > 0) {
        open.add(step);
      } else if (step !== current) {
        open.clear();
      }
      current = step;
      currentMoment = moment;
      const i = Math.max(step - 1, 0);
      if (whole() ? fresh : Boolean(follow) && (fresh || i < first || i >= last)) {
        fresh = false;
        place(i - AROUND, i + AROUND);
      } else if (!whole() && fresh) {
        settle();
      } else if (!whole() && opened) {
        place(first, last);
      } else {
        mark(Math.min(was, step) - 1, Math.max(was, step));
      }
      if (others) {
        named();
      }
      const now = step === 0 ? null : made(i).find((tr) => Number(tr.dataset.moment ?? 0) === moment);
      followed = follow && now ? now : null;
      if (follow === "box" && now) {
        if (scroller.scrollHeight > scroller.clientHeight + 1) {
          inBox(now);
        }
        sideways(now);
      } else if (follow && now) {
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
