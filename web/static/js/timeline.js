// Puts the rows that the server renders into the table, each at its place.

const SLOW = 4008; // we could not keep up: come back at once, with what we have
const OVER = 4010; // the run is over: stay away

const FIRST_PAUSE = 250; // ms before the first new attempt
const LONGEST_PAUSE = 10000;

/**
 * Follows a run over its websocket until it is over.
 * @param {HTMLElement} run the section of the run
 */
export function follow(run) {
  const body = document.getElementById("rows");
  const verdict = document.getElementById("verdict");
  const link = document.getElementById("link");
  let seq = Number(run.dataset.seq);
  let pause = FIRST_PAUSE;

  function connect() {
    const url = new URL(run.dataset.socket, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("since", String(seq));
    const socket = new WebSocket(url);
    socket.onopen = () => {
      pause = FIRST_PAUSE;
      say("");
    };
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      if (frame.v !== 1) {
        location.reload(); // the server is newer than this page
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
    };
    socket.onclose = (event) => {
      if (event.code === OVER || run.dataset.ended === "true") {
        say("");
        return;
      }
      say("Connection lost; trying again.");
      setTimeout(connect, event.code === SLOW ? 0 : pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    };
  }

  /** @param {string} text */
  function say(text) {
    link.textContent = text;
    link.hidden = text === "";
  }

  connect();
}

/**
 * Replaces the row with the same id, or appends it.
 * @param {HTMLElement} body
 * @param {{step: number, html: string}} row
 */
function place(body, row) {
  const template = document.createElement("template");
  template.innerHTML = row.html;
  const fresh = template.content.firstElementChild;
  const old = document.getElementById(fresh.id);
  if (old) {
    old.replaceWith(fresh);
  } else {
    fresh.classList.add("new");
    body.append(fresh);
  }
}
