// A teacher's own lesson on the page on which a room is made: a file that is
// chosen or dropped, or the link by which the page was opened.
import { byId } from "./dom.js";
import { say } from "./words.js";

const MOST = 64 << 10; // bytes of a lesson

export function lessons() {
  const form = byId("own-lesson");
  const text = /** @type {HTMLTextAreaElement} */ (byId("lesson-text"));
  const input = /** @type {HTMLInputElement} */ (byId("lesson-file"));
  const problem = byId("lesson-problem");

  /** @param {File | undefined} file */
  async function open(file) {
    input.value = ""; // so that somebody can open the same file again
    if (!file) {
      return;
    }
    problem.hidden = file.size <= MOST;
    problem.textContent = problem.hidden ? "" : say("That file is too large: a lesson may have 64 KiB.");
    if (problem.hidden) {
      text.value = await file.text();
      text.focus();
    }
  }

  function linked() {
    const packed = location.hash.slice(1);
    if (packed.startsWith("l1.")) {
      text.value = packed;
      form.scrollIntoView({ block: "nearest" });
      form.querySelector("button")?.focus();
    }
  }

  input.addEventListener("change", () => open(input.files?.[0]));
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (file) {
      event.preventDefault();
      open(file);
    }
  });
  addEventListener("hashchange", linked);
  linked();
}
