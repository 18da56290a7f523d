// Marks in a script which lines ran, which is next, and which were passed by.
import { onceDrawn } from "./dom.js";
import { say } from "./words.js";

/**
 * How far a script has run; see ScriptMoment in web/film.
 * @typedef {object} Moment
 * @property {string} script its name
 * @property {number} line of the command that ran last, 0 if it is not known
 * @property {number[]} ran lines whose commands have run
 * @property {number} next line of the next command, 0 if there is none
 * @property {number[]} untaken lines that were passed by
 * @property {number} [thread] whose run it is: its place among the threads, from 0
 */

/**
 * Shows the script of a moment among those of a pane, and marks its lines.
 * Without a moment all marks go, and what is shown stays.
 * @param {HTMLElement} pane holds the scripts, each as LuaPane renders it
 * @param {Moment | null} moment
 */
export function show(pane, moment) {
  /** @type {HTMLElement[]} */
  const scripts = [...pane.querySelectorAll("[data-script]")].filter((s) => s instanceof HTMLElement);
  const shown = scripts.find((s) => s.dataset.script === moment?.script);
  const stays = shown ?? scripts.find((s) => !s.hidden); // one at a time
  for (const script of scripts) {
    if (script === stays) {
      script.hidden = false;
      mark(script, script === shown ? moment : null);
    } else {
      if (script.getAttribute("hidden") !== AWAY) script.setAttribute("hidden", AWAY);
      script.onbeforematch = () => mark(script, null); // a search in the page shows what did not run where you are
    }
  }
}

/** How a script is hidden: the browser keeps what it has laid out, marks too, as the next step may show it. */
const AWAY = "until-found";

/**
 * Marks the lines of one script.
 * @param {HTMLElement} script
 * @param {Moment | null} moment
 */
function mark(script, moment) {
  const own = moment?.thread === undefined ? "" : `t${moment.thread % 8}`; // on the lines alone: a colour of the script's would restyle all of it
  for (const line of script.querySelectorAll("[data-line]")) {
    if (!(line instanceof HTMLElement)) {
      continue;
    }
    const number = Number(line.dataset.line);
    const now = number === moment?.line;
    const ran = moment?.ran.includes(number) ?? false;
    const next = number === moment?.next;
    const untaken = moment?.untaken.includes(number) ?? false;
    const classes = [now && "lua-now", ran && !next && "lua-ran", next && "lua-next", untaken && "lua-untaken", (now || ran || next) && own].filter(Boolean).join(" ");
    if (line.className !== classes) {
      line.className = classes;
    }
    const said = line.querySelector(".lua-said");
    const means = meaning(now, ran, next, untaken);
    if (said && said.textContent !== means) {
      said.textContent = means;
    }
    if (now || (next && !moment?.line)) {
      onceDrawn(script, () => reveal(line));
    }
  }
}

/**
 * What a line's marks mean, for people who do not see them.
 * @param {boolean} now
 * @param {boolean} ran
 * @param {boolean} next
 * @param {boolean} untaken
 */
function meaning(now, ran, next, untaken) {
  if (next) {
    return say("runs next");
  }
  if (now) {
    return say("has just run");
  }
  if (ran) {
    return say("has run");
  }
  return untaken ? say("passed by") : "";
}

/**
 * Brings a line into the middle of its own pane; the page does not move.
 * @param {HTMLElement} line
 */
function reveal(line) {
  const around = [".lua-scroll", ".lua", "[data-pane]"].map((name) => line.closest(name));
  const box = around.find((e) => e && e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY !== "visible") ?? null;
  if (box) {
    const from = line.getBoundingClientRect().top - box.getBoundingClientRect().top;
    box.scrollTop += from - (box.clientHeight - line.offsetHeight) / 2;
  }
}
