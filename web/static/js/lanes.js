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
 * @property {(step: number | null) => void} preview marks the step that is
 *   pointed at elsewhere; null marks none
 */

const AHEAD = 8; // steps on each side of the one that one stands on

/**
 * Wires the box of a picture, whose content may be replaced at any time.
 * @param {HTMLElement} box what templates.LanesBox renders
 * @param {{step: (step: number) => void, preview: (step: number | null) => void}} on
 *   what is called when a step was chosen, and when one is pointed at or none
 *   any more
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
    if (step !== null) {
      on.step(step);
    }
  });
  box.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") {
      point(stepOf(event));
    }
  });
  box.addEventListener("pointerleave", () => point(null));

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
      const part = (/** @type {string} */ name) => parseFloat(hit.getAttribute(name) ?? "0"); // of the width, in %
      line.setAttribute("x", `${part("data-x")}%`);
      later.setAttribute("x", `${part("x") + part("width")}%`);
      line.removeAttribute("display");
      later.removeAttribute("display");
      show(box, hit);
    },
    draw(html) {
      const seen = inView();
      box.innerHTML = html;
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
