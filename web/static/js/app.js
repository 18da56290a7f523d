// The page works without this file; with it, rows arrive while a run goes on.
import { follow } from "./timeline.js";

const run = document.querySelector(".run[data-ended='false']");
if (run) {
  follow(run);
}
document.getElementById("mistakes")?.focus();
