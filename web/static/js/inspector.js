// The lock's key as it is at a step: the raw hash first, then what it means,
// and what each thread believes.
import { make } from "./dom.js";
import { before } from "./film.js";
import { duration, say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").State} State
 * @typedef {import("./film.js").Field} Field
 * @typedef {import("./film.js").LastCall} LastCall
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {HTMLElement} box
 * @param {Film} film
 * @param {{row: number, moment: number, preview: boolean, passed?: number}} where passed: ms since the row
 */
export function inspect(box, film, { row, moment, preview, passed = 0 }) {
  const shown = film.rows[row - 1];
  const inside = shown?.inside?.[moment - 1];
  const state = inside?.after ?? shown?.after ?? before(film, 1);
  const was = moment > 1 ? (shown?.inside?.[moment - 2]?.after ?? before(film, row)) : before(film, row);
  const place = row === 0 ? say("at the start") : moment > 0 ? `T${row}.${moment}` : `T${row}`;
  const parts = [
    make("p", { class: preview ? "place preview" : "place" }, preview ? say("preview: %s", place) : place),
    hash(film, state, was),
    lease(film, drained(film, state, passed)),
    make("p", { class: "truth" }, truth(film, state)),
    beliefs(film, state, inside ?? shown),
  ];
  box.replaceChildren(...parts);
}

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

/**
 * @param {Film} film
 * @param {State} state
 * @param {State} was
 */
function hash(film, state, was) {
  const list = make("ul", { class: "raw" });
  if (state.type === "elsewhere" || state.type === "no lock") {
    list.append(make("li", { class: "none" }, say("Redis is not asked")));
    return list;
  }
  if (state.type === "none" && state.nodes?.some((thread) => thread >= 0)) {
    list.append(make("li", { class: "none" }, minority(film, state.nodes)));
    return list;
  }
  const owners = [...new Set([...(was.fields ?? []), ...(state.fields ?? [])].map((f) => f.owner))].sort();
  for (const owner of owners) {
    const now = state.fields?.find((f) => f.owner === owner);
    const old = was.fields?.find((f) => f.owner === owner);
    const field = /** @type {Field} */ (now ?? old);
    const item = make("li", { class: `t${field.thread % 8}` });
    if (field.thread >= 0) {
      item.append(make("span", { class: "tag" }, film.threads[field.thread]));
    }
    item.append(make(now ? "code" : "s", {}, field.owner));
    if (old && (!now || old.count !== now.count)) {
      item.append(make("s", { class: "old" }, old.count || say("gone")), make("span", { "aria-hidden": "true" }, "→"));
    }
    if (now) {
      item.append(make(old?.count === now.count ? "b" : "ins", {}, now.count));
    } else {
      item.append(make("b", {}, "∅"));
    }
    list.append(item);
  }
  if (owners.length === 0) {
    list.append(make("li", { class: "none" }, say("no key")));
  }
  if (state.more) {
    list.append(make("li", { class: "none" }, say("%d more", state.more)));
  }
  list.append(...(state.calls ?? []).map((call) => lastCall(film, call, was.calls?.find((c) => c.field === call.field))));
  return list;
}

/**
 * The number of a client's last call: it is in the hash, and no hold.
 * @param {Film} film
 * @param {LastCall} call
 * @param {LastCall} [old]
 */
function lastCall(film, call, old) {
  const item = make("li", { class: "last-call" }, make("code", {}, call.field));
  item.append(make("span", {}, call.thread >= 0 ? say("%s's last call:", film.threads[call.thread]) : say("last call:")));
  if (old && old.number !== call.number) {
    item.append(make("s", {}, old.number), make("span", { "aria-hidden": "true" }, "→"));
  }
  item.append(make("span", { class: "number" }, call.number));
  return item;
}

/**
 * Who has the key on which nodes, where nobody has enough of them.
 * @param {Film} film
 * @param {number[]} nodes
 */
function minority(film, nodes) {
  const shares = film.threads.flatMap((name, thread) => {
    const on = nodes.flatMap((has, i) => (has === thread ? [String(i + 1)] : []));
    return on.length > 0 ? [say("%s on %s", name, on.join(say(", ")))] : [];
  });
  return say("no majority: %s", shares.join(say("; ")));
}

/**
 * @param {Film} film
 * @param {State} state
 */
function lease(film, state) {
  const box = make("div", { class: "lease-meter" });
  if (state.type === "elsewhere" || state.type === "no lock") {
    return box; // no lease is there to run out
  }
  if (state.type === "none") {
    box.classList.add("none");
    box.append(make("span", {}, state.heartbeat ? say("time to live") : say("lease")), make("span", { class: "left-ms" }, "–"));
    return box;
  }
  const endless = state.lease < 0;
  const hours = Math.floor(state.lease / 3_600_000);
  const far = hours >= 24 && state.lease > 10 * film.lease; // days, where far less was asked for
  const text = endless
    ? say("∞ no expiry: it would stay for ever")
    : far
      ? say("%d d %d h, where %s were meant", Math.floor(hours / 24), hours % 24, duration(film.lease))
      : film.lease < 60_000
        ? say("%d of %d ms", state.lease, film.lease)
        : say("%s of %s", duration(state.lease), duration(film.lease));
  const left = state.heartbeat ? say("time to live") : say("lease left");
  box.append(make("span", {}, left), make("span", { class: "left-ms" }, text));
  const meter = make("div", {
    role: "meter", "aria-label": left, "aria-valuemin": "0", "aria-valuemax": String(Math.max(film.lease, state.lease)),
    "aria-valuenow": String(endless ? film.lease : state.lease), "aria-valuetext": text,
  });
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 1000 10");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, width] of /** @type {[string, number][]} */ ([["track", 1000], ["left", endless ? 1000 : state.left]])) {
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", name);
    rect.setAttribute("width", String(width));
    rect.setAttribute("height", "10");
    svg.append(rect);
  }
  const owner = state.fields?.length === 1 ? state.fields[0].thread : -1;
  meter.className = ["bar", owner >= 0 ? `t${owner % 8}` : "", endless ? "endless" : "", !endless && state.left < 250 ? "low" : ""].join(" ");
  meter.append(svg);
  box.append(meter);
  return box;
}

/**
 * @param {Film} film
 * @param {State} state
 */
function truth(film, state) {
  const fields = state.fields ?? [];
  if (state.type === "elsewhere") {
    return say("The lock is a word in the memory of a process: what the process says is the truth.");
  }
  if (state.type === "no lock") {
    return say("There is no lock: nothing keeps a thread out.");
  }
  if (state.heartbeat) {
    return fields.length > 0 ? say("Redis: the device's key is there.") : say("Redis: there is no key.");
  }
  if (fields.length === 0 && state.nodes?.some((thread) => thread >= 0)) {
    return say("Redis: no thread has its value on a majority of the nodes.");
  }
  if (fields.length === 0) {
    return state.type === "none" ? say("Redis: nobody holds the lock.") : say("Redis: the key is there and names no owner.");
  }
  const names = fields.map((f) => (f.thread >= 0 ? film.threads[f.thread] : f.owner)).join(say(", "));
  const count = Number(fields[0].count);
  if (fields.length > 1 || !fields[0].count) {
    return say("Redis: %s holds the lock.", names);
  }
  return count === 1 ? say("Redis: %s holds the lock, once.", names) : say("Redis: %s holds the lock, %d times.", names, count);
}

/**
 * @param {Film} film
 * @param {State} state
 * @param {{belief: number[], leaving?: number[]} | undefined} then
 */
function beliefs(film, state, then) {
  const list = make("ul", { class: "beliefs" });
  if (state.heartbeat) {
    return list;
  }
  (then?.belief ?? []).forEach((levels, thread) => {
    if (then?.leaving?.includes(thread)) {
      list.append(make("li", { class: `t${thread % 8} leaving` }, say("%s is leaving: it only has to unlock.", film.threads[thread])));
      return;
    }
    if (levels === 0) {
      return;
    }
    const agrees = (state.fields ?? []).some((f) => f.thread === thread) || state.type === "elsewhere" || state.type === "no lock";
    const name = film.threads[thread];
    const known = (state.nodes ?? []).filter((has) => has === thread).length;
    const text = state.type === "no lock" ? say("%s is inside, without a lock.", name) : levels === 1 ? say("%s believes: I hold it, once.", name) : say("%s believes: I hold it, %d times.", name, levels);
    const item = make("li", { class: `t${thread % 8} ${agrees ? "agrees" : "parted"}` }, text);
    if (!agrees) {
      item.append(" ", make("strong", {}, known > 0 ? say("%d of %d nodes know, too few.", known, state.nodes?.length ?? 0) : say("Redis does not know of it.")));
    }
    list.append(item);
  });
  if (list.children.length === 0) {
    list.append(make("li", { class: "nobody" }, state.type === "no lock" ? say("No thread is inside.") : say("No thread believes that it holds the lock.")));
  }
  return list;
}
