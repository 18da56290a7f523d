// The page of a room on a phone.
import { phone } from "./room-player.js";
import { settings } from "./settings.js";

settings();
phone(/** @type {HTMLElement} */ (document.querySelector(".room-phone")));
