// An item of the course: notes that it is done, and of a break asks whether it
// is. The page has all texts and pictures, and works without this.
import { ordering } from "./course-order.js";
import { reviewing } from "./course-review.js";
import { byId, elements } from "./dom.js";
import { digits } from "./keys.js";
import { answered, load, madePath, save, solved } from "./course-progress.js";
import { say } from "./words.js";

const TRIES = "relock-tries"; // answers on this item since it was opened, in this tab
const ASK_AFTER = 150; // ms: a held key asks once

/** @param {HTMLElement} page */
export function lesson(page) {
  const path = page.dataset.lesson ?? "";
  const told = new URLSearchParams(location.search).has("told");
  ticks(page);
  if (page.dataset.kind === "read") {
    note(page, path, {});
  }
  if (page.dataset.check) {
    const query = new URLSearchParams(location.search);
    if ("answered" in page.dataset && ["pick", "line", "none", "p1"].some((key) => query.has(key))) {
      const when = page.dataset.check === "after" ? "after" : "before";
      save(answered(load(), when, path, { right: "solved" in page.dataset, pick: page.dataset.given ?? "" }, page.dataset.of?.split(" ") ?? []));
    }
  } else if ("answered" in page.dataset) {
    const tries = counted(path);
    if ("solved" in page.dataset && !told) {
      note(page, path, { asked: "asked" in page.dataset, tries });
    }
    byId("feedback")?.scrollIntoView({ block: "nearest" });
  }
  const open = [...page.querySelectorAll("form.answers")].pop(); // of two questions the second is asked
  const answers = /** @type {NodeListOf<HTMLButtonElement> | undefined} */ (open?.querySelectorAll(".answer"));
  if (answers) {
    answers.forEach((a) => a.setAttribute("aria-keyshortcuts", a.value));
    digits((n) => answers[n - 1]?.click());
  }
  const pieces = /** @type {HTMLFormElement | null} */ (page.querySelector("form.pieces"));
  if (pieces) {
    ordering(pieces);
  }
  const code = /** @type {HTMLFormElement | null} */ (page.querySelector("form.review"));
  if (code) {
    reviewing(code, page.querySelector(".run.replay"));
  }
  const writing = /** @type {HTMLElement | null} */ (page.querySelector("form.writing"));
  if (writing) {
    const wrong = Number(writing.dataset.wrong);
    import("./lua-edit.js").then(({ scripts }) => scripts(writing).paint({ wrong: { script: wrong ? [wrong] : [] }, unreached: {} }));
  }
  const stage = /** @type {HTMLElement | null} */ (page.querySelector("[data-judge]"));
  if (stage) {
    judging(page, path, stage);
  }
}

/** How many answers there were with this one. @param {string} path */
function counted(path) {
  try {
    /** @type {{path: string, answers: string[]}} */
    const was = JSON.parse(sessionStorage.getItem(TRIES) ?? "{}");
    const answers = was.path === path ? was.answers : [];
    const now = [...answers.filter((a) => a !== location.search), location.search];
    sessionStorage.setItem(TRIES, JSON.stringify({ path, answers: now }));
    return now.length;
  } catch {
    return 1;
  }
}

/** @param {HTMLElement} page @param {string} path @param {{asked?: boolean, tries?: number, moves?: number, schedule?: any[]}} how */
function note(page, path, how) {
  const made = !path.includes("/"); // of a run; it does not return
  save(solved(load(), made ? madePath(location.search) : path, made ? { ...how, asked: false } : how, new Date()));
  ticks(page);
}

/** Marks what is done. @param {HTMLElement} page */
function ticks(page) {
  if (page.dataset.check) {
    return; // its address knows
  }
  const { items } = load();
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll(".where [data-item]"))) {
    link.classList.toggle("done", (link.dataset.item ?? "") in items);
  }
}

/** Asks after each move whether the goal is reached. @param {HTMLElement} page @param {string} path @param {HTMLElement} stage */
function judging(page, path, stage) {
  let asking = 0;
  let last = "";
  const tally = byId("tally");
  const outlook = byId("outlook");
  let back = (/** @type {number} */ _at) => {};
  outlook.addEventListener("click", (event) => {
    const to = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.back;
    if (to !== undefined) {
      outlook.replaceChildren();
      back(Number(to));
      /** @type {HTMLElement | null} */ (stage.querySelector('#transport [tabindex="0"]'))?.focus();
    }
  });
  stage.addEventListener("relock:goal", (event) => {
    outlook.innerHTML = /** @type {CustomEvent} */ (event).detail;
  });
  byId("restart")?.addEventListener("click", () => {
    sessionStorage.removeItem("relock-branches");
  });
  stage.addEventListener("relock:moved", (event) => {
    const { packed, schedule, ...on } = /** @type {CustomEvent} */ (event).detail;
    back = on.back;
    clearTimeout(asking);
    asking = window.setTimeout(async () => {
      const text = await packed();
      if (text === last) {
        return;
      }
      last = text;
      outlook.replaceChildren();
      /** @type {Response} */
      let answer;
      try {
        answer = await fetch(stage.dataset.judge ?? "", { method: "POST", body: text, headers: { "Content-Type": "text/plain" } });
      } catch {
        return; // the stage says that the server does not answer
      }
      if (!answer.ok || text !== last) {
        return;
      }
      /** @type {{met: boolean, moves: number, own: number, par: number, proven: boolean, over: boolean, scene?: string}} */
      const { met, moves, own, par, proven, over, scene } = await answer.json();
      document.getElementById("own-scene")?.replaceChildren(...elements(scene ?? ""));
      byId("after").hidden = byId("reached").hidden = !met;
      const told = say("Moves: %d. Delays and faults: %d; it can be done with %d.", moves, own, par);
      if (!met) {
        tally.textContent = over ? `${told} ${say("The run is over. Go back some moves and try something else, or start again.")}` : told;
        if (moves > 0 && stage.dataset.item) {
          on.outlook(stage.dataset.item);
        }
        return;
      }
      tally.textContent = "";
      byId("counted").textContent =
        own <= par && proven ? say("Moves: %d. Delays and faults: %d. It cannot be done with fewer: every order was searched.", moves, own) : told;
      byId("onward")?.classList.add("primary");
      note(page, path, { moves, schedule: schedule().slice(0, moves) });
    }, ASK_AFTER);
  });
}
