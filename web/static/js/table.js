// The timeline's table. Of a long run only the rows around what is seen are
// in the page; two rows of empty space stand for the others.
import { elements, make, onPhone, onceDrawn } from "./dom.js";
import { rowInAddress } from "./place.js";
import { moved } from "./pointer.js";
import { INITIAL, intents, isFolded, pixels, reduce, rowsBetween, whole } from "./table-state.js";

/** @typedef {import("./film.js").Row} Row */

const ROOM = 8; // px between the current row and the edge of what is seen

/**
 * @param {{body: HTMLElement, scroller: HTMLElement}} place
 * @param {{seek: (step: number) => void, preview: (step: number) => void, inside: (step: number, moment: number) => void,
 *   see: (from: number, to: number) => void, missing: (step: number) => string}} on see: these steps are in the page now,
 *   or would be; missing: what to say of a row that is not here
 */
export function table({ body, scroller }, on) {
  let state = INITIAL;
  const above = space();
  const below = space();

  function space() {
    return make("tr", { class: "space", "aria-hidden": "true" }, make("td", {}));
  }

  /** @param {import("./table-state.js").Event} event */
  function happened(event) {
    const was = state;
    state = reduce(was, event);
    for (const one of intents(was, state)) {
      switch (one.kind) {
        case "others": standIns.clear(); break;
        case "place": place(); break;
        case "settle": settle(); break;
        case "mark": mark(one.from, one.to); break;
        case "fold": fold();
      }
    }
    if (state !== was) {
      spread();
    }
  }

  /** @type {Map<number, HTMLElement>} */
  const standIns = new Map(); // for rows that have not come yet, by index

  /** @type {WeakMap<Row, {list: HTMLElement[], whole: HTMLElement[], fold?: HTMLElement}>} */
  const known = new WeakMap();

  /** What was made of a row that is here, its fold apart. @param {Row} row */
  function partsOf(row) {
    if (!row.made) {
      row.unfold?.();
    }
    row.made ??= elements(row.html);
    let parts = known.get(row);
    if (parts?.whole !== row.made) {
      parts = { whole: row.made, list: row.made.filter((tr) => !tr.classList.contains("fold")), fold: row.made.find((tr) => tr.classList.contains("fold")) };
      known.set(row, parts);
      row.made.flatMap((tr) => [...tr.querySelectorAll("a, button, summary")]).forEach((e) => e.setAttribute("tabindex", "-1"));
    }
    return parts;
  }

  function made(/** @type {number} */ i) {
    const row = state.rows[i];
    if (!row) {
      return [standIn(i)];
    }
    standIns.delete(i);
    return partsOf(row).list;
  }

  function standIn(/** @type {number} */ i) {
    let tr = standIns.get(i);
    if (!tr) {
      const cell = make("td", { colspan: String(columns() - 1) });
      cell.style.height = `${state.guess}px`;
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
  const parts = (/** @type {number} */ i) => (whole(state) || state.open.has(i + 1) ? made(i) : [main(i)]);

  /** The indexes from a up to b. @param {number} a @param {number} b */
  const range = (a, b) => Array.from({ length: b - a }, (_, i) => a + i);

  /** The indexes of the rows in the page. */
  const here = () => range(state.placed.first, state.placed.last);

  /** Puts those rows into the page that are to be there, and no others. Those that
   *  stay are not touched. */
  function place() {
    const { rows, placed: { first, last } } = state;
    const part = !whole(state);
    let list = here().flatMap(parts);
    for (const { first, last } of state.folds) {
      const stands = partsOf(state.rows[last - 1]).fold;
      if (stands) {
        list.splice(list.indexOf(made(first - 1)[0]), 0, stands);
      }
    }
    document.documentElement.classList.toggle("windowed", part);
    if (part) {
      list = [above, ...list, below];
      body.closest("table")?.setAttribute("aria-rowcount", String(rows.length + 1));
      on.see(first + 1, last + 1);
    } else {
      body.closest("table")?.removeAttribute("aria-rowcount");
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
    if (part) {
      measure();
    }
  }

  /** Notes how high the rows are, and gives the others their room. */
  function measure() {
    happened({ type: "measured", heights: here().map((i) => parts(i).reduce((px, tr) => px + tr.getBoundingClientRect().height, 0)) });
    const { rows, placed } = state;
    for (const [tr, px] of /** @type {[HTMLElement, number][]} */ ([[above, pixels(state, 0, placed.first)], [below, pixels(state, placed.last, rows.length)]])) {
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
    const { a, b, before } = rowsBetween(state, Math.max(box.top, 0) - start, Math.min(box.bottom, innerHeight) - start);
    return { a, b, at: start + before };
  }

  /** Puts the rows into the page that are seen, where they are not, so that
   *  what one looks at stays where it is. */
  function settle() {
    const { a, b, at } = seen();
    const tr = main(a);
    keep(tr, tr.isConnected ? tr.getBoundingClientRect().top : at, () => happened({ type: "seen", a, b }));
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
    if (whole(state) || asked) {
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
    const tr = here().map(main).find((e) => e.getBoundingClientRect().bottom > Math.max(scroller.getBoundingClientRect().top, 0));
    if (!whole(state) && tr) {
      happened({ type: "narrowed" }); // narrower rows are higher
      keep(tr, tr.getBoundingClientRect().top, measure);
      later();
    }
  });

  /** Brings the row into sight that the address names, and that the browser
   *  does not find where it is not in the page. */
  function named(address = location.href) {
    const step = rowInAddress(address);
    const was = state;
    happened({ type: "named", step });
    if (state !== was) {
      scrolled(() => reveal(main(step - 1)));
    }
  }
  addEventListener("hashchange", (event) => named(event.newURL)); // the address itself may already say where you are

  const stepOf = (/** @type {Event} */ event) => {
    const tr = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("tr[data-step]:not(.fold)"));
    return tr ? { step: Number(tr.dataset.step), moment: tr.dataset.moment ? Number(tr.dataset.moment) : 0 } : null;
  };
  body.addEventListener("click", (event) => {
    const folded = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("tr.fold"));
    if (folded) {
      happened({ type: "pressed", first: Number(folded.dataset.first) });
      return;
    }
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
  body.addEventListener("pointermove", (event) => {
    if (moved(event)) {
      previews(event);
    }
  });
  body.addEventListener("pointerleave", () => on.preview(0));

  // The table is one tab stop: the current row, or the row that has the focus.
  scroller.removeAttribute("tabindex");
  const STOPS = "a.t, button.unfold, summary";
  const stopsOf = () => /** @type {HTMLElement[]} */ ([...body.querySelectorAll(STOPS)]).filter((e) => e.checkVisibility());
  /** @type {HTMLElement | null} */
  let stop = null;
  /** @param {HTMLElement | null} to */
  function stopAt(to) {
    stop?.setAttribute("tabindex", "-1");
    stop = to;
    stop?.setAttribute("tabindex", "0");
  }
  body.addEventListener("focusin", (event) => stopAt(/** @type {Element} */ (event.target).closest(STOPS)));
  body.addEventListener("keydown", (event) => {
    const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const list = way ? stopsOf() : [];
    const next = list[list.indexOf(/** @type {HTMLElement} */ (event.target)) + (way ?? 0)];
    if (way && list.includes(/** @type {HTMLElement} */ (event.target))) {
      event.preventDefault();
      next?.focus();
    }
  });

  /** The row where one stands is the tab stop; a focus that was in a row that is not in sight goes there. */
  function restop() {
    const focused = /** @type {HTMLElement | null} */ (body.contains(document.activeElement) ? document.activeElement : null);
    if (focused?.checkVisibility()) {
      return;
    }
    const row = state.rows.length > 0 ? main(Math.min(Math.max(state.current, 1), state.rows.length) - 1) : null;
    const within = row?.classList.contains("folded") ? body.querySelector("tr.fold:not([hidden])") : row;
    stopAt(within?.querySelector(STOPS) ?? null);
    if (focused) {
      stop?.focus({ preventScroll: true });
    }
  }

  /** Shows of each fold its rows, or the row that stands for them. */
  function fold() {
    for (const one of state.folds) {
      const closed = isFolded(state, one);
      for (let i = one.first - 1; i < one.last; i++) {
        made(i).forEach((tr) => tr.classList.toggle("folded", closed));
      }
      const stands = partsOf(state.rows[one.last - 1]).fold;
      if (stands) {
        stands.hidden = !closed && !state.unfolded.has(one.first);
        stands.classList.toggle("future", state.current < one.first);
        stands.querySelector(".unfold")?.setAttribute("aria-expanded", String(!closed));
      }
    }
    restop();
  }

  /** Shows at rows in the page whether each is over, now, or still to come.
   *  @param {number} from @param {number} to */
  function mark(from, to) {
    const { placed, current, moment, open } = state;
    for (let i = Math.max(from, placed.first); i < Math.min(to, placed.last); i++) {
      const step = i + 1;
      if (!whole(state)) {
        main(i).setAttribute("aria-rowindex", String(step + 1)); // the head is the first
      }
      for (const tr of made(i)) {
        const sub = Number(tr.dataset.moment ?? 0);
        const now = step === current && sub === moment;
        tr.classList.toggle("future", step > current || (step === current && moment > 0 && sub > moment));
        tr.hidden = sub > 0 && !open.has(step);
        if (now) {
          tr.setAttribute("aria-current", "step");
        } else {
          tr.removeAttribute("aria-current");
        }
      }
    }
  }

  const ran = make("tr", { class: "ran" }, make("td", {}));

  /** Where columns are narrow, the commands of the current row stand below it, over the whole width. */
  function spread() {
    const row = state.moment === 0 && state.current > 0 && columns() > 5 ? body.querySelector("tr[aria-current]") : null;
    const commands = row ? [...row.querySelectorAll(columns() > 7 ? ".acting :is(.command, .note, .violation)" : ".acting :is(.command, .note)")] : [];
    body.querySelectorAll(".spread").forEach((other) => other.classList.toggle("spread", other === row && commands.length > 0));
    if (!row || commands.length === 0) {
      ran.remove();
      return;
    }
    if (ran.previousElementSibling !== row) {
      const cell = /** @type {HTMLElement} */ (ran.firstElementChild);
      cell.setAttribute("colspan", String(columns()));
      cell.replaceChildren(make("div", { class: "all" }, ...commands.flatMap((command, i) => (i > 0 ? [" · ", command.cloneNode(true)] : [command.cloneNode(true)]))));
      row.after(ran);
    }
    row.classList.add("spread");
  }

  /** Has a phone show the stage and the sentence, of which the first gives way: its button is what
   *  comes next. The current row sticks above the dock meanwhile. False where that is not so: on
   *  a desk, and where rows come and go. */
  function toStage() {
    const stage = document.getElementById("stage")?.getBoundingClientRect();
    const why = document.getElementById("sentence")?.getBoundingClientRect();
    if (!stage?.height || !why || !onPhone() || (!whole(state) && stage.bottom < stage.height / 2)) {
      return false;
    }
    const up = Math.min(stage.top - 2 * ROOM, 0);
    const below = why.bottom - up - (document.querySelector(".foot")?.getBoundingClientRect().top ?? innerHeight);
    scrollBy({ top: up + Math.max(0, Math.min(below, why.top - up)), behavior: "instant" });
    return true;
  }

  /** Scrolls a row into sight: in the table's box, where that scrolls by itself, and the page where
   *  the box is not in sight. A page around an embed stays where it is.
   *  @param {HTMLElement} tr */
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

  /** Scrolls at the end of the frame. Where rows come and go, it scrolls at once: a settle
   *  before it would take the row out again. @param {() => void} act */
  const scrolled = (act) => (whole(state) ? onceDrawn(body, act) : act());

  /** Brings a row into sight, or the beginning.
   *  @param {HTMLElement | null} tr @param {boolean} boxed the page stays where it is */
  function bring(tr, boxed) {
    if (!boxed && (tr || scrollY > 0) && toStage()) {
      return;
    }
    if (!tr) {
      scroller.scrollTop = 0;
    } else if (!boxed) {
      reveal(tr);
    } else {
      if (scroller.scrollHeight > scroller.clientHeight + 1) {
        inBox(tr);
      }
      sideways(tr);
    }
  }

  /** @param {HTMLElement} tr */
  function inBox(tr) {
    const head = scroller.querySelector("thead")?.offsetHeight ?? 0;
    const top = tr.offsetTop - head;
    const asked = tr === body.lastElementChild ? /** @type {HTMLElement | null} */ (scroller.querySelector(".asked")) : null; // what is asked of the row after it
    const bottom = tr.offsetTop + tr.offsetHeight + (tr.nextElementSibling === ran ? ran.offsetHeight : 0) + (asked?.offsetHeight ?? 0);
    if (scroller.scrollTop > top || bottom - top > scroller.clientHeight) {
      scroller.scrollTop = top; // of what does not fit the beginning
    } else if (scroller.scrollTop + scroller.clientHeight < bottom) {
      scroller.scrollTop = bottom - scroller.clientHeight;
    }
  }

  /** @type {HTMLElement | null} */
  let followed = null; // the row that was brought into sight, until a person scrolls
  for (const by of ["wheel", "touchmove", "pointerdown"]) {
    scroller.addEventListener(by, () => (followed = null), { passive: true });
  }
  // Things that come or go around the box change its room, and the row stays in sight.
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
     * Shows rows, at a step and, inside it, at a command.
     * @param {Row[]} list
     * @param {number} step 0 before the first
     * @param {number} moment 0 outside
     * @param {boolean | "box"} follow scroll to where you are: "box" scrolls the table's box alone, and never the page
     */
    draw(list, step, moment, follow) {
      const { lists } = state;
      body.classList.toggle("begun", step > 0);
      happened({ type: "drawn", rows: list, step, moment, follow: Boolean(follow) });
      if (state.lists !== lists) {
        named();
      }
      const now = step === 0 ? null : made(step - 1).find((tr) => Number(tr.dataset.moment ?? 0) === moment);
      followed = follow && now ? now : null;
      if (follow) {
        scrolled(() => bring(now ?? null, follow === "box"));
      }
    },
    /** Marks the row that is pointed at elsewhere. @param {number} step 0 for none */
    point(step) {
      body.querySelector(".pointed")?.classList.remove("pointed");
      document.getElementById(`row-${step}`)?.classList.add("pointed");
    },
    /** The rows have changed though the list is the same. */
    changed() {
      happened({ type: "changed" });
    },
  };
}
