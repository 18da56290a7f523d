// Puts the rows that the server renders into the table, each at its place.
import { connect } from "./connection.js";
import { say } from "./words.js";

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

  const controls = document.getElementById("controls");
  const line = connect({
    path: () => `${run.dataset.socket}?since=${seq}`,
    received(frame) {
      if (frame.refused) {
        document.getElementById("refused").textContent = frame.refused;
        return;
      }
      if (frame.controls !== undefined) {
        draw(frame.controls);
        return;
      }
      for (const row of frame.rows) {
        place(body, row);
      }
      seq = Math.max(seq, frame.seq);
      verdict.innerHTML = frame.verdict;
      if (frame.ended) {
        run.dataset.ended = "true";
        controls?.remove();
      }
    },
    closed(event) {
      if (event.code === OVER || run.dataset.ended === "true") {
        return false;
      }
      return event.code === SLOW ? 0 : true;
    },
    changed(lost) {
      link.textContent = lost ? say("Connection lost; trying again.") : "";
      link.hidden = !lost;
    },
  });

  controls?.addEventListener("click", (event) => {
    const button = event.target.closest("[data-steer]");
    if (button) {
      document.getElementById("refused").textContent = "";
      line.send({ thread: button.dataset.thread, do: button.dataset.steer });
    }
  });

  /** Shows the controls as they are now, and leaves the focus where it was. */
  function draw(html) {
    if (!controls) {
      return;
    }
    const buttons = () => [...controls.querySelectorAll("button")];
    const focused = buttons().indexOf(document.activeElement);
    controls.innerHTML = html;
    if (focused >= 0) {
      buttons()[focused]?.focus();
    }
  }
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
