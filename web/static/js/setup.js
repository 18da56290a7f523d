// The main settings of what is stepped, as fields. A change opens the scenario anew.
import { byId } from "./dom.js";
import { say } from "./words.js";

const MOST = 8; // threads that have a colour each

/** A length of time as scenarios have it: "80", "80 ms" and "80ms" are the same. @param {string} text */
const length = (text) => (/^\d+$/.test(text) ? `${text}ms` : text.replaceAll(/\s/g, ""));

/**
 * A scenario with one setting changed.
 * @param {any} scenario as JSON
 * @param {string} path "threads.0.depth"
 * @param {string} value
 */
export function changed(scenario, path, value) {
  const next = structuredClone(scenario);
  const steps = path.split(".");
  const last = /** @type {string} */ (steps.pop());
  let at = next;
  for (const step of steps) {
    at = at[step] ??= {};
  }
  at[last] = last === "depth" || last === "times" ? Number(value) : value === "off" ? value : length(value);
  return next;
}

/** A scenario with one thread more, like its last. @param {any} scenario */
function grown(scenario) {
  const next = structuredClone(scenario);
  const names = next.threads.map((/** @type {{name: string}} */ t) => t.name);
  const name = [..."ABCDEFGH"].find((letter) => !names.includes(letter)) ?? `T${names.length + 1}`;
  next.threads.push({ ...next.threads.at(-1), name });
  return next;
}

/**
 * @param {{scenario: () => any, open: (scenario: any) => void}} on
 * @returns {{fill: (html: string) => void, stand: (start: boolean) => void}}
 */
export function setup(on) {
  const form = document.getElementById("setup");
  if (!form) {
    return { fill() {}, stand() {} };
  }
  let over = false; // it lies over the rows
  let begun = false;
  const draw = () => {
    form.hidden = begun && !over;
    form.classList.toggle("over", begun && over);
    document.querySelectorAll("[data-setup]").forEach((b) => b.setAttribute("aria-expanded", String(!form.hidden)));
  };
  /** @param {boolean} to */
  const turn = (to) => {
    over = to;
    draw();
    if (to) {
      const head = byId("head").getBoundingClientRect();
      form.style.top = head.height > 1 && innerWidth > 704 ? `${head.bottom + 4}px` : "";
      /** @type {HTMLElement | null} */ (form.querySelector("input"))?.focus({ preventScroll: true });
    }
  };
  form.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    on.open(changed(on.scenario(), input.name, input.value.trim()));
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("#more-threads")) {
      on.open(grown(on.scenario()));
    }
  });
  form.addEventListener("keydown", (event) => {
    event.stopPropagation(); // what is typed steps nothing
    if (event.key === "Escape") {
      turn(false);
    } else if (event.key === "Enter") {
      /** @type {HTMLElement} */ (event.target).blur();
    }
  });
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("[data-setup]")) {
      turn(begun ? form.hidden : true);
    } else if (over && !form.contains(target)) {
      turn(false);
    }
  });
  return {
    fill(html) {
      form.innerHTML = html;
      over = false;
      const more = document.getElementById("more-threads");
      if (more && form.querySelectorAll("tbody tr").length >= MOST) {
        more.hidden = true;
      }
    },
    stand(start) {
      begun = !start;
      if (start) {
        over = false;
      }
      draw();
    },
  };
}

/** What is said in the place of the first sentence. */
export const firstSentence = () => byId("shows").textContent?.trim() || say("Nothing has happened yet.");
