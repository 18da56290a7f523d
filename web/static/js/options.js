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

/** From more moves than so many on each says less. */
const MANY = 4;

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
 * Shows the moves that can be made at a position: of each thread one, and of what goes
 * on beside it; then time, and faults. The focus stays where it is.
 * @param {Position} position
 * @param {object} on
 * @param {string} on.unfinished why nobody can act here, or ""
 * @param {number | undefined} on.done the choice that was made here, if one was
 * @param {(name: string) => number} on.ordinal of a thread
 * @param {(who: Mover) => void} on.step
 * @param {(choice: number) => Outlook | undefined} on.outlook of a choice
 * @param {(control: "time" | "faults") => boolean} on.may what an item of the course lets one do
 * @param {() => void} on.pass lets time pass to the next event
 * @param {string} on.faults some of them, in words
 * @param {() => void} on.strike leads to the faults
 */
export function drawOptions(position, on) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.option;
  const list = byId("choices");
  const all = (position.options ?? []).filter((o) => !o.background || o.does);
  const moves = all.length > MANY ? all.filter((o) => o.can || o.verb || o.label) : all; // of many, who has ended or waits for its own is not drawn
  const others = position.over ? [] : [...(on.may("time") ? [passing(position, on)] : []), ...(on.may("faults") ? [breaking(on)] : [])];
  list.replaceChildren(...moves.map((option) => moveOf(moves.length > MANY && !option.can ? { ...option, line: option.line?.split(" · ")[0] } : option, on)), ...others);
  list.dataset.moves = String(Math.min(list.children.length, 9));
  list.closest(".foot")?.classList.toggle("can-move", list.querySelector('.move:not([aria-disabled="true"])') !== null); // a style sheet that looks for one does so at each change of the page
  if (focused) {
    const again = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-option]")]).find((b) => b.dataset.option === focused);
    again?.focus({ preventScroll: true });
  }
}

/** The first faults that a thread has at hand, in words. @param {HTMLElement} page */
export const faultsAtHand = (page) =>
  [...page.querySelectorAll("#rail .thread-card:first-of-type .fault")].slice(0, 3).map((b) => b.firstChild?.textContent).join(say(", "));

/**
 * A button that says in its first line what it does, in its second when, and which
 * commands. A move that is impossible now keeps the focus, and says why.
 * @param {string} id
 * @param {string} does
 * @param {string} small
 * @param {boolean} off
 */
function button(id, does, small, off) {
  const made = make("button", { type: "button", class: "move", "aria-disabled": String(off) }, make("b", {}, does), make("small", {}, small));
  made.dataset.option = id;
  made.title = small;
  return made;
}

/** @param {Option} option @param {Parameters<typeof drawOptions>[1]} on */
function moveOf(option, { unfinished, done, ordinal, step, outlook }) {
  const off = !option.can || unfinished !== "";
  const aside = option.label;
  const line = unfinished || [option.why, option.does, option.armed].filter(Boolean).join(" · ");
  const id = [option.thread, option.background ?? false, option.network ?? false, ...(option.node ? [option.node] : []), ...(option.nth ? [option.nth] : [])].join(" ");
  const beside = option.background && !option.node ? say("%s's watchdog", option.thread) : "";
  const made = button(id, aside ? labelOf(option) : beside || option.thread, unfinished || (option.line ?? line), off);
  if (option.verb && !aside && !beside) {
    made.firstElementChild?.append(make("span", { class: "verb" }, ` ${option.verb}`));
  }
  made.title = line;
  const comes = off ? undefined : outlook(Math.max(option.choice, 0));
  made.classList.toggle("next", !off && done !== undefined && done === option.choice);
  made.classList.toggle("aside", Boolean(option.background || option.network || option.node));
  made.firstElementChild?.prepend(shape(ordinal(option.thread)));
  if (comes) {
    made.append(outlookOf(comes));
    made.title = `${line} · ${comes.says}`;
  }
  made.onclick = () => step(option);
  return make("li", { class: `option t${ordinal(option.thread) % 8}` }, made);
}

/** @param {Position} position @param {Parameters<typeof drawOptions>[1]} on */
function passing({ next }, { unfinished, outlook, pass }) {
  const line = unfinished || (next ? say("to %s", next) : say("Nothing more happens by itself."));
  const off = !next || unfinished !== "";
  const made = button("time", say("Let time pass"), line, off);
  const comes = off ? undefined : outlook(-1);
  if (comes) {
    made.append(outlookOf(comes));
    made.title = `${line} · ${comes.says}`;
  }
  made.onclick = pass;
  return make("li", { class: "option" }, made);
}

/** @param {Parameters<typeof drawOptions>[1]} on */
function breaking({ unfinished, faults, strike }) {
  const made = button("break", say("⚡ Break it …"), unfinished || faults, unfinished !== "");
  made.classList.add("fault-move");
  made.onclick = strike;
  return make("li", { class: "option" }, made);
}

/** What becomes of a decision, beside it. @param {Outlook} outlook */
const outlookOf = ({ short, tone }) => make("span", { class: `outlook tone-${tone}` }, short);

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

const SHAPES = ["M1 6a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M1.5 1.5h9v9h-9z", "M6 .8l5.6 10.2H.4z", "M6 .3L11.7 6 6 11.7.3 6z"];

/** A thread's mark, as templates.Shape draws it. @param {number} ordinal */
function shape(ordinal) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of Object.entries({ class: "shape", viewBox: "0 0 12 12", width: "11", height: "11", "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  path.setAttribute("d", SHAPES[(ordinal + Math.floor(ordinal / 8)) % 4]);
  svg.append(path);
  return svg;
}
