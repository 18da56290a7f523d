// The pages of the course, each by its own parts.
import { klass } from "./course-class.js";
import { lesson } from "./course-lesson.js";
import { way } from "./course-way.js";

export function course() {
  /** @type {[string, (page: HTMLElement) => void][]} */
  const parts = [
    ["[data-lesson]", lesson],
    ["[data-way]", way],
    ["[data-chapters]", klass],
  ];
  for (const [selector, start] of parts) {
    const page = /** @type {HTMLElement | null} */ (document.querySelector(selector));
    if (page) {
      start(page);
    }
  }
}
