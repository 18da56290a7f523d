// What acts beside the lock's key: the server words it, as templates.Actors
// has it for those without scripts.
import { make } from "./dom.js";

/**
 * @typedef {object} CardLine
 * @property {number} thread ordinal, or -1
 * @property {string} [code]
 * @property {string} text
 * @property {boolean} [bad]
 * @property {boolean} [within] a call that has called the line before it
 *
 * @typedef {object} Card
 * @property {string} kind
 * @property {string} title
 * @property {string} [figure]
 * @property {CardLine[]} [lines]
 * @property {string} [none]
 */

const SHAPES = ["M1 6a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M1.5 1.5h9v9h-9z", "M6 .8l5.6 10.2H.4z", "M6 .3L11.7 6 6 11.7.3 6z"];
const SVG = "http://www.w3.org/2000/svg";

/** A thread's mark, as templates.Shape draws it. @param {number} ordinal */
function shape(ordinal) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  for (const [name, value] of Object.entries({ class: "shape", viewBox: "0 0 12 12", width: "11", height: "11", "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  path.setAttribute("d", SHAPES[(ordinal + Math.floor(ordinal / 8)) % 4]);
  svg.append(path);
  return svg;
}

/** @param {CardLine} line */
function lineOf({ thread, code, text, bad, within }) {
  const whose = thread >= 0 ? `t${thread % 8}` : "nobody";
  const item = make("li", { class: [whose, bad ? "bad" : "", within ? "within" : ""].filter(Boolean).join(" ") });
  if (thread >= 0) {
    item.append(shape(thread));
  }
  if (code) {
    item.append(make("code", {}, code));
  }
  item.append(make("span", {}, text));
  return item;
}

/** Shows the cards of a row; a box without any is not there.
 *  @param {HTMLElement} box @param {Card[] | undefined} cards */
export function drawCards(box, cards) {
  box.hidden = !cards?.length;
  delete box.dataset.unscripted;
  box.replaceChildren(
    ...(cards ?? []).map(({ kind, title, figure, lines = [], none }) => {
      const card = make("section", { class: `actor actor-${kind}`, "data-actor": kind }, make("h2", {}, title));
      if (figure) {
        card.append(make("p", { class: "figure" }, figure));
      }
      if (lines.length === 0 && none) {
        card.append(make("p", { class: "hint" }, none));
      }
      card.append(make("ul", {}, ...lines.map(lineOf)));
      return card;
    }),
  );
}
