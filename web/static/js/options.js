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

const MANY = 6; // buttons from which on what cannot be done says only when it can
const CROWD = 8; // and from which on the others say no more, besides what they do

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

/** @param {Option} o */
const wordsOf = (o) => ({ name: [o.name ?? o.thread, o.verb].filter(Boolean).join(" "), line: [o.when, o.which].filter(Boolean).join(" · ") });

/**
 * What is drawn in a box each: a move, or the nodes that a thread asks at once. Who has ended
 * or waits for its own is left out of many, or where that is drawn.
 * @param {Position} position
 * @param {number} [beside] boxes besides
 * @returns {{boxes: Option[][], all: number}}
 */
export function boxesOf({ options = [] }, beside = 0) {
  /** @type {Map<string, Option[]>} */
  const boxes = new Map();
  for (const o of options.filter((o) => !o.background || o.does)) {
    const key = o.node ? `${o.thread} ${o.background} ${o.network}` : String(boxes.size);
    boxes.set(key, [...(boxes.get(key) ?? []), o]);
  }
  const list = [...boxes.values()];
  const all = list.length + beside;
  const moves = (/** @type {Option[]} */ [o]) => o.can || o.verb || o.when;
  return { boxes: list.filter((box) => moves(box) || (all < MANY && !list.some((other) => moves(other) && other[0].thread === box[0].thread))), all };
}

/**
 * What a box says in two lines: who and what, then when and which call.
 * @param {Option[]} box
 * @param {number} all boxes that there are
 */
export function linesOf(box, all) {
  const [first] = box;
  const who = first.name ?? first.thread;
  const off = !box.some((o) => o.can);
  const line = (all >= MANY && off) || all >= CROWD ? (first.when ?? first.which ?? "") : wordsOf(first).line;
  if (box.length > 1) {
    const same = new Set(box.map((o) => wordsOf(o).line)).size === 1;
    return { who, verb: first.network ? "→" : say("asks nodes"), line: same ? line : (first.which ?? "") };
  }
  return { who, verb: all >= MANY && off && first.when ? "" : (first.verb ?? ""), line };
}

/**
 * Shows the moves that can be made at a position: of each thread one, and of what goes
 * on beside it; then time, and faults. The focus stays where it is.
 * @param {Position} position
 * @param {object} on
 * @param {{line: string, why: string} | null} on.unfinished why nobody can act here, in short and as a sentence
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
  const others = position.over ? [] : [...(on.may("time") ? [passing(position, on)] : []), ...(on.may("faults") ? [breaking(on)] : [])];
  const { boxes, all } = boxesOf(position, others.length);
  list.replaceChildren(...boxes.map((box) => boxOf(box, all, on)), ...others);
  list.classList.toggle("many", all >= MANY || boxes.some(([o]) => o.node)); // nodes take room
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
 * A button that says in its first line what it does, in its second when, and which call. A
 * move that is impossible now keeps the focus, and says why.
 * @param {string} id
 * @param {(Node | string)[]} does
 * @param {string} line
 * @param {boolean} off
 */
function button(id, does, line, off) {
  const made = make("button", { type: "button", class: "move", "aria-disabled": String(off), title: line }, make("b", {}, ...does), ...(line ? [make("small", {}, line)] : []));
  made.dataset.option = id;
  return made;
}

/** @param {Option[]} box @param {number} all @param {Parameters<typeof drawOptions>[1]} on */
function boxOf(box, all, on) {
  const ordinal = on.ordinal(box[0].thread);
  const { who, verb, line } = linesOf(box, all);
  const does = [shape(ordinal), [who, verb].filter(Boolean).join(" ")];
  const words = make("p", {}, make("b", {}, ...does), make("small", {}, on.unfinished?.line ?? line));
  const inside = box.length > 1 ? make("div", { class: "nodes-of" }, words, ...box.map((o) => moveOf(o, [String(o.node)], "", on))) : moveOf(box[0], does, line, on);
  return make("li", { class: `option t${ordinal % 8}` }, inside);
}

/** @param {Option} option @param {(Node | string)[]} does @param {string} small @param {Parameters<typeof drawOptions>[1]} on */
function moveOf(option, does, small, { unfinished, done, step, outlook }) {
  const off = !option.can || unfinished !== null;
  const { name, line } = wordsOf(option);
  const id = [option.thread, option.background ?? false, option.network ?? false, ...(option.node ? [option.node] : []), ...(option.nth ? [option.nth] : [])].join(" ");
  const made = button(id, does, small && (unfinished?.line ?? small), off);
  if (!small) {
    made.ariaLabel = [name, unfinished?.line ?? line].filter(Boolean).join(say(", ")); // its text is a number
  }
  made.title = [unfinished?.why, ...(unfinished ? [] : [option.why]), option.does, option.armed].filter(Boolean).join(" · ");
  made.classList.toggle("next", !off && done !== undefined && done === option.choice);
  foresee(made, off ? undefined : outlook(Math.max(option.choice, 0)));
  made.onclick = () => step(option);
  return made;
}

/** Says what becomes of a move, beside it. @param {HTMLElement} made @param {Outlook | undefined} comes */
function foresee(made, comes) {
  if (comes) {
    made.append(make("span", { class: `outlook tone-${comes.tone}` }, comes.short));
    made.title += ` · ${comes.says}`;
    made.ariaLabel &&= [made.ariaLabel, comes.short].join(say(", "));
  }
}

/** @param {Position} position @param {Parameters<typeof drawOptions>[1]} on */
function passing({ next }, { unfinished, outlook, pass }) {
  const off = !next || unfinished !== null;
  const made = button("time", [say("Let time pass")], unfinished?.line ?? (next ? say("to %s", next) : say("nothing more happens")), off);
  foresee(made, off ? undefined : outlook(-1));
  made.onclick = pass;
  return make("li", { class: "option" }, made);
}

/** @param {Parameters<typeof drawOptions>[1]} on */
function breaking({ unfinished, faults, strike }) {
  const made = button("break", [say("⚡ Break it …")], unfinished?.line ?? faults, unfinished !== null);
  made.classList.add("fault-move");
  made.onclick = strike;
  return make("li", { class: "option" }, made);
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
