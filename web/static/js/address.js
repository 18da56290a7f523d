// The address has the branch that is shown; a tab keeps the others while its
// page is loaded again, as the server keeps nothing.
import { LONGEST, unpack } from "./link.js";

/**
 * @typedef {object} Kept
 * @property {string} link the address' text while they were there
 * @property {import("./board-state.js").Carried[]} branches
 * @property {number[]} numbers what they are called by
 * @property {number} index of the one that is shown
 *
 * @typedef {object} Named what an address names
 * @property {string} scenario as JSON
 * @property {number} at position to go to
 * @property {Kept | null} kept with these branches
 */

const KEY = "relock-branches";
const LINK = /^v\d+\./; // other fragments are places on the page
const PAUSE = 120; // ms: a held key writes once

/** The address' fragment, also where some program has escaped it. */
function fragment() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

/**
 * The thing that the address names, or null if it names nothing.
 * @returns {Promise<Named | null>} rejected with a LinkError
 */
export async function read() {
  const link = fragment();
  if (!LINK.test(link)) {
    return null;
  }
  const { scenario, at } = await unpack(link);
  return { scenario: JSON.stringify(scenario), at, kept: kept(link) };
}

/**
 * Keeps the address up to date.
 * @param {() => Promise<string>} packed the link of what is shown
 * @param {() => Omit<Kept, "link"> | null} branches all there are, or null where that is not known now
 * @param {() => Promise<void>} changed it names something else; until it has been read, what is shown is not written
 * @returns {{write: () => void, turn: (query: string) => Promise<void>, put: (hash: string) => string, other: () => boolean}}
 *   write is to be called when something else is shown; turn goes on with another query, from
 *   which Back comes back here; put opens what a fragment names, and says the one before; other tells whether that is about to be read
 */
export function address(packed, branches, changed) {
  let known = location.hash; // the fragment that this page has set, or has read
  let writing = 0;
  let read = 0; // how often another address was read: what was shown before is not written over it
  let reading = 0; // how many are being read
  const other = () => location.hash !== known && LINK.test(fragment());
  function follow() {
    if (other()) {
      clearTimeout(writing);
      read++;
      known = location.hash;
      reading++;
      changed().finally(() => reading--);
    }
  }
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow); // where the query differs, too, no hash has changed
  async function now() {
    clearTimeout(writing);
    const before = read;
    const text = await packed();
    if (other() || read !== before) {
      return; // somebody has put it there just now, and it is read, or about to be
    }
    known = text.length <= LONGEST ? `#${text}` : "";
    history.replaceState(history.state, "", location.pathname + location.search + known);
    /** @type {HTMLAnchorElement} */ (document.getElementById("edit")).hash = text;
    const all = branches();
    if (all) {
      keep({ link: known && text, ...all });
    }
  }
  return {
    write() {
      clearTimeout(writing);
      if (reading === 0) {
        writing = window.setTimeout(now, PAUSE);
      }
    },
    turn(query) {
      return now().then(() => history.pushState({ turned: true }, "", location.pathname + query + location.hash));
    },
    put(hash) {
      clearTimeout(writing);
      const from = location.hash;
      history.pushState(null, "", location.pathname + hash);
      follow();
      return from;
    },
    other,
  };
}

/** Whether what is opened is to play at once: asked for by the address, once,
 *  not each time that the page is loaded. */
export function autoplay() {
  const query = new URLSearchParams(location.search);
  const asked = query.get("autoplay") === "1";
  if (asked) {
    query.delete("autoplay");
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
  }
  return asked;
}

/** @param {Kept} kept */
function keep(kept) {
  try {
    if (kept.link && kept.branches.length > 1) {
      sessionStorage.setItem(KEY, JSON.stringify(kept));
    } else {
      sessionStorage.removeItem(KEY);
    }
  } catch {
    // No room, or no storage: the address has the branch that is shown.
  }
}

/**
 * The branches kept with an address.
 * @param {string} link
 * @returns {Kept | null}
 */
function kept(link) {
  try {
    /** @type {Kept | null} */
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return kept?.link === link ? kept : null;
  } catch {
    return null;
  }
}
