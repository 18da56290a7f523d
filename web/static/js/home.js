// The front page: a run from stop to stop, by hand. Its button says what comes next, and
// keeps its place; at the last stop it leads on.
import { byId } from "./dom.js";
import { lanes } from "./lanes.js";
import { drawSentence, drawStage, sceneOf } from "./stage.js";
import { say } from "./words.js";

/**
 * @typedef {object} Stop
 * @property {number} row
 * @property {import("./stage.js").Stage} stage
 * @property {string} [broken]
 * @property {string} why
 * @property {string} next
 */

export function home() {
  /** @type {{stops: Stop[], mend: string, last: string}} */
  const { stops, last } = JSON.parse(byId("stops").textContent ?? "{}");
  const box = /** @type {HTMLElement} */ (document.querySelector("[data-lanes]"));
  const picture = lanes(box, { step() {}, preview() {} });
  const go = byId("go");
  let at = 0;

  function draw() {
    const { row, stage, broken = "", why, next } = stops[at];
    drawStage(byId("stage"), sceneOf(stage, broken));
    drawSentence(byId("why"), why, broken !== "");
    go.textContent = `${next || last} →`;
    byId("back").hidden = at === 0;
    [...byId("dots").children].forEach((dot, i) => dot.classList.toggle("on", i <= at));
    picture.cursor(row);
  }

  /** @param {number} by */
  function move(by) {
    at = Math.max(0, Math.min(stops.length - 1, at + by));
    draw();
  }

  go.addEventListener("click", (event) => {
    if (at < stops.length - 1) {
      event.preventDefault();
      move(1);
    }
  });
  byId("back").addEventListener("click", () => {
    move(-1);
    go.focus();
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      move(by);
    }
  });
  box.querySelector("[data-clock]")?.removeAttribute("tabindex");
  box.querySelector("[data-clock]")?.setAttribute("aria-hidden", "true");
  byId("by-hand").setAttribute("aria-description", say("The arrows go on and back."));
  draw();
}
