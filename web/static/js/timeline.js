// Puts the rows that the server renders into the table, each at its place.
import { connect } from "./connection.js";

const SLOW = 4008; // we could not keep up: come back at once, with what we have
const OVER = 4010; // the run is over: stay away

/**
 * Follows a run over its websocket until it is over.
 * @param {HTMLElement} run the section of the run
 */
export function follow(run) {
  const body = document.getElementById("rows");
  const verdict = document.getElementById("verdict");
  const link = document.getElementById("link");
  let seq = Number(run.dataset.seq);

  return connect({
    path: () => `${run.dataset.socket}?since=${seq}`,
    received(frame) {
      if (frame.refused) {
        document.getElementById("refused").textContent = frame.refused;
        return;
      }
      for (const row of frame.rows) {
        place(body, row);
      }
      seq = Math.max(seq, frame.seq);
      verdict.innerHTML = frame.verdict;
      if (frame.ended) {
        run.dataset.ended = "true";
      }
    },
    closed(event) {
      if (event.code === OVER || run.dataset.ended === "true") {
        return false;
      }
      return event.code === SLOW ? 0 : true;
    },
    changed(lost) {
      link.textContent = lost ? "Connection lost; trying again." : "";
      link.hidden = !lost;
    },
  });
}

/**
 * Replaces the row with the same id, or appends it.
 * @param {HTMLElement} body
 * @param {{step: number, html: string}} row
 */
function place(body, row) {
  const fresh = element(row.html);
  const old = document.getElementById(fresh.id);
  if (old) {
    old.replaceWith(fresh);
  } else {
    fresh.classList.add("new");
    body.append(fresh);
  }
}

/**
 * Makes an element of what the server rendered.
 * @param {string} html
 * @returns {HTMLElement}
 */
export function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return /** @type {HTMLElement} */ (template.content.firstElementChild);
}
