// The rail beside the table: the threads, and what you can do to time, to them, and to
// Redis. The server renders it again for each scenario.
import { byId, onPhone } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Position} Position
 * @typedef {import("./strike.js").Fault} Fault
 *
 * @typedef {object} On
 * @property {(why: string) => void} complain
 * @property {(fault: Fault, note: string) => void} strike
 * @property {() => void} dialog with all the faults
 * @property {(to: string, by?: string) => void} time is to pass
 * @property {(thread: string) => void} outcome the next one of a thread is wanted
 */

/** Opens it as a sheet over the dock of a phone, where it is far below else; false elsewhere. */
export function openSheet() {
  const sheet = byId("rail");
  if (!onPhone() || !sheet.showPopover) {
    return false;
  }
  sheet.popover = "auto";
  sheet.showPopover();
  sheet.querySelector("h2")?.focus();
  return true;
}

/** Closes the sheet, if it is one: the focus goes back. */
function closeSheet() {
  if (byId("rail").popover) {
    byId("rail").hidePopover();
  }
}

/** @param {On} on */
export function rail(on) {
  byId("rail").addEventListener("toggle", (event) => {
    if (event.target === byId("rail") && !byId("rail").matches(":popover-open")) {
      byId("rail").popover = null; // it stands in its tab again
    }
  });
  byId("rail").addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("button"));
    if (button?.matches("[data-strike], [data-time], [data-dialog], [aria-disabled=true]")) {
      closeSheet(); // what comes of it, or the reason why not, is above the dock
    }
    if (button?.getAttribute("aria-disabled") === "true") {
      event.preventDefault(); // no form is sent
      on.complain(button.title || (button.textContent ?? ""));
    } else if (button?.dataset.strike) {
      on.strike(JSON.parse(button.dataset.strike), button.querySelector(".hidden")?.textContent?.slice(2) ?? "");
    } else if (button?.dataset.time) {
      on.time(button.dataset.time);
    } else if (button?.dataset.dialog === "strike") {
      on.dialog();
    }
  });
  byId("rail").addEventListener("submit", (event) => {
    event.preventDefault();
    closeSheet();
    if (/** @type {HTMLElement} */ (event.target).id === "by") {
      on.time("by", /** @type {HTMLInputElement} */ (byId("by-length")).value.trim());
    } else {
      on.outcome(/** @type {HTMLSelectElement} */ (byId("outcome-thread")).value);
    }
  });
}

/**
 * Shows what can be done at a position.
 * @param {HTMLElement} stage
 * @param {Position} position
 * @param {string} closed why nothing can be done, or ""
 * @param {(fault: Fault) => string} whyNot why a fault cannot strike, or ""
 */
export function drawRail(stage, position, closed, whyNot) {
  const event = document.getElementById("to-event");
  event?.setAttribute("aria-disabled", String(!position.next || closed !== ""));
  if (event) {
    event.textContent = position.next ? say("To the next event, at %s", position.next) : say("To the next event");
    event.title = closed || (position.next ? "" : say("Nothing more happens by itself."));
  }
  const expiry = document.getElementById("to-expiry"); // a Redis elsewhere has its own clock
  expiry?.setAttribute("aria-disabled", String(!position.expiry || closed !== ""));
  if (expiry) {
    expiry.title = closed;
    expiry.textContent = position.expiry ? say("To the expiry, at %s", position.expiry) : say("To the expiry: no key runs out");
  }
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (stage.querySelectorAll("#by button, #outcome button"))) {
    withReason(button, position.over ? closed : "");
  }
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (stage.querySelectorAll(".fault"))) {
    withReason(button, whyNot(JSON.parse(button.dataset.strike ?? "{}")));
  }
  const other = /** @type {HTMLButtonElement | null} */ (stage.querySelector("[data-dialog=strike]"));
  if (other) {
    withReason(other, closed);
  }
}

/**
 * Greys a button, which keeps the focus, or makes it what it was.
 * @param {HTMLButtonElement} button
 * @param {string} why it can do nothing here, or ""
 */
function withReason(button, why) {
  button.setAttribute("aria-disabled", String(why !== ""));
  button.dataset.title ??= button.title;
  button.title = why || button.dataset.title;
}
