// Single keys, where they are wanted: none while one types, and none at all
// where the switch is off.
import { byId } from "./dom.js";

const SETTING = "relock-single-keys";

/**
 * @param {Record<string, () => void>} actions by key, as in KeyboardEvent.key
 * @param {(digit: number, after: string) => void} [digit] a digit; after is "x" where x was pressed before it
 * @param {Element | null} [within] they act only once you have gone in there; until then the page
 * keeps its own keys
 */
export function keys(actions, digit, within = null) {
  let entered = within === null;
  for (const event of ["pointerdown", "focusin"]) {
    document.addEventListener(event, (e) => {
      entered = within === null || within.contains(/** @type {Element} */ (e.target));
    });
  }
  const setting = /** @type {HTMLInputElement} */ (byId("single-keys"));
  setting.checked = localStorage.getItem(SETTING) !== "off";
  setting.addEventListener("change", () => {
    localStorage.setItem(SETTING, setting.checked ? "on" : "off");
  });
  const help = /** @type {HTMLDialogElement} */ (byId("keys"));
  document.querySelector("[data-dialog=keys]")?.addEventListener("click", () => help.showModal());

  let prefix = "";
  document.addEventListener("keydown", (event) => {
    if (!entered || !acts(event)) {
      return;
    }
    if (event.key === " " && /** @type {Element} */ (event.target).closest("button, a, summary")) {
      return; // presses it
    }
    const n = Number(event.key);
    if (digit && n >= 1 && n <= 8) {
      digit(n, prefix);
      prefix = "";
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    prefix = key === "x" ? key : "";
    if (key === "?") {
      help.showModal();
      return;
    }
    const action = actions[key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

/** Whether a key is one that acts, and not written into something. @param {KeyboardEvent} event */
function acts(event) {
  const setting = /** @type {HTMLInputElement | null} */ (document.getElementById("single-keys")); // on a stage
  const wanted = setting ? setting.checked : localStorage.getItem(SETTING) !== "off";
  return wanted && !event.ctrlKey && !event.metaKey && !event.altKey && !(/** @type {Element} */ (event.target).closest("input, select, textarea, dialog"));
}

/** The digits of a page on which they choose. @param {(digit: number) => void} choose */
export function digits(choose) {
  document.addEventListener("keydown", (event) => {
    const n = Number(event.key);
    if (acts(event) && n >= 1 && n <= 9) {
      choose(n);
    }
  });
}

/** The slash of a page with a field to find something. @param {() => void} go */
export function slash(go) {
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && acts(event)) {
      event.preventDefault();
      go();
    }
  });
}

/**
 * The keys that every film has.
 * @param {{act: (name: string) => void}} view
 */
export const keysOf = (view) => ({
  ArrowLeft: () => view.act("back"),
  ArrowRight: () => view.act("forward"),
  PageUp: () => view.act("back"),
  PageDown: () => view.act("forward"),
  Home: () => view.act("first"),
  End: () => view.act("end"),
  " ": () => view.act("play"),
  k: () => view.act("play"),
  ".": () => view.act("play"),
  n: () => view.act("next"),
  e: () => view.act("violation"),
  i: () => view.act("into"),
  o: () => view.act("out"),
  l: () => /** @type {HTMLDialogElement | null} */ (document.getElementById("legend"))?.showModal(),
  v: () => {
    byId("lanes-card").hidden = !byId("lanes-card").hidden;
  },
  "+": () => faster(1),
  "=": () => faster(1),
  "-": () => faster(-1),
});

/** @param {number} by */
function faster(by) {
  const speed = /** @type {HTMLSelectElement} */ (byId("speed"));
  speed.selectedIndex = Math.max(0, Math.min(speed.options.length - 1, speed.selectedIndex + by));
}
