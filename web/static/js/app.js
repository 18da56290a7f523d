// The pages of runs work without this file; with it, rows arrive while a run
// goes on, and a scenario can be stepped.
import { follow } from "./timeline.js";
import { play } from "./play.js";

const run = document.querySelector(".run[data-ended='false']");
if (run) {
  follow(run);
}
const stage = document.querySelector(".play");
if (stage) {
  play(stage);
}
document.getElementById("mistakes")?.focus();
