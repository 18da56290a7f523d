// What a page shows once the member is no longer in its room.
import { byId, make } from "./dom.js";
import { ENDED, NO_ROOM, REMOVED } from "./line.js";
import { listBranches } from "./room-links.js";
import { setText } from "./room-question.js";
import { goodbye } from "./room-says.js";
import { say } from "./words.js";

/** Where to go: back into the room, unless it has ended.
 *  @param {number} code @param {boolean} leads one was its host */
function ways(code, leads) {
  if (code !== ENDED && code !== NO_ROOM) {
    return make("a", { class: "button", href: location.pathname }, say("Try again"));
  }
  return leads ? make("a", { class: "button", href: "/scenarios" }, say("Make another room")) : make("a", { class: "button", href: "/room" }, say("Another room"));
}

/**
 * Says why, where to go, and what one takes home.
 * @param {string} room its code
 * @param {number} code of line.js, or 0
 * @param {string} why of 0
 * @param {boolean} leads
 */
export function showGone(room, code, why, leads) {
  byId("gone").hidden = false;
  setText(byId("gone-why"), goodbye(code, why));
  byId("gone-ways").replaceChildren(ways(code, leads), make("a", { class: "button", href: "/" }, say("To the front page")));
  if (code !== REMOVED) {
    listBranches(room, byId("gone-links"));
  }
}
