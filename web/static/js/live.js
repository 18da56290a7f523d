// A run: its rows arrive over the websocket while it goes on. If you are at the last row,
// you go along with it.
import { connect } from "./connection.js";
import { byId, pace, still } from "./dom.js";
import { growing } from "./lanes.js";
import { keepPlace, rowInAddress } from "./place.js";
import { filmInPage, readingKeys } from "./replay.js";
import { shareRun } from "./share.js";
import { canUnpack } from "./unpack.js";
import { viewer } from "./viewer.js";
import { say } from "./words.js";

const SLOW = 4008; // we could not keep up: come back at once, with what we have
const TICK = 60; // ms
const STEP = /\x7f/g; // stands for a row's number in its packed HTML
const OVER = 4010; // the run is over: stay away

/** @param {HTMLElement} run the section of the run */
export function live(run) {
  const film = filmInPage(run.dataset.rows);
  const view = viewer({ live: true, film: () => film, lanesAt, shown: () => keepPlace(view.row(), tip()) });
  const tip = () => film.positions.length - 1;
  const { open } = shareRun(() => (view.row() === tip() ? 0 : view.row()));
  readingKeys(view, null, { s: open });
  const named = rowInAddress();
  if (named >= 0 && named < tip()) {
    view.go(named);
  } else {
    view.go(tip(), "box");
  }
  document.addEventListener("click", (e) => {
    const to = e.target instanceof Element ? e.target.closest("nav.of-log a") : null;
    if (to instanceof HTMLAnchorElement && rowInAddress(to.href) >= 0) view.go(rowInAddress(to.href));
  });
  if (run.dataset.ended === "true") {
    return;
  }
  let seq = Number(run.dataset.seq);
  let newest = ""; // lanes, HTML, of who cannot unpack
  const followed = growing(); // lanes
  // Disabled without a connection: what is pressed then would be lost.
  const controls = /** @type {HTMLFieldSetElement | null} */ (document.getElementById("controls"));
  const refused = byId("refused");

  const line = connect({
    path: () => `${run.dataset.socket}since=${seq}${canUnpack ? "&pack=1" : ""}`,
    unpacked([text, lanes, inner, outer]) {
      const frame = JSON.parse(text);
      if (lanes) {
        followed.change(JSON.parse(lanes));
        const [inside, around] = [JSON.parse(inner), JSON.parse(outer)];
        frame.rows.forEach((/** @type {any} */ row, /** @type {number} */ i) => {
          row.html = (inside[i] + around[i]).replace(STEP, String(row.step));
        });
      }
      return frame;
    },
    received(frame) {
      if (frame.refused) {
        refused.textContent = frame.refused;
        return;
      }
      if (frame.controls !== undefined) {
        draw(frame.controls);
        return;
      }
      if (frame.picture !== undefined) {
        followed.change(frame.picture);
        return;
      }
      if (frame.lanes !== undefined) {
        newest = frame.lanes; // of the rows that come right after
        return;
      }
      take(frame);
    },
    closed(event) {
      if (event.code === OVER || run.dataset.ended === "true") {
        return false;
      }
      return event.code === SLOW ? 0 : true;
    },
    broken(why) {
      refused.textContent = why;
      run.dataset.ended = "true";
      controls?.remove();
    },
    changed(lost) {
      const link = byId("link");
      link.textContent = lost ? say("Connection lost; trying again.") : "";
      link.hidden = !lost;
      if (controls) {
        controls.disabled = lost;
      }
    },
  });

  // Between two events only time goes by: the clock moves, holds last, and the lease runs
  // out while you look.
  let came = performance.now() - Number(run.dataset.quiet); // the last row
  let ticked = 0;
  const ticking = setInterval(() => {
    const now = performance.now();
    const calm = still();
    if (run.dataset.ended === "true") {
      clearInterval(ticking);
    } else if (!document.hidden && film.rows.length > 0 && now - ticked >= (calm ? pace() : 0)) {
      ticked = now;
      view.waited(now - came, calm || view.playing() ? null : followed);
    }
  }, TICK);

  /** @param {number} row */
  async function lanesAt(row) {
    const answer = await fetch(`${run.dataset.picture}${row}`);
    return answer.ok ? answer.text() : "";
  }

  /** The current row is in sight: who has scrolled away, to steer a
   *  thread or to read, is not taken back. */
  function looking() {
    const row = document.querySelector("#rows [aria-current]")?.getBoundingClientRect();
    return !row || (row.bottom > 0 && row.top < innerHeight);
  }

  /** @param {any} frame */
  function take(frame) {
    const along = view.at() === tip() && !view.playing();
    const follows = along && !frame.ended && looking();
    for (const row of frame.rows) {
      film.rows[row.step - 1] = row;
      view.alarm(row);
      film.positions[row.step] = { row: row.step, at: row.at };
    }
    seq = Math.max(seq, frame.seq);
    if (frame.rows.length > 0) {
      came = performance.now();
    }
    byId("verdict").innerHTML = frame.verdict;
    view.changed();
    const seen = view.row() || 1; // who looks at another part keeps it
    if (followed.there()) {
      if (along || followed.has(seen)) {
        view.lanes(frame.ended ? followed.html() : followed.html(0, view.room()));
      }
    } else if (newest && (along || newest.includes(` data-step="${seen}"`))) {
      view.lanes(newest);
    }
    view.go(along ? tip() : view.at(), follows);
    if (frame.ended) {
      run.dataset.ended = "true";
      controls?.remove();
    }
  }

  controls?.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-steer]"));
    if (button) {
      refused.textContent = "";
      line.send({ thread: button.dataset.thread, do: button.dataset.steer });
    }
  });

  /** Shows the controls as they are now, and leaves the focus where it was.
   *  @param {string} html */
  function draw(html) {
    if (!controls) {
      return;
    }
    const buttons = () => [...controls.querySelectorAll("button")];
    const focused = buttons().indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    controls.innerHTML = html;
    if (focused >= 0) {
      buttons()[focused]?.focus();
    }
  }
}
