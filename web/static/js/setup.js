// The main settings of what is stepped, as fields. The server reads them as it reads the editor's
// form; what it makes of a change is opened.
import { byId, focusOn } from "./dom.js";
import { morph } from "./morph.js";
import { say } from "./words.js";

/**
 * @param {{scenario: () => object, open: (scenario: object, said: string) => Promise<void>, complain: (text: string) => void}} on
 *   scenario is what is stepped, with its moves; open opens a changed one, and says what has gone with the change
 * @returns {{fill: (html: string) => void, stand: (start: boolean) => void, opened: () => void}} opened is to be called when
 *   what was to be opened is, or cannot be
 */
export function setup(on) {
  if (!document.getElementById("setup")) {
    return { fill() {}, stand() {}, opened() {} }; // in the course
  }
  const form = /** @type {HTMLFormElement} */ (byId("setup"));
  let begun = false;
  let over = false; // it lies over the rows
  /** @type {Element | null} */
  let from = null; // what has opened it
  const values = () => /** @type {[string, string][]} */ ([...new FormData(form)]);
  const others = (/** @type {Map<string, string>} */ than) => values().filter(([name, value]) => than.get(name) !== value);
  let was = new Map(values());
  let sent = was;
  let waiting = false; // for what comes of the values that were sent
  let again = false; // others were changed meanwhile: they are kept, and sent then

  /** @param {string} html @returns {Map<string, string>} its values */
  function show(html) {
    const later = waiting ? others(sent) : [];
    const fresh = document.createElement("form");
    fresh.innerHTML = html;
    const shown = new Map(/** @type {[string, string][]} */ ([...new FormData(fresh)])); // the page's keeps what is being typed
    morph(form, fresh);
    for (const [name, value] of later) {
      const field = /** @type {HTMLInputElement | null} */ (form.elements.namedItem(name));
      if (field && field.value !== value) {
        field.value = value;
      }
    }
    return shown;
  }
  function opened() {
    waiting = false;
    if (again) {
      change();
    }
  }
  function draw() {
    form.hidden = begun && !over;
    form.classList.toggle("over", begun);
  }
  /** @param {boolean} to @param {Element | null} [by] */
  function turn(to, by = null) {
    over = to;
    draw();
    if (to) {
      from = by;
      form.scrollIntoView({ block: "nearest" });
      /** @type {HTMLElement} */ (form.querySelector("input")).focus({ preventScroll: true });
    } else if (form.contains(document.activeElement) || document.activeElement === document.body) {
      focusOn(/** @type {HTMLElement} */ (from?.closest("button") ?? document.querySelector("#more [data-setup]")));
    }
  }
  async function change() {
    const empty = [...form.querySelectorAll("input")].filter((field) => field.value === "" && was.get(field.name));
    empty.forEach((field) => (field.value = /** @type {string} */ (was.get(field.name)))); // nothing is no value
    const changed = others(was);
    if (empty.length > 0 && changed.length === 0) {
      return;
    }
    again = waiting;
    if (waiting) {
      return;
    }
    waiting = true;
    sent = new Map(values());
    const text = JSON.stringify(on.scenario());
    const body = new URLSearchParams({ action: "set", base: text, yaml: text });
    changed.forEach(([name, value]) => body.set(name, value));
    try {
      const response = await fetch("/edit/scenario", { method: "POST", body });
      if (!response.ok) {
        throw new Error(String(response.status));
      }
      const { scenario, setup, said } = await response.json();
      if (scenario) {
        await on.open(scenario, said ?? "");
      } else {
        show(setup);
        opened();
      }
    } catch {
      waiting = again = false;
      on.complain(say("The server does not answer; what you wrote is still here. Try again in a moment."));
    }
  }

  form.addEventListener("change", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("keydown", (event) => {
    event.stopPropagation(); // what is typed steps nothing
    if (event.key === "Escape" && begun) {
      turn(false);
    }
  });
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    const by = target.closest("[data-setup], .set");
    if (by) {
      turn(form.hidden || !over, by);
    } else if (target.closest(".setup-close") || (over && begun && target.isConnected && !form.contains(target))) {
      turn(false);
    }
  });
  return {
    opened,
    fill(html) {
      was = show(html);
    },
    stand(start) {
      begun = !start;
      draw();
    },
  };
}

/** What is said in the place of the first sentence. */
export const firstSentence = () => byId("shows").textContent?.trim() || say("Nothing has happened yet.");
