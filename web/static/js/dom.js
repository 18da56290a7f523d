// Small things that every module does with the page.

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Makes an element.
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
export function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

/**
 * Makes what the server rendered.
 * @param {string} html
 * @returns {HTMLElement[]}
 */
export function elements(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return /** @type {HTMLElement[]} */ ([...template.content.children]);
}

/**
 * Hands a text to the person as a file.
 * @param {string} name
 * @param {Blob} blob
 */
export function download(name, blob) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  URL.revokeObjectURL(a.href);
}

/** So many ms are between two figures that change while nothing happens: reduced motion is less of that, too. */
export const pace = () => (still() ? 5000 : 1000);
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const SHAPES = ["M1 6a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M1.5 1.5h9v9h-9z", "M6 .8l5.6 10.2H.4z", "M6 .3L11.7 6 6 11.7.3 6z"];

/** A thread's mark, as templates.Shape draws it. @param {number} ordinal */
export function shape(ordinal) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of Object.entries({ class: "shape", viewBox: "0 0 12 12", width: "11", height: "11", "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  path.setAttribute("d", SHAPES[(ordinal + Math.floor(ordinal / 8)) % 4]);
  svg.append(path);
  return svg;
}
