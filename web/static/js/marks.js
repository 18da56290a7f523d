// The marks of a film, and the list to jump to one.
import { byId, make } from "./dom.js";
import { MARKS, markAt, stopsOf } from "./film.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 *
 * @typedef {object} Mark
 * @property {number} at stop
 * @property {string} mark
 */

const MOST = 240; // in the list
const PAUSE = 50; // ms: a held key makes many

/** Whether something happened at a stop that matters. @param {Film} film @param {number} stop */
export const matters = (film, stop) => MARKS.includes(markAt(film, stop) ?? "");

/** Whether a rule was broken there. @param {Film} film @param {number} stop */
export const broken = (film, stop) => markAt(film, stop) === "violation";

/**
 * All marks of a film; of too many, those that matter most.
 * @param {Film} film
 * @param {number} [most]
 * @returns {Mark[]}
 */
export function marksOf(film, most = MOST) {
  let all = stopsOf(film).flatMap((_, at) => {
    const mark = markAt(film, at);
    return mark ? [{ at, mark }] : [];
  });
  for (let worth = MARKS.length; all.length > most && worth > 0; worth--) {
    all = all.filter((m) => MARKS.indexOf(m.mark) < worth);
  }
  return all;
}

/** @param {Film} film @param {string} mark */
export function markName(film, mark) {
  switch (mark) {
    case "violation": return say("a rule is broken");
    case "expired": return film.rows[0]?.after.heartbeat ? say("the key expired") : say("the lease ran out");
    case "fault": return say("a fault");
    case "acquired": return say("the lock is acquired");
    default: return say("the lock is released");
  }
}

/** @param {() => Film | null} now the film that is shown */
export function marks(now) {
  /** @type {Film["positions"] | null} */
  let drawn = null; // whose marks they are
  let stops = 0; // so many it had
  let timer = 0;

  function draw() {
    const film = now();
    if (!film) {
      return;
    }
    const all = marksOf(film);
    drawn = film.positions;
    stops = stopsOf(film).length;
    const jump = byId("jump");
    const head = /** @type {HTMLOptionElement} */ (jump.firstElementChild);
    jump.replaceChildren(
      head,
      ...all.map((m) => make("option", { value: String(m.at) }, `T${stopsOf(film)[m.at].row} · ${markName(film, m.mark)}`)),
    );
  }

  return {
    /** Draws them soon, where they are others.
     *  @param {Film} film */
    show(film) {
      if (film.positions !== drawn || stopsOf(film).length !== stops) {
        clearTimeout(timer);
        timer = window.setTimeout(draw, PAUSE);
      }
    },
    /** The film has other rows now. */
    changed() {
      drawn = null;
    },
  };
}
