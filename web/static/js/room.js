// The pages of a room that lead, or show all: a host's and the stage.
import { klass } from "./class.js";
import { settings } from "./settings.js";

settings();
klass(/** @type {HTMLElement} */ (document.querySelector(".room-board")));
