// Each page says by its own parts what of this it needs. The server knows it, too, and
// has the browser load it together with this.
import { leaving } from "./leaving.js";
import { settings } from "./settings.js";

settings();
leaving();
// A style sheet would look through the page at each change of it.
document.querySelector(".to-controls")?.classList.toggle("leads", document.getElementById("transport") !== null);
/** @type {[string, () => Promise<(section: HTMLElement) => void>][]} */
const parts = [
  [".run[data-run]", async () => (await import("./live.js")).live],
  [".run.replay", async () => (await import("./replay.js")).replay],
  [".play:not(.lab)", async () => (await import("./alone.js")).alone],
  [".play.lab", async () => (await import("./lab.js")).lab],
  [".embed", async () => (await import("./embed.js")).embed],
  [".editor", async () => (await import("./editor.js")).editor],
  ["#find-filter", async () => (await import("./finder.js")).search],
  [".by-hand", async () => (await import("./home.js")).home],
  [".room-lessons", async () => (await import("./room-new.js")).lessons],
  ["[data-lesson]", async () => (await import("./course-lesson.js")).lesson],
  ["[data-checked]", async () => (await import("./course-check.js")).checked],
  ["[data-way]", async () => (await import("./course-way.js")).way],
  [".room-back", async () => (await import("./room-back.js")).back],
  ["[data-chapters]", async () => (await import("./course-class.js")).klass],
];
const here = parts.flatMap(([selector, load]) => {
  const section = /** @type {HTMLElement | null} */ (document.querySelector(selector));
  return section ? [{ section, loaded: load() }] : [];
});
for (const { section, loaded } of here) {
  (await loaded)(section); // in their order, whichever is there first
}
// Of the picker nothing is needed until it is opened.
document.getElementById("picker")?.addEventListener("toggle", () => import("./finder.js").then(({ picker }) => picker()), { once: true });
