// Where a host takes the class to another scenario: one of those that come with
// the playground, or what a link leads to.
import { byId } from "./dom.js";
import { finder } from "./finder.js";
import { Refused } from "./line.js";
import { setText } from "./room-question.js";
import { say } from "./words.js";

/**
 * @typedef {{example: string} | {link: string} | {item: string}} Wanted what is opened, as a room is told
 */

/**
 * Where a text leads that somebody copied from this site: null for nowhere, or the path
 * of a short address.
 * @param {string} text
 * @param {string} base the address of the page
 * @returns {Wanted | {short: string} | null}
 */
export function wantedBy(text, base) {
  const packed = /v\d+\.z\.[\w-]+(~\d+)?/.exec(text.replaceAll(/%7e/gi, "~")); // in a query it is written so
  if (packed) {
    return { link: packed[1] ? packed[0] : `${packed[0]}~0` };
  }
  if (!URL.canParse(text.trim(), base)) {
    return null;
  }
  const { pathname } = new URL(text.trim(), base);
  const [, kind, rest] = /\/(play|learn|s)\/([^?#]+?)\/?$/.exec(pathname) ?? [];
  switch (kind) {
    case "play": return { example: rest };
    case "learn": return { item: rest };
    case "s": return { short: pathname };
    default: return null;
  }
}

/** What is kept under a short address. @param {string} path @returns {Promise<Wanted | null>} */
async function kept(path) {
  const answer = await fetch(path);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const link = /** @type {HTMLElement | null} */ (page.querySelector("[data-open]"))?.dataset.open;
  return answer.ok && link ? { link } : null;
}

/**
 * @param {object} on
 * @param {(command: object) => Promise<any>} on.ask rejected with Refused
 * @param {() => boolean} on.asking a question is open
 */
export function scenes({ ask, asking }) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("scenes"));
  const filter = /** @type {HTMLInputElement} */ (byId("scenes-filter"));
  const link = /** @type {HTMLInputElement} */ (byId("scenes-link"));
  const { narrow } = finder("scenes");
  /** @type {Wanted | null} */
  let wanted = null; // waits for a word about the question
  let going = false;

  function open() {
    filter.value = "";
    link.value = "";
    complain("");
    sure(null);
    narrow();
    dialog.showModal();
  }

  /** @param {string} text */
  function complain(text) {
    setText(byId("scenes-problem"), text);
    byId("scenes-problem").hidden = text === "";
  }

  /** Asks about the question before it opens something. @param {Wanted | null} what */
  function sure(what) {
    wanted = what;
    byId("scenes-sure").hidden = what === null;
    if (what) {
      byId("scenes-sure").scrollIntoView({ block: "nearest" });
      byId("scenes-not").focus();
    }
  }

  /** @param {Wanted} what */
  function choose(what) {
    complain("");
    if (asking()) {
      sure(what);
    } else {
      go({ do: "open", ...what });
    }
  }

  /** @param {object} command */
  async function go(command) {
    if (going) {
      return;
    }
    going = true;
    sure(null);
    try {
      await ask(command);
      dialog.close();
    } catch (error) {
      if (!(error instanceof Refused)) {
        throw error;
      }
      complain(error.message);
    } finally {
      going = false;
    }
  }

  /** Asks the class the question of an item that a link leads to. */
  async function examine() {
    complain("");
    const what = wantedBy(link.value, location.href);
    if (what && "item" in what) {
      await go({ do: "ask", item: what.item });
    } else {
      complain(say("That is not a link to an item of the course. Copy the address of one on /learn."));
      link.focus();
    }
  }

  async function follow() {
    complain("");
    let what = wantedBy(link.value, location.href);
    try {
      what = what && "short" in what ? await kept(what.short) : what;
    } catch {
      complain(say("The server does not answer. Please try again in a moment."));
      return;
    }
    if (what) {
      choose(/** @type {Wanted} */ (what));
    } else {
      complain(say("That is not a link to a scenario. Copy the address of one on /play, of an item on /learn, or a short link."));
      link.focus();
    }
  }

  document.querySelector("[data-dialog=scenes]")?.addEventListener("click", open);
  byId("scenes-list").addEventListener("click", (event) => {
    const example = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-open]"))?.dataset.open;
    if (example) {
      choose({ example });
    }
  });
  link.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      follow();
    }
  });
  byId("scenes-follow").addEventListener("click", follow);
  byId("scenes-go").addEventListener("click", () => wanted && go({ do: "open", ...wanted }));
  byId("scenes-ask").addEventListener("click", examine);
  byId("scenes-not").addEventListener("click", () => {
    sure(null);
    filter.focus();
  });

  return {
    open,
    /** Takes the class to a scenario that is named on the page. @param {string} example */
    to(example) {
      if (asking()) {
        open();
      }
      choose({ example });
    },
  };
}
