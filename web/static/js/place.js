// The current row is in the address: who loads the page again, or
// in the other language, is there again.

const PAUSE = 250; // ms between two changes: browsers bear some in a second

let written = false; // this page has changed its address
let waiting = 0; // timer
let last = 0; // when it was changed
let wanted = "";

/** The row that an address names, -1 for none. */
export const rowInAddress = (address = location.href) => Number(/^#row-(\d+)$/.exec(new URL(address).hash)?.[1] ?? -1);

/**
 * Notes where you are. The end has no name: who is there goes along with a
 * run that goes on.
 * @param {number} row
 * @param {number} end
 */
export function keepPlace(row, end) {
  wanted = row === end ? "" : `#row-${row}`;
  if (!written && wanted === "") {
    return; // nobody has gone anywhere
  }
  if (!written) {
    // Before a link takes the address along, and before the page is left.
    document.addEventListener("click", write, { capture: true });
    addEventListener("pagehide", write);
  }
  written = true;
  history.scrollRestoration = wanted ? "manual" : "auto"; // else the browser scrolls away from the row
  clearTimeout(waiting);
  waiting = window.setTimeout(write, Math.max(0, last + PAUSE - Date.now()));
}

function write() {
  if (location.hash !== wanted) {
    last = Date.now();
    history.replaceState(null, "", `${location.pathname}${location.search}${wanted}`);
  }
}
