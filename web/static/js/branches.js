// Keeps a tab's branches while its page is loaded anew: the address holds the
// one that is shown alone, and the server keeps nothing.

const KEY = "relock-branches";

/**
 * @typedef {object} Kept
 * @property {string} link the address' text while they were there
 * @property {{id: number, parent: number, fork: number, moves: any[]}[]} branches as the socket takes them
 * @property {number[]} numbers what they are called by
 * @property {number} index of the one that is shown
 */

/** @param {Kept} kept */
export function keepBranches(kept) {
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
 * Finds what was kept with an address.
 * @param {string} link
 * @returns {Kept | null}
 */
export function keptBranches(link) {
  try {
    /** @type {Kept | null} */
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return kept?.link === link ? kept : null;
  } catch {
    return null;
  }
}
