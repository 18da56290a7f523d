// The buttons that go about in a film.
import { byId, make } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {object} Place what there is to show
 * @property {number} stop that you are at
 * @property {number} last stop
 * @property {string} when "T3.1 · 62 ms"
 * @property {string} running how far it is, while it runs to what is wanted; else ""
 * @property {string} mark what happened there, or ""
 * @property {boolean} end there is nothing after it
 * @property {boolean} playing
 * @property {boolean} broken a rule is broken there
 * @property {boolean} inside steps go through the commands
 *
 * @typedef {object} On
 * @property {(name: string) => void} act a button was pressed
 * @property {(stop: number) => void} jump
 */

/** @param {On} on */
export function transport(on) {
  const bar = byId("transport");
  const menu = /** @type {HTMLDetailsElement} */ (byId("film-menu"));
  const buttons = () => /** @type {HTMLButtonElement[]} */ ([...bar.querySelectorAll("button")]);
  for (const box of [bar, menu]) {
    box.addEventListener("click", (event) => {
      const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-go]"));
      if (button && button.getAttribute("aria-disabled") !== "true") {
        on.act(/** @type {string} */ (button.dataset.go));
        if (box === menu && button.dataset.go !== "inside") { // which is a switch
          menu.open = false;
          menu.querySelector("summary")?.focus({ preventScroll: true });
        }
      }
      if (button && /** @type {MouseEvent} */ (event).detail > 0) {
        /** @type {HTMLElement | null} */ (document.activeElement)?.blur(); // after a click the arrows step, as they did before it
      }
    });
  }
  // One tab stop, as the ARIA practices have it for a toolbar.
  buttons().forEach((b, i) => {
    b.tabIndex = i === 1 ? 0 : -1;
  });
  bar.addEventListener("focusin", (event) => {
    for (const b of buttons()) {
      b.tabIndex = b === event.target ? 0 : -1;
    }
  });
  bar.addEventListener("keydown", (event) => {
    const list = buttons();
    const i = list.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: list.length - 1 }[event.key];
    if (to !== undefined && i >= 0) {
      event.preventDefault();
      event.stopPropagation();
      list[(to + list.length) % list.length].focus();
    }
  });
  byId("jump").addEventListener("change", (event) => {
    const select = /** @type {HTMLSelectElement} */ (event.target);
    if (select.value) {
      on.jump(Number(select.value));
    }
  });
  byId("jump").addEventListener("blur", (event) => {
    /** @type {HTMLSelectElement} */ (event.target).value = ""; // until then the arrows go from mark to mark
  });
}

/** "T2 · 50 ms" in parts that are not broken between lines.
 *  @param {string} when */
const parts = (when) => when.split(/(?<=·) /).flatMap((part, i) => [i > 0 ? " " : "", make("span", {}, part)]);

/** Shows where you are. @param {Place} at */
export function drawTransport(at) {
  const count = at.running ? "" : at.last === 0 ? say("at the start") : say("%d of %d", at.stop, at.last);
  const when = at.running || at.when;
  // A phone has room for one of the two.
  byId("place").replaceChildren(make("span", { class: "when" }, ...parts(when)), " ", make("span", { class: "count" }, count));
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll(":is(#transport, #film-menu) [data-go]"))) {
    const to = button.dataset.go;
    const off = (at.stop === 0 && (to === "first" || to === "back")) || (at.end && (to === "forward" || to === "end" || to === "next"));
    button.setAttribute("aria-disabled", String(off));
    if (to === "play") {
      const goesOn = at.broken && !at.playing && !at.end;
      const name = at.playing ? say("Pause") : goesOn ? say("Go on") : say("Play");
      /** @type {HTMLElement} */ (button.querySelector("span")).textContent = name;
      button.title = `${name} (K)`;
      button.querySelector("path")?.setAttribute("d", at.playing ? "M5 2.5v11M11 2.5v11" : "M4 2l9 6-9 6z");
    }
    if (to === "inside") {
      button.setAttribute("aria-pressed", String(at.inside));
    }
  }
}
