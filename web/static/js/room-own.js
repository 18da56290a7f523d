// A host's own question: its text, and options of which one is right.
import { byId } from "./dom.js";
import { Refused } from "./line.js";
import { say } from "./words.js";

/** Options as a host writes them, one a line, the right one with a star.
 *  @param {string} text */
export function optionsOf(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    options: lines.map((line) => line.replace(/^\*\s*/, "")),
    right: lines.flatMap((line, i) => (line.startsWith("*") ? [i] : [])),
  };
}

/**
 * @param {(command: object) => Promise<any>} ask rejected with Refused
 * @param {() => string[]} threads
 */
export function ownQuestion(ask, threads) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("own-question"));
  const text = /** @type {HTMLInputElement} */ (byId("own-text"));
  const options = /** @type {HTMLTextAreaElement} */ (byId("own-options"));
  document.querySelector("[data-dialog=own-question]")?.addEventListener("click", () => {
    complain("");
    dialog.showModal();
  });

  /** @param {string} why */
  function complain(why) {
    byId("own-problem").textContent = why;
    byId("own-problem").hidden = why === "";
  }

  byId("own-close").addEventListener("click", () => dialog.close());
  byId("own-threads").addEventListener("click", () => {
    options.value = threads().join("\n");
    options.focus();
  });
  byId("own-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { options: list, right } = optionsOf(options.value);
    if (right.length !== 1) {
      complain(say("Begin only the right option with *."));
      options.focus();
      return;
    }
    try {
      await ask({ do: "ask", kind: "own", text: text.value.trim(), options: list, right: right[0] });
      text.value = options.value = "";
      dialog.close();
    } catch (error) {
      if (!(error instanceof Refused)) {
        throw error;
      }
      complain(error.message);
    }
  });
}
