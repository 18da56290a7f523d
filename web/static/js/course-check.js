// The result of one half of the concept check: if this browser knows the other, it shows
// both side by side.
import { carried, goesOn, load } from "./course-progress.js";

/** @param {HTMLElement} page */
export function checked(page) {
  const paths = page.dataset.checked?.split(" ") ?? [];
  const query = new URLSearchParams(location.search);
  const when = query.get("half") === "after" ? "after" : "before";
  const progress = load();
  const to = new URL(goesOn(progress, when, paths), location.href);
  if (query.get("so") === carried(progress, when, paths) && to.searchParams.has("other") && to.pathname === location.pathname) {
    location.replace(to.href);
  }
}
