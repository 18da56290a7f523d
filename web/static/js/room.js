// The pages of a room that lead, or show all: a host's and the stage.
import { board } from "./room-board.js";
import { settings } from "./settings.js";

settings();
board(/** @type {HTMLElement} */ (document.querySelector(".room-board")));
