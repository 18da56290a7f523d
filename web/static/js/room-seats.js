// The threads of a room: who plays each, and one's own.
import { setText } from "./room-question.js";
import { belief, doing, playedBy } from "./room-says.js";
import { say } from "./words.js";

/**
 * @typedef {import("./room-state.js").Thread} Thread
 *
 * @typedef {object} Rules what counts for the member's own thread now
 * @property {boolean} covered a question is open, and nothing may give it away
 * @property {string} closed why it cannot step whatever it would do, or ""
 * @property {string} wish what the member has wished for at a table, or ""
 * @property {string} held why nobody can do anything to it, or ""
 * @property {boolean} lost there is no connection
 * @property {string[]} allowed faults
 */

/** @param {Element} part @param {string} what */
const within = (part, what) => /** @type {HTMLElement} */ (part.querySelector(what));

/**
 * Who plays a thread, and what is about to happen to it.
 * @param {Element} item
 * @param {Thread} thread
 * @param {number} left seconds until a table's majority decides
 */
export function drawSeat(item, thread, left) {
  setText(within(item, "[data-by]"), playedBy(thread));
  setText(within(item, "[data-doing]"), doing(thread, left));
  item.classList.toggle("vacant", thread.by.length === 0);
  item.classList.toggle("wanted", left > 0);
}

/**
 * One's own thread: what it knows, what it would do, and what can be done.
 * @param {Element} part
 * @param {Thread} thread
 * @param {Rules} rules
 */
export function drawMine(part, thread, { covered, closed, held, wish, lost, allowed }) {
  for (const card of /** @type {NodeListOf<HTMLElement>} */ (part.querySelectorAll(".card"))) {
    card.hidden = covered;
  }
  setText(within(part, "[data-knows]"), thread.knows ?? "");
  setText(within(part, "[data-belief]"), belief(thread.belief ?? 0));
  setText(within(part, "[data-next-call]"), thread.next || say("nothing any more"));
  setText(within(part, "[data-why]"), [thread.why, thread.armed].filter(Boolean).join(" · "));
  for (const [what, why] of [["[data-step]", closed || thread.why || ""], ["[data-dog]", closed]]) {
    grey(within(part, what), why, lost);
  }
  const table = thread.members.length > 1;
  wants(within(part, "[data-step]"), table, wish === "step");
  wants(within(part, "[data-dog]"), table, wish === "watchdog");
  within(part, "[data-dog]").hidden = !thread.watchdog;
  for (const strike of /** @type {NodeListOf<HTMLElement>} */ (part.querySelectorAll("[data-do]"))) {
    strike.hidden = strike.dataset.do !== "pause" && !allowed.includes(strike.dataset.do ?? "");
    grey(strike, held, lost);
    wants(strike, table, wish === strike.dataset.do);
  }
}

/** At a table, shows what one wishes for. @param {HTMLElement} button @param {boolean} table @param {boolean} wished */
function wants(button, table, wished) {
  if (table) {
    button.setAttribute("aria-pressed", String(wished));
  } else {
    button.removeAttribute("aria-pressed");
  }
}

/** Has a button say why it does nothing now. @param {HTMLElement} button @param {string} why or "" @param {boolean} lost */
export function grey(button, why, lost) {
  button.setAttribute("aria-disabled", String(why !== "" || lost));
  button.title = why;
}
