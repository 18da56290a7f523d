// Each page says by its own parts what of this it needs.
import { alone } from "./alone.js";
import { editor } from "./editor.js";
import { home } from "./home.js";
import { embed } from "./embed.js";
import { live } from "./live.js";
import { replay } from "./replay.js";
import { settings } from "./settings.js";

settings();
/** @type {[string, (section: HTMLElement) => void][]} */
const parts = [
  [".run[data-run]", live],
  [".run.replay", replay],
  [".play:not(.lab)", alone],
  [".embed", embed],
  [".editor", editor],
  [".by-hand", home],
];
for (const [selector, start] of parts) {
  const section = /** @type {HTMLElement | null} */ (document.querySelector(selector));
  if (section) {
    start(section);
  }
}
document.getElementById("picker")?.addEventListener("toggle", () => import("./finder.js").then(({ picker }) => picker()), { once: true });
// The course's own scripts are for its pages alone.
if (document.querySelector("[data-course]")) {
  import("./course.js").then(({ course }) => course());
}
const desk = /** @type {HTMLElement | null} */ (document.querySelector(".play.lab"));
if (desk) {
  import("./lab.js").then(({ lab }) => lab(desk));
}
if (document.querySelector(".room-lessons")) {
  import("./room-new.js").then(({ lessons }) => lessons());
}
// Who steps alone comes back to the class.
const asked = new URLSearchParams(location.search);
const room = asked.get("room");
if (room && /^[A-Za-z0-9]+$/.test(room) && document.querySelector(".play")) {
  import("./room-back.js").then(({ back }) => back(room, Number(asked.get("scene") ?? "0")));
}
