// The pages of the course, each by its own parts.
import { lesson, way } from "./course-lesson.js";

export function course() {
  /** @type {[string, (page: HTMLElement) => void][]} */
  const parts = [
    ["[data-lesson]", lesson],
    ["[data-way]", way],
  ];
  for (const [selector, start] of parts) {
    const page = /** @type {HTMLElement | null} */ (document.querySelector(selector));
    if (page) {
      start(page);
    }
  }
}
