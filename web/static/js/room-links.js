// What people take home: a link to each branch that a class has made.
import { make } from "./dom.js";
import { say } from "./words.js";

/** @typedef {{branch: number, link: string}} Linked */

/** @type {Linked[] | null} */
let kept = null;

/** Keeps what a room hands out when it ends. @param {Linked[]} list */
export function keep(list) {
  kept = list;
}

/**
 * @param {string} code
 * @returns {Promise<Linked[]>}
 */
export async function branchesOf(code) {
  if (kept) {
    return kept;
  }
  const answer = await fetch(`/room/${code}/branches`, { cache: "no-store" });
  if (!answer.ok) {
    throw new Error(`${answer.status}`);
  }
  return answer.json();
}

/** A branch's link, standing after so many moves. @param {string} link @param {number} at */
export const standingAt = (link, at) => link.replace(/~\d+$/, `~${at}`);

/** Lists the links of a room's branches, as they are now.
 *  @param {string} code @param {HTMLElement} list */
export async function listBranches(code, list) {
  try {
    const all = await branchesOf(code);
    list.replaceChildren(
      ...all.map(({ link }, i) => make("li", {}, make("a", { href: link, target: "_blank", rel: "noopener" }, i === 0 ? say("main") : say("branch %d", i)))),
    );
  } catch {
    list.replaceChildren(make("li", { class: "hint" }, say("The links cannot be had just now.")));
  }
}
