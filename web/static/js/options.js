// Who can move where you are, and what a move would do.
import { byId, make } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Option} Option
 * @typedef {import("./film.js").Position} Position
 *
 * @typedef {object} Outlook what becomes of a decision
 * @property {number} choice -1: nobody moves
 * @property {string} short
 * @property {string} says
 * @property {string} tone
 *
 * @typedef {object} Mover who is to move
 * @property {string} thread
 * @property {boolean} [background] its watchdog instead
 * @property {boolean} [network] or a request of it that was held up
 * @property {number} [node] of several that it asks at once in the background, or has sent to, this one
 * @property {number} [nth] of a lab: of several commands of the thread, this one
 */

/** @param {Mover} a @param {Mover} b */
const same = (a, b) =>
  a.thread === b.thread &&
  Boolean(a.background) === Boolean(b.background) &&
  Boolean(a.network) === Boolean(b.network) &&
  (a.node ?? 0) === (b.node ?? 0) &&
  (a.nth ?? 0) === (b.nth ?? 0);

/**
 * How somebody can move at a position, or why not.
 * @param {Position} position
 * @param {Mover} who
 * @returns {{option: Option | null, why: string}}
 */
export function optionOf(position, who) {
  const all = (position.options ?? []).filter((o) => same(o, who));
  const option = all.find((o) => o.can);
  if (option) {
    return { option, why: "" };
  }
  const why = all.map((o) => o.why || o.does).filter(Boolean).join(say(", "));
  if (who.network && why) {
    return { option: null, why: say("%s's request cannot arrive now: %s.", who.thread, why) };
  }
  return { option: null, why: why ? say("%s cannot move now: %s.", who.thread, why) : say("%s cannot move now: it has nothing to do.", who.thread) };
}

/** The command of a step. @param {Mover} who */
export const stepOf = (who) => ({
  do: "step",
  thread: who.thread,
  background: Boolean(who.background),
  network: Boolean(who.network),
  node: who.node ?? 0,
  ...(who.nth ? { nth: who.nth } : {}),
});

/**
 * Shows the options of a position, each at its thread and in the list of all.
 * The focus stays where it is.
 * @param {HTMLElement} stage
 * @param {Position} position
 * @param {string} unfinished why nobody can act here, or ""
 * @param {(name: string) => number} ordinal of a thread
 * @param {(who: Mover) => void} step
 * @param {(choice: number) => Outlook | undefined} outlook of a choice
 */
export function drawOptions(stage, position, unfinished, ordinal, step, outlook) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.option;
  const list = byId("choices");
  list.replaceChildren();
  for (const cell of stage.querySelectorAll("[data-next], [data-coming]")) {
    cell.replaceChildren();
  }
  for (const option of position.options ?? []) {
    if (option.background && !option.does) {
      continue;
    }
    const entry = (/** @type {string} */ tag) => entryOf(option, tag, unfinished, ordinal(option.thread), step, unfinished || !option.can ? undefined : outlook(Math.max(option.choice, 0)));
    const name = CSS.escape(option.thread);
    list.append(entry("li"));
    const coming = stage.querySelector(`[data-coming="${name}"]`);
    if (option.node && !option.network) {
      if (!coming?.querySelector(".nodes-asked")) {
        coming?.append(make("div", { class: "nodes-asked" }));
      }
      coming?.querySelector(".nodes-asked")?.append(entry("div"));
    } else if (option.background || option.network) {
      coming?.append(entry("div"));
    } else {
      stage.querySelector(`[data-next="${name}"]`)?.append(entry("div"));
      const does = [option.does, option.why, option.armed].filter(Boolean).join(" · ");
      const card = make("p", { class: "does" }, unfinished || does);
      if (option.label && option.can && !unfinished) { // of a lab: the command itself lets it through
        const through = make("button", { type: "button", class: "through" }, `▶ ${does}`);
        through.onclick = () => step(option);
        card.replaceChildren(through);
      }
      coming?.prepend(card);
    }
  }
  const first = /** @type {HTMLElement | null} */ (list.querySelector('.step[aria-disabled="false"]')?.parentElement);
  if (first && first.getBoundingClientRect().right > list.getBoundingClientRect().right) {
    list.scrollLeft = first.offsetLeft - list.offsetLeft; // where all do not fit beside each other
  }
  if (focused) {
    const again = /** @type {HTMLElement[]} */ ([...stage.querySelectorAll("[data-option]")]).find((b) => b.dataset.option === focused);
    again?.focus({ preventScroll: true });
  }
}

/**
 * @param {Option} option
 * @param {string} tag "li" in the list of all
 * @param {string} unfinished
 * @param {number} thread
 * @param {(who: Mover) => void} step
 * @param {Outlook | undefined} outlook
 */
function entryOf(option, tag, unfinished, thread, step, outlook) {
  const label = labelOf(option);
  const short = option.node && !option.network && tag !== "li" ? say("node %d", option.node) : ""; // five of them stand beside each other
  const button = make("button", { type: "button", class: option.background || option.network ? "step small" : "step" }, short || label);
  button.dataset.option = [tag, option.thread, option.background ?? false, option.network ?? false, ...(option.node ? [option.node] : []), ...(option.nth ? [option.nth] : [])].join(" ");
  const text = unfinished || [option.why, option.does, option.armed].filter(Boolean).join(" · ");
  const all = [text, outlook?.says].filter(Boolean).join(" · ");
  // Whatever cannot be done now keeps the focus, and says why.
  button.setAttribute("aria-disabled", String(!option.can || unfinished !== ""));
  button.setAttribute("aria-label", `${label}: ${all}`);
  button.title = all;
  button.onclick = () => step(option);
  const entry = make(tag, { class: "option" }, button, ...(short ? [] : [make("span", { class: "does" }, text)]));
  if (outlook) {
    button.after(outlookOf(outlook));
  }
  entry.classList.add(`t${thread % 8}`);
  return entry;
}

/** What becomes of a decision, beside it. @param {Outlook} outlook */
export const outlookOf = ({ short, tone }) => make("span", { class: `outlook tone-${tone}` }, short);

/** @param {Option} option */
function labelOf(option) {
  if (option.label) {
    return option.label;
  }
  if (option.network) {
    return option.node ? say("Deliver what %s sent to node %d", option.thread, option.node) : say("Deliver what %s sent", option.thread);
  }
  if (option.node) {
    return say("Step %s at node %d", option.thread, option.node);
  }
  return option.background ? say("Step %s's watchdog", option.thread) : say("Step %s", option.thread);
}
