// What somebody has written stays: a form leaves the page only if the server is there to read
// it, and a text that no form may have does not come into its field.
import { make } from "./dom.js";
import { say } from "./words.js";

const MOST = 64 * 1024; // characters of a field that is sent: what scenarios, scripts and lessons may have
const MOST_HERE = 1024 * 1024; // of one that is read in the page
const WAIT = 10_000; // ms
const AWAY = [502, 504]; // what stands before a server answers so when that is not there

/** Says it over the page, until somebody does something. @param {string} sentence */
function tell(sentence) {
  document.getElementById("told")?.remove();
  const told = make("p", { id: "told", class: "problem told", role: "alert", popover: "manual" }, sentence);
  document.body.append(told);
  told.showPopover?.();
  for (const by of ["input", "pointerdown"]) {
    document.addEventListener(by, () => told.remove(), { once: true });
  }
}

/** Whether the server answers. */
async function answers() {
  try {
    return !AWAY.includes((await fetch("/healthz", { signal: AbortSignal.timeout(WAIT), cache: "no-store" })).status);
  } catch {
    return false;
  }
}

export function leaving() {
  /** @type {WeakSet<HTMLFormElement>} */
  const go = new WeakSet(); // forms that may leave now
  document.addEventListener("submit", async (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const by = /** @type {HTMLElement | null} */ (event.submitter);
    if (event.defaultPrevented || form.getAttribute("method") === "dialog" || go.delete(form)) {
      return;
    }
    event.preventDefault();
    if (await answers()) {
      go.add(form);
      form.requestSubmit(by?.isConnected ? by : null);
    } else {
      tell(say("The server does not answer; what you wrote is still here. Try again in a moment."));
    }
  });
  for (const by of /** @type {const} */ (["paste", "drop"])) {
    document.addEventListener(by, (event) => {
      const field = /** @type {HTMLTextAreaElement | null} */ (/** @type {Element} */ (event.target).closest("input, textarea"));
      const { length } = (event instanceof ClipboardEvent ? event.clipboardData : event.dataTransfer)?.getData("text/plain") ?? "";
      const most = field?.name ? MOST : MOST_HERE;
      if (field && length > most) {
        event.preventDefault();
        tell(say("That text is too long: it has %d KiB, and a field may have %d. What was there is unchanged.", Math.ceil(length / 1024), most / 1024));
      }
    });
  }
}
