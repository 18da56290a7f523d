// Judges the lock that is being written: every order within the bounds is searched
// on a connection as the explorer's, and what comes of it is marked in the scripts.
import { connect } from "./connection.js";
import { byId } from "./dom.js";
import { say } from "./words.js";

/**
 * What a search found in a user's own lock.
 * @typedef {object} Judged
 * @property {string} broken how many orders break a rule, "0" for none
 * @property {string} all how many were tried
 * @property {boolean} sound none breaks a rule, and all were tried
 * @property {boolean} [failed] it could not be run
 * @property {boolean} [misused] its scripts work if they are called otherwise
 * @property {Record<string, number[]>} [unreached] lines by call
 * @property {string} [link] opens the lock, to be judged again
 *
 * @typedef {object} Wrong a mistake that only running has shown
 * @property {string} call
 * @property {number} line of the script, 0 if it is not known
 */

/** The faults that are tried where nobody has chosen: with all of them a search takes a minute. */
const USUAL = ["pause", "lose-reply"];

/**
 * A judgement in words, beside the one before: "0 of 182 orders break a rule; before, 109 of 182".
 * @param {Judged} now
 * @param {Judged | null} before
 */
export function verdict(now, before) {
  const says = say("%s of %s orders break a rule", now.broken, now.all);
  return before ? say("%s; before, %s of %s", says, before.broken, before.all) : says;
}

/**
 * @param {HTMLElement} page
 * @param {() => string} yaml what is written
 * @param {(marks: import("./lua-edit.js").Marks) => void} paint
 * @param {() => Promise<void>} use has the scripts called as they work
 */
export function judging(page, yaml, paint, use) {
  const start = byId("judge");
  if (!start) {
    return; // it cannot be done here
  }
  const halt = byId("judge-halt");
  const count = byId("judged-count");
  const box = byId("judged");
  const kinds = byId("judge-kinds");
  const shared = byId("judged-link");
  const fits = byId("judged-fit");
  /** @type {Judged | null} */
  let before = null;
  let within = ""; // the bounds of the last judgement: only counts of the same ones compare
  const asked = new URLSearchParams(location.search);
  let wanted = (asked.get("kinds") ?? "").split(","); // before the kinds are known
  /** @type {ReturnType<typeof connect> | null} */
  let line = null;

  const bound = (/** @type {string} */ name) =>
    Number(/** @type {HTMLInputElement} */ (page.querySelector(`input[name="judge-${name}"]:checked`)).value);
  const boxes = () => /** @type {HTMLInputElement[]} */ ([...kinds.querySelectorAll("input")]);

  /** @param {boolean} going */
  function shows(going) {
    halt.setAttribute("aria-disabled", String(!going));
    start.setAttribute("aria-disabled", String(going));
    box.setAttribute("aria-busy", String(going));
  }

  function end() {
    const was = line;
    line = null;
    was?.drop();
    shows(false);
    count.scrollIntoView({ block: "nearest" }); // on a phone it is below the scripts
  }

  /** @param {string} sentence */
  function failed(sentence) {
    count.textContent = sentence;
    count.className = "judged-count says bad";
    end();
  }

  /** @param {any} frame */
  function received(frame) {
    if (frame.opened) {
      const chosen = [...boxes().filter((b) => b.checked).map((b) => b.value), ...wanted];
      wanted = [];
      /** @type {HTMLElement} */ (kinds.querySelector(".checks")).innerHTML = frame.opened.kinds ?? "";
      for (const one of boxes()) {
        one.checked = chosen.includes(one.value);
      }
      const faults = boxes().length > 0 ? bound("faults") : 0;
      kinds.hidden = faults === 0;
      if (faults > 0 && !boxes().some((b) => b.checked)) {
        const usual = boxes().filter((b) => USUAL.includes(b.value));
        for (const one of usual.length > 0 ? usual : boxes()) {
          one.checked = true;
        }
      }
      const bounds = { delays: bound("delays"), faults, kinds: boxes().filter((b) => b.checked && faults > 0).map((b) => b.value) };
      if (within !== JSON.stringify(bounds)) {
        before = null;
        within = JSON.stringify(bounds);
      }
      line?.send({ id: 2, do: "explore", judge: true, branch: 0, moves: 0, from: "start", ...bounds });
    }
    if (frame.mistake) {
      const { call, line: at } = /** @type {Wrong} */ (frame.mistake);
      paint({ wrong: { [call]: [at] }, unreached: {}, said: count.id });
    }
    if (frame.refused) {
      box.replaceChildren();
      failed(frame.refused);
      return;
    }
    const { explored } = frame;
    if (!explored) {
      return;
    }
    box.innerHTML = explored.found;
    if (explored.going) {
      return;
    }
    /** @type {Judged | undefined} */
    const judged = explored.judged;
    fits.hidden = !judged?.misused;
    if (judged?.failed) {
      count.textContent = "";
    } else if (judged) {
      paint({ wrong: {}, unreached: judged.unreached ?? {} });
      count.textContent = verdict(judged, before);
      count.className = `judged-count ${judged.sound ? "good" : judged.broken === "0" ? "" : "bad"}`;
      before = judged;
      shared.hidden = !judged.link;
      /** @type {HTMLAnchorElement} */ (shared.firstElementChild).href = judged.link ?? "";
    }
    end();
  }

  start.addEventListener("click", () => {
    if (line) {
      return;
    }
    shows(true);
    shared.hidden = fits.hidden = true;
    count.textContent = ""; // of the scripts as they were
    count.className = "judged-count";
    line = connect({
      path: () => `/play/socket?lang=${document.documentElement.lang}`,
      opened: () => line?.send({ id: 1, do: "open", scenario: yaml() }),
      received,
      closed: () => {
        if (line) {
          failed(say("The connection was lost; judge again."));
        }
        return false;
      },
      broken: failed,
      changed: () => undefined,
    });
  });
  // A link to a judged lock has its bounds, and is judged at once.
  if (asked.has("delays")) {
    for (const name of ["delays", "faults"]) {
      /** @type {HTMLElement | null} */ (page.querySelector(`input[name="judge-${name}"][value="${CSS.escape(asked.get(name) ?? "0")}"]`))?.click();
    }
    start.click();
    byId("editor-judge").scrollIntoView({ block: "nearest" });
  }
  fits.addEventListener("click", async (event) => {
    if (/** @type {Element} */ (event.target).closest("button")) {
      event.preventDefault();
      event.stopPropagation();
      start.focus({ preventScroll: true }); // what has it goes
      await use();
      start.click();
    }
  });
  halt.addEventListener("click", () => line?.send({ id: 3, do: "halt" }));
  page.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    if (input.name === "judge-faults") {
      kinds.hidden = input.value === "0" || boxes().length === 0;
    }
  });
}
