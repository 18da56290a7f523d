// The stage: what each thread believes, and what Redis says. The server words it
// (templates.Stage); here it changes from row to row, in the same places.
import { make } from "./dom.js";
import { duration, say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").State} State
 *
 * @typedef {object} Owner
 * @property {number} thread ordinal, or -1
 * @property {string} name
 *
 * @typedef {object} Belief
 * @property {string} is
 * @property {boolean} [paused]
 * @property {string} says
 * @property {string} [does]
 * @property {string} [odd]
 * @property {{name: string, text: string}[]} [calls]
 * @property {string} cord
 * @property {string} [tie]
 * @property {string} [need]
 * @property {boolean} [wrong]
 *
 * @typedef {object} Card
 * @property {string} says
 * @property {string} key
 * @property {Owner[]} [owners]
 * @property {string} held
 * @property {boolean} [gone]
 * @property {string} [raw]
 * @property {string} [odd]
 * @property {boolean} [wrong]
 * @property {string} [left] of the lease
 * @property {number} [part] of it that is left, in thousandths
 * @property {Owner[]} [queue]
 * @property {string} [unsure]
 * @property {{name: string, value: string, texts?: string[], wrong?: string}} [resource]
 *
 * @typedef {object} NodeCard
 * @property {string} name
 * @property {Owner} owner
 * @property {string} left
 * @property {number} [part]
 * @property {string} [clock]
 * @property {string} [odd]
 * @property {boolean} [down]
 *
 * @typedef {object} Stage
 * @property {Belief[]} beliefs
 * @property {Card} card
 * @property {NodeCard[]} [nodes]
 * @property {boolean} [covered] while a question is open
 *
 * @typedef {object} Scene what there is to draw
 * @property {Stage} stage
 * @property {string} broken
 * @property {string} left of the lease
 * @property {number} part that is left, in thousandths
 */

const CLAIMS = ["holds", "unsure", "lost"];
const CORDS = ["none", "asks", "no", "ok", "two", "false", "open", "loose"];

/** A stage as it was worded. @param {Stage} stage @param {string} [broken] @returns {Scene} */
export const sceneOf = (stage, broken = "") => ({ stage, broken, left: stage.card?.left ?? "", part: stage.card?.part ?? 0 });

/**
 * What is on the stage at a row, or at a command of it; null where the row is
 * not here.
 * @param {HTMLElement} box
 * @param {Film} film
 * @param {{row: number, moment: number, passed?: number}} where passed: ms since the row
 * @returns {Scene | null}
 */
export function sceneAt(box, film, { row, moment, passed = 0 }) {
  if (row === 0) {
    return sceneOf(JSON.parse(box.dataset.start ?? "{}"));
  }
  const shown = film.rows[row - 1];
  if (!shown) {
    return null;
  }
  const inside = moment > 0 ? shown.inside?.[moment - 1] : undefined;
  const stage = inside ? (shown.inside?.slice(0, moment).findLast((m) => m.stage)?.stage ?? film.rows[row - 2]?.stage) : shown.stage;
  if (!stage) {
    return null; // it is as in the row before, which is not here
  }
  const scene = sceneOf(stage, inside ? "" : shown.broken);
  if (passed > 0 && shown.after.lease >= 0 && shown.after.type !== "none" && scene.left !== "") {
    const after = drained(film, shown.after, passed);
    return { ...scene, left: leaseLeft(after, film.lease), part: after.left };
  }
  return scene;
}

/** A scene while a question is open: what Redis holds, and nothing that a thread
 *  believes. film.Stage.Cover does the same. @param {Scene} scene @returns {Scene} */
export const covered = ({ stage, left, part }) => ({
  stage: {
    ...stage,
    covered: true,
    beliefs: stage.beliefs.map(() => ({ is: "", says: "", cord: "" })),
    card: { ...stage.card, odd: "", wrong: false, ...(stage.card.resource ? { resource: { ...stage.card.resource, wrong: "" } } : {}) },
  },
  broken: "",
  left,
  part,
});

/**
 * A state some time later: the lease runs out, and nothing else happens.
 * @param {Film} film
 * @param {State} state
 * @param {number} passed ms
 * @returns {State}
 */
export function drained(film, state, passed) {
  if (passed <= 0 || state.lease < 0 || state.type === "none") {
    return state;
  }
  const lease = Math.max(0, Math.round(state.lease - passed));
  return { ...state, lease, left: film.lease > 0 ? Math.min(1000, Math.floor((lease * 1000) / film.lease)) : state.left };
}

/** What is left of a lease, in words. @param {State} state @param {number} lease that was asked for, ms */
export function leaseLeft(state, lease) {
  const hours = Math.floor(state.lease / 3_600_000);
  if (hours >= 24 && state.lease > 10 * lease) { // days, where far less was asked for
    return say("%d d %d h, where %s were meant", Math.floor(hours / 24), hours % 24, duration(lease));
  }
  return lease < 60_000 ? say("%d of %d ms", state.lease, lease) : say("%s of %s", duration(state.lease), duration(lease));
}

/** @param {Element} box @param {string} name @returns {HTMLElement} */
const slot = (box, name) => /** @type {HTMLElement} */ (box.querySelector(`[data-slot="${name}"]`));

/** @param {Element} box @param {string} name @param {string | undefined} text */
function put(box, name, text) {
  const place = slot(box, name);
  if (place.textContent !== (text ?? "")) {
    place.textContent = text ?? "";
  }
  return place;
}

/** @param {Owner | undefined} owner */
const colour = (owner) => (owner && owner.name && owner.thread >= 0 ? `t${owner.thread % 8}` : "nobody");

/** Sets one class of several. @param {Element} box @param {string[]} all @param {string} one */
function only(box, all, one) {
  for (const name of all) {
    box.classList.toggle(name, name === one);
  }
}

const COLOURS = ["nobody", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];

/** Draws a scene. @param {HTMLElement} box @param {Scene} scene */
export function drawStage(box, scene) {
  const { stage, broken } = scene;
  put(box, "broken", broken).hidden = !broken;
  box.classList.toggle("broken", broken !== "");
  box.classList.toggle("covered", Boolean(stage.covered));
  stage.beliefs.forEach((belief, i) => {
    const who = box.querySelector(`[data-who="${i}"]`);
    const cord = box.querySelector(`[data-cord="${i}"]`);
    if (who && cord) {
      drawBelief(/** @type {HTMLElement} */ (who), belief);
      only(cord, CORDS, belief.cord);
      cord.classList.toggle("wrong", Boolean(belief.wrong));
      put(cord, "tie", belief.tie);
      put(cord, "need", belief.need);
    }
  });
  (stage.nodes ?? []).forEach((node, i) => {
    const card = box.querySelector(`[data-node="${i}"]`);
    if (card) {
      drawNode(card, node);
    }
  });
  drawCard(/** @type {HTMLElement} */ (box.querySelector("[data-card]")), stage.card);
  drainStage(box, scene);
}

/** @param {HTMLElement} who @param {Belief} belief */
function drawBelief(who, { is, paused, says, does, odd, calls = [], tie, need }) {
  put(who, "tied", [tie, need].filter(Boolean).join(", "));
  if (is) {
    who.dataset.is = is;
  } else {
    delete who.dataset.is;
  }
  slot(who, "paused").hidden = !paused;
  put(who, "says", says).classList.toggle("weak", !CLAIMS.includes(is));
  put(who, "does", does);
  put(who, "odd", odd);
  const list = slot(who, "calls");
  list.hidden = calls.length === 0;
  list.replaceChildren(...calls.map(({ name, text }) => make("li", {}, make("code", {}, name), ` ${text}`)));
}

/** @param {Element} card @param {NodeCard} node */
function drawNode(card, { owner, left, part = 0, clock, odd, down }) {
  only(card, COLOURS, colour(owner));
  card.classList.toggle("down", Boolean(down));
  put(card, "owner", owner.name || "–");
  put(card, "left", left);
  put(card, "odd", odd);
  put(card, "clock", clock);
  card.querySelector(".left")?.setAttribute("width", String(part));
}

/** @param {HTMLElement} box @param {Card} card */
function drawCard(box, card) {
  const { owners = [], queue = [], resource } = card;
  only(box, COLOURS, owners.length === 1 ? colour(owners[0]) : "nobody");
  box.classList.toggle("gone", Boolean(card.gone));
  box.classList.toggle("wrong", Boolean(card.wrong));
  box.classList.toggle("leased", Boolean(card.left));
  put(box, "says", card.says);
  put(box, "key", card.key);
  slot(box, "owners").replaceChildren(...owners.map((o) => make("span", { class: `tag ${colour(o)}` }, o.name)));
  put(box, "held", card.held);
  put(box, "raw", card.raw);
  put(box, "odd", card.odd);
  put(box, "unsure", card.unsure);
  const line = slot(box, "queue");
  line.hidden = queue.length === 0;
  line.replaceChildren(...queue.map((o) => make("li", { class: colour(o) }, o.name)));
  const res = slot(box, "resource");
  res.hidden = !resource;
  if (resource) {
    const { name, texts = [], wrong, value } = resource;
    res.replaceChildren(make("span", {}, name), make("b", {}, value), ...texts.map((text) => make("span", {}, text)), ...(wrong ? [make("span", { class: "odd" }, wrong)] : []));
  }
}

/** Draws the lease alone, as time goes by and nothing else happens.
 *  @param {HTMLElement} box @param {Scene} scene */
export function drainStage(box, { left, part }) {
  const card = /** @type {Element} */ (box.querySelector("[data-card]"));
  put(card, "left", left);
  const meter = slot(card, "meter");
  meter.setAttribute("aria-valuenow", String(part));
  meter.setAttribute("aria-valuetext", left);
  meter.querySelector(".left")?.setAttribute("width", String(part));
}

/**
 * What has changed on a stage, for people who hear it: "A: I hold the lock, not in
 * Redis."
 * @param {string[]} threads
 * @param {Stage | null} was null before anything was said
 * @param {Stage} now
 */
export function changesOf(threads, was, now) {
  const before = was?.beliefs.length === now.beliefs.length ? was : null; // else of another run
  const belief = (/** @type {Belief} */ { says, paused, odd, tie, need }) => [says, paused ? say("it is paused") : "", odd, tie, need].filter(Boolean).join(", ");
  const redis = (/** @type {Card} */ { owners = [], held, odd, unsure }) => [[...owners.map(({ name }) => name), held].join(" "), odd, unsure].filter(Boolean).join(", ");
  const all = now.beliefs.map((one, i) => [belief(one), before ? belief(before.beliefs[i]) : "", threads[i]]);
  const changed = all.filter(([says, said]) => says !== said).map(([says, , name]) => `${name}: ${says}.`);
  const key = redis(now.card);
  if (key && key !== (before && redis(before.card))) {
    changed.push(`Redis: ${[key, now.card.left].filter(Boolean).join(", ")}.`);
  }
  return changed;
}

const LONG = 88; // characters that have no room in two lines of large type

/**
 * Says why; of a broken rule the first clause, which says which, stands out.
 * @param {HTMLElement} box with a part for each
 * @param {string} why
 * @param {boolean} broken
 */
export function drawSentence(box, why, broken) {
  const clause = broken ? (/^.*?(?:[:：,，。]|$)/.exec(why)?.[0] ?? "") : "";
  const [red, rest] = box.children;
  box.classList.toggle("long", why.length > LONG);
  red.textContent = clause;
  rest.textContent = why.slice(clause.length).trim();
}
