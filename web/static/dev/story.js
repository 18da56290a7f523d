// The storybook's own script: what other pages do to a component when somebody
// uses it.
import { show } from "../js/lua.js";

for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-moment]"))) {
  if (box.dataset.moment && box.matches(".story")) {
    show(box, JSON.parse(box.dataset.moment));
  }
}
for (const row of document.querySelectorAll(".story .inner[hidden]")) {
  row.removeAttribute("hidden");
}
