// The pages of runs work without scripts; with them, rows arrive while a run
// goes on, and a scenario can be stepped.
import { editor } from "./editor.js";
import { follow } from "./timeline.js";
import { play } from "./play.js";
import { settings } from "./settings.js";

settings();
const run = document.querySelector(".run[data-ended='false']");
if (run) {
  follow(run);
}
const stage = document.querySelector(".play");
if (stage) {
  play(stage);
}
const writing = document.querySelector(".editor");
if (writing instanceof HTMLElement) {
  editor(writing);
}
