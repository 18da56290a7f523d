// A comparison: of two branches, or of several locks.
import { byId, focusOn, onceDrawn } from "./dom.js";

/**
 * Shows one, or hides it.
 * @param {HTMLElement} stage
 * @param {string} html "" for none
 * @param {() => void} closed a person has closed it
 */
export function drawComparison(stage, html, closed) {
  const section = byId("compared");
  section.hidden = html === "";
  if (html === "") {
    return;
  }
  section.innerHTML = html;
  section.onkeydown = (event) => {
    if (event.key === "Escape") {
      byId("close-compared").click();
    }
  };
  byId("close-compared").onclick = () => {
    closed();
    focusOn(byId("compare") ?? stage.querySelector("[data-dialog=locks]")); // what led here
  };
}

/** Brings it into sight. */
export function toComparison() {
  const section = byId("compared");
  section.focus({ preventScroll: true });
  onceDrawn(section, () => section.scrollIntoView()); // its start: it can be higher than the window
}

/**
 * The dialog in which locks are chosen.
 * @param {HTMLElement} stage
 * @param {() => string} own the scenario's lock
 * @param {(protocols: string[]) => void} compare
 */
export function locksDialog(stage, own, compare) {
  const form = document.getElementById("locks-form");
  stage.querySelector("[data-dialog=locks]")?.addEventListener("click", () => {
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (stage.querySelectorAll("#locks-form [name=lock]"))) {
      box.checked ||= box.value === own();
    }
    /** @type {HTMLDialogElement} */ (byId("locks")).showModal();
  });
  form?.addEventListener("submit", (event) => {
    if (/** @type {HTMLButtonElement} */ (/** @type {SubmitEvent} */ (event).submitter)?.value === "compare") {
      const boxes = /** @type {HTMLInputElement[]} */ ([...stage.querySelectorAll("#locks-form [name=lock]:checked")]);
      compare(boxes.map((box) => box.value));
    }
  });
}
