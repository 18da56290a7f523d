// What would mend it? A mode of the page: the stage stops at the row that breaks a rule,
// and below it is how it came to this, and each change that was tried.
import { byId, copied, focusOn } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {object} Mending what the page knows
 * @property {boolean} going
 * @property {number} branch that was asked about, or -1
 * @property {number} moves of it, then
 */

/** @type {Mending} */
export const UNASKED = { going: false, branch: -1, moves: -1 };

/**
 * What the page knows after a frame.
 * @param {Mending} was
 * @param {any} frame
 * @param {boolean} [known] the page opens the run with a change, or the one that it asked about
 * @returns {Mending}
 */
export function mended(was, frame, known = false) {
  if (frame.opened) {
    return known && !was.going ? { ...was, branch: -1 } : UNASKED; // of something else
  }
  return frame.mended ? { ...was, going: frame.mended.going } : was;
}

/**
 * Whether cards that were shown change places where others are shown in their stead.
 * @param {string[]} was what each is called, in order
 * @param {string[]} next
 */
export const moved = (was, next) => was.some((title, i) => title !== next[i]);

/** What the cards in a box are called. @param {ParentNode} box */
const titles = (box) => [...box.querySelectorAll(".cure-card h3")].map((title) => title.textContent ?? "");

/** On a stage without it. */
const without = { frame() {}, show() {}, open() {}, isOpen: () => false };

/**
 * @param {HTMLElement} stage
 * @param {import("./explorer.js").On & {
 *   row: () => number,
 *   pause: () => void,
 *   to: (row: number) => void,
 *   title: () => string,
 *   turn?: (open: boolean) => Promise<void>,
 *   put?: (hash: string) => Promise<string>,
 * }} on turn: the address says whether it is open; put: opens the run with a change, if it is not a
 * class's, and returns the fragment to which Back leads
 * @returns {{frame: (frame: any) => void, show: (open: boolean) => void, open: () => void, isOpen: () => boolean}}
 */
export function mender(stage, on) {
  if (!document.getElementById("mender")) {
    return without;
  }
  let state = UNASKED;
  /** The address' fragment of the run that was asked about. */
  let asked = "";
  let put = false; // a change is being opened
  /** @type {HTMLElement | null} */
  let opener = null; // what it was opened by
  const panel = byId("mender");
  const top = byId("mend-top");
  const toggle = byId("mend");
  const back = /** @type {HTMLAnchorElement} */ (byId("close-mender"));
  const causes = byId("causes");
  const box = byId("mended");
  const next = document.createElement("template"); // what has come
  /** @type {Element | undefined} */
  let waiting; // cards that come when nobody aims at those that are there
  let pointed = false;
  /** The best cards in a box. @param {ParentNode} parent */
  const cardsOf = (parent) => [...parent.children].find((child) => child.classList.contains("cure-cards"));

  /** Whether somebody aims at cards which others would take the places of. @param {Element} cards @param {Element} came */
  const aimed = (cards, came) => cards.contains(document.activeElement) || (pointed && moved(titles(cards), titles(came)));

  /** Shows what has come. Cards that somebody aims at stay, and all around them is new. */
  function lay() {
    const [cards, came] = [cardsOf(box), cardsOf(next.content)];
    if (!cards || !came || !aimed(cards, came)) {
      waiting = undefined;
      box.replaceChildren(next.content);
      return;
    }
    const parts = [...next.content.childNodes];
    const at = parts.indexOf(came);
    [...box.childNodes].filter((node) => node !== cards).forEach((node) => node.remove());
    cards.before(...parts.slice(0, at));
    cards.after(...parts.slice(at + 1));
    waiting = came;
  }

  /** Shows cards that have waited, as soon as nobody aims at those that are there. */
  function settle() {
    const cards = cardsOf(box);
    if (waiting && cards && !aimed(cards, waiting)) {
      cards.replaceWith(waiting);
      waiting = undefined;
    }
  }
  box.addEventListener("pointerover", (event) => {
    pointed = cardsOf(box)?.contains(/** @type {Node} */ (event.target)) ?? false;
    settle();
  });
  box.addEventListener("pointerleave", () => {
    pointed = false;
    settle();
  });
  box.addEventListener("focusout", () => setTimeout(settle)); // once the focus is where it goes

  const isOpen = () => !panel.hidden;

  function mark() {
    byId("mend-acts").hidden = !state.going;
    panel.setAttribute("aria-busy", String(state.going));
  }

  /** @param {boolean} open */
  function show(open) {
    if (open === isOpen()) {
      return;
    }
    panel.hidden = !open;
    top.hidden = !open;
    stage.classList.toggle("mending", open);
    if (open) {
      on.pause();
      byId("mender-title").focus({ preventScroll: true });
      look();
    } else {
      stop(); // nobody looks at it
      focusOn(opener?.checkVisibility() ? opener : toggle, { preventScroll: true });
    }
    scrollTo({ top: 0 }); // where the stage is
    on.show();
  }

  /** Stops the search: what is asked next begins it again. */
  function stop() {
    if (state.going) {
      state = { ...state, branch: -1 };
      on.attempt(() => on.ask({ do: "halt" }));
    }
  }

  /** Says how it came to this, at the row that breaks a rule, and tries each change. */
  function look() {
    const standing = on.standing();
    if (!standing) {
      return;
    }
    if (standing.tip === 0) {
      byId("mend-place").textContent = on.title();
      causes.replaceChildren();
      waiting = undefined;
      box.textContent = say("There is nothing to mend yet: go back, play the run to where a rule breaks, and ask again.");
      return;
    }
    on.attempt(async () => {
      causes.replaceChildren();
      await on.ask({ do: "causes", branch: standing.branch, row: on.row() });
      if (asked !== "" && location.hash === asked) {
        state = { ...state, branch: standing.branch, moves: standing.tip }; // the user has come back to it
      }
      if (isOpen() && !state.going && (state.branch !== standing.branch || state.moves !== standing.tip)) {
        await ask();
      }
      mark();
    });
  }

  async function ask() {
    const standing = on.standing();
    if (standing) {
      state = { ...state, branch: standing.branch, moves: standing.tip };
      asked = "";
      await on.ask({ do: "mend", branch: standing.branch });
    }
  }

  /** Opens it, or closes it. @param {boolean} open */
  async function turn(open) {
    show(open);
    await on.turn?.(open);
  }

  /** Opens it; whence it was opened has the focus again when it is closed. */
  function open() {
    opener = document.activeElement instanceof HTMLElement && document.activeElement !== document.body ? document.activeElement : toggle;
    turn(true);
  }
  toggle.onclick = open;
  byId("saved").addEventListener("click", open);
  back.onclick = (event) => {
    event.preventDefault();
    turn(false);
  };
  byId("mend-halt").onclick = stop;
  document.addEventListener(
    "keydown",
    (event) => {
      if (!isOpen() || document.querySelector("dialog[open]")) {
        return;
      }
      event.stopPropagation(); // keys that step move what is not seen
      if (event.key === "Escape") {
        event.preventDefault();
        turn(false);
      }
    },
    true,
  );

  causes.addEventListener("click", async (event) => {
    const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-row]"))?.dataset.row;
    if (row) {
      event.preventDefault();
      await turn(false);
      on.to(Number(row)); // of the address that the user has come back to
    }
  });

  box.addEventListener("click", async (event) => {
    const { target } = event;
    const button = /** @type {HTMLElement} */ (target).closest("[data-copy]");
    if (button instanceof HTMLElement) {
      const text = /** @type {HTMLTextAreaElement} */ (byId(button.dataset.copy ?? ""));
      text.select(); // if a script may not copy, the keys do
      await copied(text.value);
    }
    const link = /** @type {HTMLElement} */ (target).closest("[data-variant]");
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (link instanceof HTMLAnchorElement && on.put && plain) {
      event.preventDefault();
      put = true;
      show(false);
      asked = await on.put(link.hash); // Back leads there
    }
  });

  return {
    /** @param {any} frame */
    frame(frame) {
      const known = put || (asked !== "" && location.hash === asked);
      state = mended(state, frame, known);
      if (frame.opened) {
        put = false;
        causes.replaceChildren();
        if (state === UNASKED) {
          asked = "";
          waiting = undefined;
          box.replaceChildren();
        }
        if (!known) {
          show(false);
        }
      }
      if (frame.causes) {
        causes.innerHTML = frame.causes.html;
        if (frame.causes.row !== on.row() && isOpen()) {
          on.to(frame.causes.row);
        }
        byId("mend-place").textContent = frame.causes.row > 0 ? say("%s, step %d", on.title(), frame.causes.row) : on.title();
      }
      if (frame.mended) {
        next.innerHTML = frame.mended.html;
        lay();
      }
      mark();
    },
    show,
    open,
    isOpen,
  };
}
