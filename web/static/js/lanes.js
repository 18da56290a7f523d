// The picture of a run: pointing at a step, and the line that stands on one.

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
 * @property {(at: number, text: string) => void} clock says what the clock shows
 * @property {(step: number | null) => void} preview marks the step that is
 *   pointed at elsewhere; null marks none
 */

const AHEAD = 8; // steps on each side of the one that one stands on

/**
 * Wires the box of a picture, whose content may be replaced at any time.
 * @param {HTMLElement} box what templates.LanesBox renders
 * @param {{step: (step: number) => void, preview: (step: number | null) => void, clock?: (step: number, part: number) => void}} on
 *   what is called when a step was chosen, when one is pointed at or none any
 *   more, and when the clock was moved between a step and the next
 * @returns {Lanes}
 */
export function lanes(box, on) {
  /** @type {number | null} */
  let pointed = null;

  /** @param {Event} event */
  const stepOf = (event) => {
    const hit = event.target instanceof Element ? event.target.closest("[data-step]") : null;
    return hit ? Number(hit.getAttribute("data-step")) : null;
  };
  /** @param {number | null} step */
  const point = (step) => {
    if (step !== pointed) {
      pointed = step;
      on.preview(step);
    }
  };
  box.addEventListener("click", (event) => {
    const step = stepOf(event);
    if (step !== null && !dragged) {
      on.step(step);
    }
  });
  box.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") {
      point(stepOf(event));
    }
  });
  box.addEventListener("pointerleave", () => point(null));

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
  /** @param {PointerEvent} event */
  function drag(event) {
    const run = box.querySelector(".lanes-run")?.getBoundingClientRect();
    const where = run && between(((event.clientX - run.left) / run.width) * 100);
    if (where) {
      on.clock?.(where.step, where.part);
    }
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
      drag(event);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, (event) => {
      if (/** @type {PointerEvent} */ (event).pointerId === held) {
        held = -1;
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

  /** The steps that are in view, and where. */
  function inView() {
    const edge = box.querySelector(".lanes-names")?.getBoundingClientRect().right ?? 0;
    const end = box.getBoundingClientRect().right;
    return [...box.querySelectorAll("[data-step]")]
      .map((hit) => ({ step: Number(hit.getAttribute("data-step")), at: hit.getBoundingClientRect() }))
      .filter(({ at }) => at.right > edge && at.left < end);
  }

  return {
    cursor(step) {
      const hit = find(step);
      const line = box.querySelector("[data-cursor]");
      const later = box.querySelector("[data-later]");
      if (!hit || !line || !later) {
        line?.setAttribute("display", "none");
        later?.setAttribute("display", "none");
        return;
      }
      box.classList.remove("flowing");
      line.setAttribute("x", `${part(hit, "data-x")}%`);
      later.setAttribute("x", `${part(hit, "x") + part(hit, "width")}%`);
      line.removeAttribute("display");
      later.removeAttribute("display");
      show(box, hit);
    },
    flow(step, along) {
      const [hit, next] = [find(step), find(step + 1)];
      const line = box.querySelector("[data-cursor]");
      if (!hit || !next || !line) {
        return null;
      }
      const [x, to] = [part(hit, "data-x"), part(next, "data-x")];
      box.classList.add("flowing");
      for (const what of [line, box.querySelector("[data-later]")]) {
        what?.setAttribute("x", `${x + (to - x) * along}%`);
        what?.removeAttribute("display");
      }
      show(box, line);
      return (part(next, "data-at") - part(hit, "data-at")) * along;
    },
    clock(at, text) {
      const clock = box.querySelector("[data-clock]");
      clock?.setAttribute("aria-valuenow", String(Math.round(at)));
      clock?.setAttribute("aria-valuetext", text);
    },
    draw(html) {
      const seen = inView();
      const focused = box.querySelector("[data-clock]") === document.activeElement;
      box.innerHTML = html;
      if (focused) {
        /** @type {SVGElement | null} */ (box.querySelector("[data-clock]"))?.focus({ preventScroll: true });
      }
      const stays = seen.find(({ step }) => find(step));
      if (stays) {
        // By its end: the first column of a picture begins earlier.
        box.scrollLeft += (find(stays.step)?.getBoundingClientRect().right ?? 0) - stays.at.right;
      }
    },
    around: (step, steps) => [step, Math.max(1, step - AHEAD), Math.min(steps, step + AHEAD)].every((s) => find(s) !== null),
    preview(step) {
      box.querySelector(".preview")?.classList.remove("preview");
      find(step)?.classList.add("preview");
    },
  };
}

/**
 * @typedef {object} Change what makes a picture of the one before
 * @property {boolean} [whole] there is none before
 * @property {number} left where it begins
 * @property {number} right where its last state ends
 * @property {number} width
 * @property {{keep: number, drop?: number, add?: string[]}[]} edits after so many tags that stay, some are left out and others put in
 */

/** A picture that grows with a run, as the server says how it changes. */
export function growing() {
  /** @type {string[]} */
  let tags = [];
  let left = 0;
  let right = 0;
  let width = 0;
  return {
    /** @param {Change} change */
    change(change) {
      if (change.whole) {
        tags = [];
      }
      ({ left, right, width } = change);
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
    /** It has a step. @param {number} step */
    has: (step) => tags.some((tag) => tag.includes(` data-step="${step}"`)),
    /** Its HTML, as templates.Lanes has it for those who are not to follow it. */
    html() {
      const text = tags.join("");
      const height = text.match(/width="@wide" height="([\d.]+)"/)?.[1];
      return text.replace(/"([@=])(~?)(-?[\d.]+|wide|span)"/g, (_, kind, open, value) => {
        switch (value) {
          case "wide": return `"${width}"`;
          case "span": return `"${left} 0 ${width} ${height}"`;
        }
        const at = open ? right - Number(value) : Number(value);
        return `"${Number(((100 * (kind === "@" ? at - left : at)) / width).toFixed(3))}%"`;
      });
    },
  };
}

/**
 * Scrolls the box, and nothing around it, until an element is clear of the
 * names at the left and of the right edge.
 * @param {HTMLElement} box
 * @param {Element} hit
 */
function show(box, hit) {
  const place = hit.getBoundingClientRect();
  const frame = box.getBoundingClientRect();
  const names = box.querySelector(".lanes-names")?.getBoundingClientRect().width ?? 0;
  const margin = Math.min(80, (frame.width - names) / 4);
  const left = place.left - (frame.left + names + margin);
  const right = place.right - (frame.right - margin);
  const by = left < 0 ? left : right > 0 ? right : 0;
  if (by !== 0) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    box.scrollBy({ left: by, behavior: calm ? "instant" : "smooth" });
  }
}
