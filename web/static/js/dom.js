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
 * Copies a text, and says whether a script may: without TLS, or without the person's leave, it
 * may not.
 * @param {string} text
 */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
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

/** Puts the focus on an element, or where that is in a menu which is closed, on the menu.
 *  @param {HTMLElement | null | undefined} e @param {FocusOptions} [how] */
export const focusOn = (e, how) => (e?.closest("details.menu:not([open])")?.querySelector("summary") ?? e)?.focus(how);

/** Whether the page stands as on a phone: in one column that scrolls, above the dock. */
export const onPhone = () => matchMedia("(max-width: 44rem)").matches;

/** @type {Map<unknown, () => void>} */
const looks = new Map();

/**
 * Looks at the page, and scrolls, once all that this frame shows is in it: a look
 * between two changes has the browser lay out all of the page once more.
 * @param {unknown} what for each thing the last look of a frame counts
 * @param {() => void} look changes nothing that the page is laid out for
 */
export function onceDrawn(what, look) {
  if (looks.size === 0) {
    requestAnimationFrame(() => {
      const all = [...looks.values()];
      looks.clear();
      all.forEach((one) => one());
    });
  }
  looks.set(what, look);
}

/** So many ms are between two figures that change while nothing happens: reduced motion is less of that, too. */
export const pace = () => (still() ? 5000 : 1000);
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
