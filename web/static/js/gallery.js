// The choice of another scenario: by the mouse it opens at once; the arrows
// only choose, and Enter opens.
import { byId } from "./dom.js";
import { say } from "./words.js";

export function gallery() {
  const example = /** @type {HTMLSelectElement} */ (byId("example"));
  let choosing = false;
  const opens = () => {
    if (example.value) {
      location.href = example.value;
    }
  };
  example.addEventListener("keydown", (event) => {
    choosing = event.key !== "Enter";
    if (event.key === "Enter" && example.value) {
      event.preventDefault();
      opens();
    }
  });
  example.addEventListener("pointerdown", () => {
    choosing = false;
  });
  example.addEventListener("change", () => {
    if (choosing) {
      byId("status").textContent = say("Enter opens it.");
    } else {
      opens();
    }
  });
}
