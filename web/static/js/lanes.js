// The picture of a run: pointing at a step, and the line that marks one.
import { onceDrawn } from "./dom.js";
import { moved } from "./pointer.js";

/**
 * @typedef {object} Lanes
 * @property {(step: number | null) => void} cursor stands on a step, and has
 *   it in view; null, or a step that is not in the picture, stands nowhere.
 *   Call it again after draw.
 * @property {(html: string) => void} draw shows another picture, which the
 *   server drew; what is seen stays where it is
 * @property {(step: number, steps: number) => boolean} around tells whether a
 *   step of so many is in it, with some before and after: of a long run there
 *   is only a part
 * @property {(step: number, part: number) => number | null} flow has the clock
 *   stand between a step and the next one, 0 to 1 of the way; the time since
 *   the step in ms, or null where there is no next one in the picture
 * @property {(at: number, text: string, told: string) => void} clock says what the clock shows: in its pill, and to who hears it
 * @property {() => boolean} inSight tells whether the clock is in the part that the box shows
 * @property {(place: number, along: boolean) => void} stand has the clock stand at a place, in % of the width, and scrolls along with it
 * @property {() => number} room how many units of a picture the box shows at once
 * @property {(step: number | null) => void} preview marks the step that is
 *   pointed at elsewhere; null marks none
 */

const BESIDE = 8; // steps on each side of the current one
const RIM = 28; // px at the box's edges where a drag goes on by itself
const ALONG = 80; // ms between its steps
const START = 20; // units from the left edge of a picture to its first row (leadIn in package film)

/**
 * Wires the box of a picture, whose content may be replaced at any time.
 * @param {HTMLElement} box what templates.LanesBox renders
 * @param {{step: (step: number) => void, preview: (step: number | null) => void, clock?: (step: number, part: number) => void, live?: boolean}} on
 *   what is called when a step was chosen, at each move of the mouse over one or
 *   over none, and when the clock was moved between a step and the next; of a live
 *   run, whose next picture would end a smooth scroll, the box scrolls at once
 * @returns {Lanes}
 */
export function lanes(box, on) {
  /** @param {Event} event */
  const stepOf = (event) => {
    const hit = event.target instanceof Element ? event.target.closest("[data-step]") : null;
    return hit ? Number(hit.getAttribute("data-step")) : null;
  };
  box.addEventListener("click", (event) => {
    const step = stepOf(event);
    if (step !== null && !dragged) {
      on.step(step);
    }
  });
  box.addEventListener("pointermove", (event) => {
    if (moved(event)) {
      on.preview(stepOf(event));
    }
  });
  box.addEventListener("pointerleave", () => on.preview(null));

  // ---- the clock

  /** A part of the width in %, as the picture has it. @param {Element} hit @param {string} name */
  const part = (hit, name) => parseFloat(hit.getAttribute(name) ?? "0");

  /** Between which steps a place is. @param {number} x in % */
  function between(x) {
    const hits = [...box.querySelectorAll("[data-step]")];
    const i = Math.max(0, hits.findLastIndex((hit) => part(hit, "data-x") <= x));
    if (!hits[i]) {
      return null;
    }
    const from = part(hits[i], "data-x");
    const wide = hits[i + 1] ? part(hits[i + 1], "data-x") - from : 0;
    const on = wide > 0 ? Math.max(0, Math.min(1, (x - from) / wide)) : 0;
    return { step: Number(hits[i].getAttribute("data-step")), part: Math.min(on, 0.999) };
  }

  let dragged = false; // since the button went down
  let held = -1; // the pointer that drags
  let from = 0;
  let to = 0; // where it is
  let going = 0; // timer of a drag that goes on
  function drag() {
    const run = box.querySelector(".lanes-run")?.getBoundingClientRect();
    const where = run && between(((to - run.left) / run.width) * 100);
    if (where) {
      on.clock?.(where.step, where.part);
    }
    clearTimeout(going);
    going = held >= 0 && beyond() !== 0 ? window.setTimeout(goOn, ALONG) : 0;
  }

  /** Whether the pointer is at the box's right edge, 1, or at the names, -1. */
  function beyond() {
    const { right } = box.getBoundingClientRect();
    const left = box.querySelector(".lanes-names")?.getBoundingClientRect().right ?? 0;
    return to > right - RIM ? 1 : to < left + RIM ? -1 : 0;
  }

  /** Who drags to the edge goes on there, also to rows whose lanes are still to come. */
  function goOn() {
    box.scrollLeft += beyond() * RIM;
    drag();
  }
  box.addEventListener("pointerdown", (event) => {
    dragged = false;
    const target = /** @type {Element} */ (event.target);
    const grip = target.closest("[data-clock]");
    if (!on.clock || event.button !== 0 || !(grip || (event.pointerType === "mouse" && target.closest(".lanes-run")))) {
      return;
    }
    held = event.pointerId;
    from = event.clientX;
    if (grip) {
      event.preventDefault();
      /** @type {SVGElement} */ (grip).focus();
    }
  });
  addEventListener("pointermove", (event) => {
    if (event.pointerId === held && (dragged || Math.abs(event.clientX - from) > 4)) {
      dragged = true;
      to = event.clientX;
      drag();
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, (event) => {
      if (/** @type {PointerEvent} */ (event).pointerId === held) {
        held = -1;
        clearTimeout(going);
      }
    });
  }
  box.addEventListener("keydown", (event) => {
    const clock = /** @type {Element} */ (event.target).closest("[data-clock]");
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    const run = box.querySelector(".lanes-run");
    const line = box.querySelector("[data-cursor]");
    if (!clock || !way || !run || !line || !on.clock) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const px = event.shiftKey ? 24 : 6;
    const where = between(part(line, "x") + (way * px * 100) / run.getBoundingClientRect().width);
    if (where) {
      on.clock(where.step, where.part);
    }
  });

  /** @param {number | null} step */
  const find = (step) => (step === null ? null : box.querySelector(`[data-step="${step}"]`));

  /** Where a step stands, in px. @param {Element} hit */
  function standing(hit) {
    const run = /** @type {Element} */ (hit.closest(".lanes-run")).getBoundingClientRect();
    return run.left + (run.width * part(hit, "data-x")) / 100;
  }

  /** The steps that are in view, and where. */
  function inView() {
    const edge = box.querySelector(".lanes-names")?.getBoundingClientRect().right ?? 0;
    const end = box.getBoundingClientRect().right;
    return [...box.querySelectorAll("[data-step]")]
      .map((hit) => ({ step: Number(hit.getAttribute("data-step")), at: standing(hit) }))
      .filter(({ at }) => at > edge && at < end);
  }

  /** Fades what comes after a place. @param {number | null} x in %, null for nothing */
  function fade(x) {
    const later = box.querySelector("[data-later]");
    if (x === null) {
      later?.setAttribute("display", "none");
    } else {
      later?.setAttribute("x", `${x}%`);
      later?.removeAttribute("display");
    }
    for (const mark of box.querySelectorAll(".lane-flag, .lane-event, .lane-time, .lane-at")) { // above the lanes, and below
      mark.classList.toggle("to-come", x !== null && part(mark, "x") > x);
    }
  }

  /**
   * Scrolls the box, and nothing around it, until an element is clear of the
   * names at the left, and leaves a third of the lanes for what comes.
   * @param {Element} el
   */
  function show(el) {
    const place = el.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    const names = box.querySelector(".lanes-names")?.getBoundingClientRect().width ?? 0;
    const wide = frame.width - names;
    const left = place.left - (frame.left + names + Math.min(80, wide / 4));
    const right = place.right - (frame.right - wide / 3);
    const by = left < 0 ? left : right > 0 ? right : 0;
    if (by !== 0) {
      const atOnce = on.live || held >= 0 || matchMedia("(prefers-reduced-motion: reduce)").matches;
      box.scrollBy({ left: by, behavior: atOnce ? "instant" : "smooth" });
    }
  }

  /** @type {Element | null} */
  let wanted = null; // what is to be in view
  /** @type {ReturnType<typeof inView> | null} */
  let seen = null; // in the picture before

  /** Scrolls to what is wanted; what was seen in the picture before stays where it was. */
  function settle() {
    const stays = seen?.find(({ step }) => find(step));
    const now = stays && find(stays.step);
    if (stays && now) {
      box.scrollLeft += standing(now) - stays.at;
    }
    if (wanted?.isConnected) {
      show(wanted);
    }
    seen = wanted = null;
    whole();
  }

  /** Hides the texts whose beginning is under the names. */
  function whole() {
    const run = box.querySelector(".lanes-run");
    const names = box.querySelector(".lanes-names");
    if (!run || !names) {
      return;
    }
    const { left, width } = run.getBoundingClientRect();
    const edge = names.getBoundingClientRect().right;
    const unit = width / Number(run.getAttribute("width"));
    for (const text of run.querySelectorAll('text[x$="%"]')) {
      const half = text.matches(".lane-at, .lane-time, .lane-infinite") ? 4 * (text.textContent ?? "").length : 0;
      text.classList.toggle("under-names", left + (width * part(text, "x")) / 100 - half * unit < edge);
    }
  }
  box.addEventListener("scroll", () => onceDrawn(whole, whole), { passive: true });

  /** @param {Element} el */
  function want(el) {
    wanted = el;
    onceDrawn(box, settle);
  }

  let said = ""; // by the clock

  /** Has the clock stand at a place. @param {Element} line @param {number} x in % */
  function stand(line, x) {
    line.setAttribute("x", `${x}%`);
    line.removeAttribute("display");
    pill(x);
  }

  /** Writes into the pill what the clock shows; it stays within the picture. @param {number} x in % */
  function pill(x) {
    const at = box.querySelector("[data-pill]");
    // A page without a clock has a line alone.
    at?.setAttribute("display", said ? "inline" : "none");
    if (!at || !said) {
      return;
    }
    const [rect, text] = [at.querySelector("rect"), at.querySelector("text")];
    if (text && text.textContent !== said) {
      const width = pillWidth(said);
      text.textContent = said;
      rect?.setAttribute("width", String(width));
      rect?.setAttribute("x", String(-width / 2));
    }
    const units = Number(box.querySelector(".lanes-run")?.getAttribute("width") ?? 0);
    const half = pillWidth(said) / 2 + 2;
    const [before, after] = [(x * units) / 100, ((100 - x) * units) / 100];
    const shift = Math.max(0, half - before) - Math.max(0, half - after);
    at.setAttribute("transform", `translate(${shift} 0)`);
    for (const number of box.querySelectorAll(".lane-at")) {
      const apart = Math.abs((part(number, "x") * units) / 100 - before - shift);
      number.classList.toggle("under-pill", apart < half + 4 * (number.textContent ?? "").length);
    }
  }

  return {
    cursor(step) {
      const hit = find(step);
      const line = box.querySelector("[data-cursor]");
      if (!hit || !line) {
        const units = Number(box.querySelector(".lanes-run")?.getAttribute("width") ?? 0);
        if (line && units > 0 && step === null && (find(1) || !box.querySelector("[data-step]"))) {
          stand(line, (100 * START) / units);
          want(line);
        } else {
          line?.setAttribute("display", "none");
        }
        fade(step === null && find(1) ? 0 : null); // at the start everything is still to come
        return;
      }
      box.classList.remove("flowing");
      stand(line, part(hit, "data-x"));
      // Until the next step nothing happens, but while a question is open the lanes must not show
      // the state then.
      fade(box.closest(".asking") ? part(hit, "data-x") : part(hit, "x") + part(hit, "width"));
      want(line);
    },
    flow(step, along) {
      const [hit, next] = [find(step), find(step + 1)];
      const line = box.querySelector("[data-cursor]");
      if (!hit || !next || !line) {
        return null;
      }
      const [x, to] = [part(hit, "data-x"), part(next, "data-x")];
      box.classList.add("flowing");
      stand(line, x + (to - x) * along);
      fade(x + (to - x) * along);
      want(line);
      return (part(next, "data-at") - part(hit, "data-at")) * along;
    },
    inSight() {
      const line = box.querySelector("[data-cursor]");
      return line !== null && within(box, line);
    },
    stand(place, along) {
      const line = box.querySelector("[data-cursor]");
      box.classList.add("flowing");
      if (line) {
        stand(line, place);
      }
      fade(place);
      if (line && along) {
        want(line);
      }
    },
    room() {
      const names = box.querySelector(".lanes-names");
      const px = names?.getBoundingClientRect().width ?? 0;
      const unit = names ? px / names.clientWidth || 1 : 1;
      return Math.floor((box.clientWidth - px) / unit);
    },
    clock(at, text, told) {
      const clock = box.querySelector("[data-clock]");
      clock?.setAttribute("aria-valuenow", String(Math.round(at)));
      clock?.setAttribute("aria-valuetext", told);
      said = text;
      pill(part(box.querySelector("[data-cursor]") ?? box, "x"));
    },
    draw(html) {
      seen ??= inView();
      onceDrawn(box, settle);
      const focused = box.querySelector("[data-clock]") === document.activeElement;
      box.innerHTML = html;
      if (focused) {
        /** @type {SVGElement | null} */ (box.querySelector("[data-clock]"))?.focus({ preventScroll: true });
      }
    },
    around: (step, steps) => [step, Math.max(1, step - BESIDE), Math.min(steps, step + BESIDE)].every((s) => find(s) !== null),
    preview(step) {
      box.querySelector(".preview")?.classList.remove("preview");
      find(step)?.classList.add("preview");
    },
  };
}

/** The width of a pill with a text; templates.pillWidth is the same. @param {string} text */
const pillWidth = (text) => [...text].reduce((w, c) => w + (c < "\u2e80" ? 8 : 13), 18);

/**
 * @typedef {object} Change what makes a picture of the one before
 * @property {boolean} [whole] there is none before
 * @property {number} left where it begins
 * @property {number} right where its last state ends
 * @property {number} width
 * @property {number} [scale] how wide a millisecond is that comes after its last row, 0 where none does
 * @property {{keep: number, drop?: number, add?: string[]}[]} edits after so many tags that stay, some are left out and others put in
 */

const LONGEST = 640; // units: what is longer is drawn shorter (gapLong in web/film/axis.go)
const TAIL = 24; // units from the last row to where its state ends at least (tail in web/film)
const AHEAD = 120; // units of room that are made at once for the time that goes on
const EDGE = 4; // units between the end of a picture and its edge

const ASKING = 100; // ms between two requests for lanes

/**
 * Gets the lanes around a row before one is at the edge of those in the page. If you go
 * on, you get there with them; a held key asks only now and then.
 * @param {object} on
 * @param {(row: number) => boolean} on.there those in the page will do
 * @param {(row: number) => Promise<string | undefined> | void} on.bring HTML, "" where they come by themselves, undefined
 *   where they cannot be asked for now
 * @param {(html: string) => void} on.draw
 */
export function nearby({ there, bring, draw }) {
  let missed = 0; // the row that they were asked for around, until there are
  let missing = 0; // timer of asking for them
  let asked = 0; // when they were asked for last
  let wanted = 0; // the row that they were asked for around last

  /** Shows the lanes around a row, unless others were asked for meanwhile.
   *  @param {number} row */
  async function ask(row) {
    wanted = missed = row;
    asked = Date.now();
    const html = await bring(row);
    if (html === undefined) {
      missed = 0;
    } else if (html && row === wanted) {
      draw(html);
    }
  }

  return {
    /** One stands at a row. @param {number} row */
    at(row) {
      clearTimeout(missing);
      if (there(row)) {
        missed = 0;
      } else if (row !== missed) {
        missing = window.setTimeout(() => there(row) || ask(row), Math.max(0, asked + ASKING - Date.now())); // they may have come meanwhile
      }
    },
    /** The rows are other ones now. */
    changed() {
      missed = 0;
    },
  };
}

/** A picture that grows with a run, as the server says how it changes, and in
 *  which time goes on after the last row. */
export function growing() {
  /** @type {string[]} */
  let tags = [];
  let left = 0;
  let right = 0;
  let width = 0;
  let scale = 0;
  let drawn = 0; // how wide it is on the page, in units

  /** Where the clock stands so long after the last row. @param {number} passed ms */
  const now = (passed) => right - TAIL + Math.min(passed * scale, LONGEST);
  /** A part of the width in %. @param {number} units */
  const part = (units) => Number(((100 * units) / drawn).toFixed(3));

  return {
    /** @param {Change} change */
    change(change) {
      if (change.whole) {
        tags = [];
      }
      ({ left, right, width, scale = 0 } = change);
      /** @type {string[]} */
      const now = [];
      let at = 0;
      for (const { keep, drop = 0, add = [] } of change.edits ?? []) {
        now.push(...tags.slice(at, at + keep), ...add);
        at += keep + drop;
      }
      tags = now.concat(tags.slice(at));
    },
    there: () => tags.length > 0,
    /** Time goes on in it. */
    goes: () => tags.length > 0 && scale > 0,
    /** It has a step. @param {number} step */
    has: (step) => tags.some((tag) => tag.includes(` data-step="${step}"`)),
    /**
     * Its HTML, as templates.Lanes has it for those who are not to follow it.
     * What ends where the last state does has data-open: which attribute that
     * is, and how far before the end it is or where it begins.
     * @param {number} [passed] ms since the last row
     * @param {number} [room] units that are to be filled
     */
    html(passed = 0, room = 0) {
      const end = Math.max(right, now(passed));
      drawn = Math.max(width, room, end > left + width - EDGE ? end - left + EDGE + AHEAD : 0);
      const text = tags.join("");
      const height = text.match(/width="@wide" height="([\d.]+)"/)?.[1];
      return text.replace(/([\w-]+)="([@=])(~?)(-?[\d.]+|wide|span)"/g, (_, name, kind, open, value) => {
        switch (value) {
          case "wide": return `${name}="${drawn}"`;
          case "span": return `${name}="${left} 0 ${drawn} ${height}"`;
        }
        const at = open ? end - Number(value) : Number(value);
        const place = `${name}="${part(kind === "@" ? at - left : at)}%"`;
        return open ? `${place} data-open="${name}${kind}${value}"` : place;
      });
    },
    /**
     * Lets time go on in the picture that html has made: the states last, and the lease
     * runs out.
     * @param {Element} box where it is
     * @param {number} passed ms since the last row
     * @returns {number | null} where the clock stands, in % of the width, or
     *   null where html has to make it again: it has no room, or is not there
     */
    goOn(box, passed) {
      const end = Math.max(right, now(passed));
      const open = box.querySelectorAll("[data-open]");
      if (open.length === 0 || end > left + drawn - EDGE) {
        return null;
      }
      for (const el of open) {
        const [, name, kind, value] = /** @type {string[]} */ (/^([\w-]+)([@=])(.+)$/.exec(el.getAttribute("data-open") ?? ""));
        el.setAttribute(name, `${part(kind === "@" ? end - Number(value) - left : end - Number(value))}%`);
      }
      for (const lease of box.querySelectorAll("[data-drain]")) {
        const [x, y, slope, floor] = (lease.getAttribute("data-drain") ?? "").split(" ").map(Number);
        const low = slope > 0 ? Math.min(end, x + (floor - y) / slope) : end; // where it is on the floor
        const edge = `M${x} ${y}L${low} ${Math.min(y + slope * (low - x), floor)}`;
        for (const path of lease.querySelectorAll("path")) {
          path.setAttribute("d", path.classList.contains("lane-edge") ? edge : `${edge}V${floor}H${x}Z`);
        }
      }
      return part(now(passed) - left);
    },
  };
}

/**
 * An element is in sight in the box, beside the names.
 * @param {HTMLElement} box
 * @param {Element} el
 */
function within(box, el) {
  const place = el.getBoundingClientRect();
  const names = box.querySelector(".lanes-names")?.getBoundingClientRect().right ?? 0;
  return place.right >= names && place.left <= box.getBoundingClientRect().right;
}
