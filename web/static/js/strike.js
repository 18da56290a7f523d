// Faults that one strikes by hand: with a button, or in the dialog.
import { byId, make } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Pointless} Pointless
 * @typedef {import("./film.js").Position} Position
 * @typedef {Record<string, any>} Fault
 */

/** How long a key pauses a thread. */
export const PAUSE = "300ms";

/**
 * Why a fault would change nothing at a position, or "".
 * @param {Position} position
 * @param {Pointless[]} never faults that cannot strike anywhere
 * @param {Fault} fault
 */
export function pointless(position, never, fault) {
  const found = [...never, ...(position.pointless ?? [])].find(
    (p) =>
      (!p.do || p.do.includes(fault.do)) &&
      (!p.thread || p.thread === fault.thread) &&
      (!p.at || p.at.includes(fault.at)) &&
      (!p.for || p.for === fault.for) &&
      (!p.keep || fault.keep === true),
  );
  return found?.why ?? "";
}

/** Why nothing can be done at a position any more, or "". @param {Position} position */
export const over = (position) => (position.over ? say("The run has ended here. Step back to act.") : "");

/**
 * The dialog.
 * @param {(fault: Fault) => string} whyNot why a fault cannot strike now, or ""
 * @param {(fault: Fault, note: string) => void} strike
 */
export function strikeDialog(whyNot, strike) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("strike"));
  const form = byId("strike-form");
  const kind = () => /** @type {HTMLSelectElement} */ (byId("fault-do")).selectedOptions[0];
  const part = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (byId(`fault-${name}`));

  /** The fault that the form says. */
  function said() {
    const has = kind().dataset;
    /** @type {Fault} */
    const fault = { do: kind().value };
    for (const name of ["thread", "at", "error", "for", "by"]) {
      if (name in has) {
        fault[name] = part(name).value.trim();
      }
    }
    if ("behind" in has) {
      fault.behind = Number(part("behind").value.trim());
    }
    if ("keep" in has && part("keep").checked) {
      fault.keep = true;
    }
    return fault;
  }

  function draw() {
    for (const field of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-part]"))) {
      field.hidden = !(/** @type {string} */ (field.dataset.part) in kind().dataset);
    }
    const why = whyNot(said());
    byId("strike-why").textContent = why;
    form.querySelector("[value=strike]")?.setAttribute("aria-disabled", String(why !== ""));
  }

  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => {
    if (/** @type {HTMLButtonElement} */ (/** @type {SubmitEvent} */ (event).submitter)?.value !== "strike") {
      return;
    }
    const fault = said();
    if (whyNot(fault)) {
      event.preventDefault(); // the reason is above the button
      return;
    }
    strike(fault, [kind().textContent, fault.thread].filter(Boolean).join(": "));
  });
  return {
    open() {
      draw();
      dialog.showModal();
    },
    /** One stands somewhere else. */
    shown() {
      if (dialog.open) {
        draw();
      }
    },
    /** @param {string[]} threads */
    among(threads) {
      byId("fault-thread").replaceChildren(...threads.map((name) => make("option", {}, name)));
    },
  };
}
