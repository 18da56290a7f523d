// Where a host is in the lesson: the step, what comes next, and the notes that
// nobody else sees.
import { byId, make } from "./dom.js";
import { setText } from "./room-question.js";
import { say } from "./words.js";

/** What the next press does. @param {import("./room-state.js").Lesson} lesson */
export function nextOf({ next, step, steps }) {
  switch (next) {
    case "go": return say("Next: %s", steps[step + 1]);
    case "return": return say("Next: back to its place");
    case "ask": return say("Next: ask");
    case "reveal": return say("Next: reveal");
    case "again": return say("Next: vote again");
    case "tell": return say("Next: show the answer");
    default: return say("The end of the lesson");
  }
}

/** @param {import("./room-state.js").Lesson | null} lesson null in a room without one */
export function drawLesson(lesson) {
  byId("lesson").hidden = byId("remote-next").hidden = lesson === null;
  if (!lesson) {
    return;
  }
  const { title, step, steps, notes, next } = lesson;
  setText(byId("lesson-title"), title);
  const list = /** @type {HTMLSelectElement} */ (byId("lesson-steps"));
  const names = steps.map((name, i) => say("%d of %d: %s", i + 1, steps.length, name));
  if (list.dataset.of !== names.join("\n")) {
    list.dataset.of = names.join("\n");
    list.replaceChildren(...names.map((name, i) => make("option", { value: String(i) }, name)));
  }
  list.value = String(step);
  setText(byId("lesson-notes"), notes);
  byId("lesson-notes").hidden = notes === "";
  setText(byId("lesson-next"), nextOf(lesson));
  setText(byId("remote-next"), next === "go" ? say("Next") : nextOf(lesson));
  for (const id of ["lesson-next", "remote-next"]) {
    byId(id).setAttribute("aria-disabled", String(next === ""));
  }
}
