// What people take home: a link to each branch that a class has made.
import { make } from "./dom.js";
import { titleOf } from "./room-says.js";
import { say } from "./words.js";

/** @typedef {{branch: number, number: number, scene: number, title: string, link: string}} Linked */

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

/** @param {Linked} branch */
const linkTo = ({ link, number }) => make("li", {}, make("a", { href: link, target: "_blank", rel: "noopener" }, number === 0 ? say("main") : say("branch %d", number)));

/** Lists the links of a room's branches, as they are now: of several scenarios
 *  each below its title.
 *  @param {string} code @param {HTMLElement} list */
export async function listBranches(code, list) {
  try {
    const all = await branchesOf(code);
    const scenes = [...new Set(all.map(({ scene }) => scene))];
    const of = (/** @type {number} */ scene) => all.filter((b) => b.scene === scene);
    list.replaceChildren(
      ...(scenes.length < 2
        ? all.map(linkTo)
        : scenes.map((scene) => make("li", { class: "of-scene" }, make("span", {}, titleOf(of(scene)[0])), make("ul", { class: "branch-links" }, ...of(scene).map(linkTo))))),
    );
  } catch {
    list.replaceChildren(make("li", { class: "hint" }, say("The links cannot be loaded right now.")));
  }
}
