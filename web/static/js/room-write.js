// Where a member writes the script that the question asks for.
import { byId } from "./dom.js";
import { scripts } from "./lua-edit.js";
import { setText } from "./room-question.js";
import { say } from "./words.js";

/**
 * @param {(script: string) => Promise<{says: string, line?: number, open?: string} | null>} handIn
 * null if it was refused
 */
export function writing(handIn) {
  const form = /** @type {HTMLFormElement} */ (byId("write"));
  const text = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
  const open = /** @type {HTMLAnchorElement} */ (byId("write-open"));
  const editor = scripts(form);
  let start = "";
  let asked = 0; // the question's id

  /** @param {{says: string, line?: number, open?: string}} judged */
  function told({ says, line, open: smallest }) {
    setText(byId("write-told"), says);
    open.hidden = !smallest;
    open.href = smallest ?? "";
    editor.paint({ wrong: { script: line ? [line] : [] }, unreached: {} });
  }

  /** @param {string} script */
  function begin(script) {
    text.value = script;
    told({ says: "" });
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.ariaBusy) {
      return;
    }
    form.ariaBusy = "true";
    told({ says: say("Judging …") });
    told((await handIn(text.value)) ?? { says: "" });
    form.ariaBusy = null;
  });
  byId("write-again").addEventListener("click", () => begin(start));

  return {
    /** @param {import("./room-state.js").Question} question @param {string} last what one has handed in before */
    draw(question, last) {
      if (question.id !== asked) {
        asked = question.id;
        start = question.start ?? "";
        setText(byId("write-label"), say("The script %s", question.call ?? ""));
        begin(last || start);
      }
    },
  };
}
