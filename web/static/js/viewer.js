// Shows a film: where one stands in it, and how one goes about. What is shown
// is a function of the film, the position, and the command inside of a step.
import { byId, make } from "./dom.js";
import { MARKS, markAt, stopsOf } from "./film.js";
import { inspect } from "./inspector.js";
import { lanes } from "./lanes.js";
import * as lua from "./lua.js";
import { table } from "./table.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Position} Position
 * @typedef {import("./film.js").Row} Row
 *
 * @typedef {object} Owner what the page behind the viewer does
 * @property {() => Film | null} film
 * @property {(act: () => void) => void} [inTurn] does it when nothing is under way
 * @property {() => void} [more] makes a position after the last
 * @property {(to: string, then: () => void) => void} [runTo] makes positions until what is wanted has come
 * @property {() => boolean} [busy] positions are being made
 * @property {() => string} [lanes] as the server drew them last, HTML
 * @property {(row: number) => Promise<string> | void} [lanesAt] gets the lanes around a row, HTML, or has them come by lanes
 * @property {() => void} [shown] something else is shown now
 */

const GLYPHS = { violation: "✖", expired: "◷", fault: "⚡", acquired: "●", released: "○" };
const MOST_MARKS = 240;
const ASKING = 100; // ms between two requests for lanes

/** @param {Owner} owner */
export function viewer(owner) {
  let at = 0; // stop
  let moment = 0; // command inside of the row, 0 outside
  let inside = false; // steps go through the commands
  let preview = 0; // row that is pointed at
  let timer = 0; // of playing
  /** @type {Row[] | null} */
  let marked = null; // whose marks they are
  /** @type {{at: number, mark: string}[]} */
  let marks = [];
  let markedTo = 0; // the last position that was looked at for them
  let marking = 0; // timer of drawing them
  let missed = 0; // the row that the lanes were asked for around, until there are
  let missing = 0; // timer of asking for them
  let drawn = ""; // lanes, of an owner who has them
  let asked = 0; // when they were asked for last
  let wanted = 0; // the row that they were asked for around last
  let running = false; // to what is wanted, which has not come yet
  /** @type {{at: number, enters: boolean, note: string | null, follow: boolean} | null} */
  let awaited = null; // what to do where one stands once the row is here; note is null where nothing is to be said
  /** @type {unknown} */
  let listening = null; // to whose portions

  const film = () => /** @type {Film} */ (owner.film());
  const stops = () => stopsOf(film());
  const stop = () => stops()[Math.min(at, stops().length - 1)]; // another film may be shorter
  const tip = () => stops().length - 1;
  const row = () => film().rows[stop().row - 1];
  /** The row that one stands at has not come yet. */
  const absent = () => stop().row > 0 && !row();
  const over = () => Boolean(film().positions[film().positions.length - 1].over ?? !owner.more);
  /** The stop at which the move to a position is over, or at which it begins. */
  const stopOf = (/** @type {number} */ position, begins = false) =>
    Math.max(0, begins ? stops().findIndex((s) => s.position >= position) : stops().findLastIndex((s) => s.from <= position));
  const inTurn = owner.inTurn ?? ((/** @type {() => void} */ act) => act());

  const box = /** @type {HTMLElement} */ (document.querySelector("[data-lanes]"));
  const rows = table(
    { body: byId("rows"), scroller: byId("scroll") },
    {
      seek: (step) => inTurn(() => goToRow(step)),
      preview: (step) => look(step),
      inside: (step, n) => {
        goToRow(step);
        if (row()?.step === step) {
          moment = n;
          inside = true;
          show();
          announce();
        }
      },
      see: (from, to) => film().portions?.see(from, to),
      missing: notHere,
    },
  );
  const picture = lanes(box, { step: (step) => inTurn(() => goToRow(step)), preview: (step) => look(step ?? 0) });

  // ---- what is shown

  /** @param {boolean} [follow] scroll to where one stands */
  function show(follow = true) {
    if (!owner.film()) {
      return;
    }
    at = Math.min(at, tip());
    const p = stop();
    moment = Math.min(moment, row()?.inside?.length ?? 0);
    const html = owner.lanes?.();
    if (html !== undefined && html !== drawn) {
      drawn = html;
      picture.draw(html);
    }
    come(p.row, follow);
    rows.draw(film().rows, p.row, moment, follow);
    picture.cursor(p.row || null);
    beThere(p.row || 1);
    detail();
    transport();
    owner.shown?.();
  }

  /** What is said in the place of a row that is not here. @param {number} step */
  function notHere(step) {
    return film().portions?.failed(step) ? say("This step could not be loaded.") : say("Loading …");
  }

  /** Has the rows come around the one that one stands at.
   *  @param {number} step
   *  @param {boolean} follow */
  function come(step, follow) {
    const { portions } = film();
    if (portions && listening !== portions) {
      listening = portions;
      portions.listen(() => film().portions === portions && arrived());
    }
    if (!absent()) {
      awaited = null;
    } else if (awaited?.at !== at) {
      awaited = { at, enters: false, note: null, follow };
    }
    portions?.stand(step);
  }

  /** Rows have come, or could not: shows them. Who has scrolled away from where
   *  one stands is not taken back. */
  function arrived() {
    rows.changed();
    const was = awaited;
    if (!was || absent()) {
      const { row: step } = stop();
      rows.draw(film().rows, step, moment, false);
      detail();
      if (was && was.note !== null) {
        announce(was.note);
      }
      return;
    }
    const box = document.querySelector("#rows [aria-current]")?.getBoundingClientRect();
    show(was.follow && Boolean(box && box.bottom > 0 && box.top < innerHeight));
    if (was.enters) {
      enter();
    }
    if (was.note !== null) {
      announce(was.note);
    }
  }

  /** Gets the lanes around a row before one is at the edge of those in the
   *  page. Who goes on gets there with them; a held key, or a dragged
   *  scrubber, asks now and then only. @param {number} row */
  function beThere(row) {
    clearTimeout(missing);
    const there = () => row > film().rows.length || picture.around(row, film().rows.length);
    if (there()) {
      missed = 0;
    } else if (row !== missed) {
      missing = window.setTimeout(() => {
        if (owner.film() && !there()) { // nor have they come meanwhile
          missed = row;
          asked = Date.now();
          bring(row);
        }
      }, Math.max(0, asked + ASKING - Date.now()));
    }
  }

  /** Shows the lanes around a row, unless others were asked for meanwhile.
   *  @param {number} row */
  async function bring(row) {
    wanted = row;
    const html = await owner.lanesAt?.(row);
    if (html && row === wanted) {
      drawLanes(html);
    }
  }

  /** @param {string} html */
  function drawLanes(html) {
    picture.draw(html);
    if (owner.film()) {
      picture.cursor(stop().row || null);
      beThere(stop().row || 1);
    }
  }

  /** Shows the key, the script and the reason at the row that is looked at. */
  function detail() {
    const previewed = preview > 0 && preview !== stop().row && preview <= film().rows.length;
    const at = previewed ? preview : stop().row;
    const k = previewed ? 0 : moment;
    if (at > 0 && !film().rows[at - 1]) {
      notYet(at, previewed);
      return;
    }
    inspect(byId("inspector"), film(), { row: at, moment: k, preview: previewed });
    const r = film().rows[at - 1];
    const m = r?.inside?.[k - 1];
    const why = m?.why ?? r?.why ?? say("Step, and every event says here why it happened.");
    byId("why").textContent = why;
    byId("lock-line").textContent = why; // where the side is further down
    const shown = m ? m.lua : r?.lua;
    byId("no-lua").hidden = Boolean(shown);
    lua.show(byId("lua"), shown ? { ...shown, thread: r.thread } : null);
  }

  /** Says of a row that it is not here, and nothing else of it.
   *  @param {number} step
   *  @param {boolean} previewed */
  function notYet(step, previewed) {
    if (previewed) {
      film().portions?.look(step);
    }
    const text = notHere(step);
    const parts = [make("p", { class: "place" }, `T${step}`), make("p", { class: "hint" }, text)];
    if (film().portions?.failed(step)) {
      const again = make("button", { type: "button" }, say("Try again"));
      again.onclick = () => film().portions?.retry();
      parts.push(again);
    }
    byId("inspector").replaceChildren(...parts);
    byId("why").textContent = text;
    byId("lock-line").textContent = text;
    byId("no-lua").hidden = true;
    lua.show(byId("lua"), null);
  }

  /** @param {number} step */
  function look(step) {
    if (step !== preview && owner.film()) {
      preview = step;
      picture.preview(step || null);
      rows.point(step);
      detail();
    }
  }

  function transport() {
    const p = stop();
    const scrubber = /** @type {HTMLInputElement} */ (byId("scrubber"));
    scrubber.max = String(tip());
    scrubber.value = String(at);
    let count = tip() === 0 ? say("at the start") : say("%d of %d", at, tip());
    let when = row()?.inside?.[moment - 1]?.at ?? p.at;
    if (p.row) {
      when = `T${p.row}${moment ? `.${moment}` : ""} · ${when}`;
    }
    if (running && owner.busy?.()) {
      [count, when] = ["", say("running … T%s", String(film().rows.length))];
    }
    const place = [count, when].filter(Boolean).join(" · ");
    // A phone has room for one of the two.
    byId("place").replaceChildren(make("span", { class: "count" }, count && `${count} · `), make("span", { class: "when" }, when));
    const mark = markAt(film(), at);
    scrubber.setAttribute("aria-valuetext", mark ? `${place}, ${markName(mark)}` : place);
    const end = over() && at === tip() && moment === 0;
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (byId("transport").querySelectorAll("[data-go]"))) {
      const to = button.dataset.go;
      const off = (at === 0 && (to === "first" || to === "back")) || (end && (to === "forward" || to === "end" || to === "next"));
      button.setAttribute("aria-disabled", String(off));
      if (to === "play") {
        const name = timer ? say("Pause") : say("Play");
        button.setAttribute("aria-label", name);
        button.title = name;
        button.querySelector("path")?.setAttribute("d", timer ? "M5 2.5v11M11 2.5v11" : "M4 2l9 6-9 6z");
      }
      if (to === "inside") {
        button.setAttribute("aria-pressed", String(inside));
      }
    }
    drawMarks();
  }

  /** @param {string} mark */
  function markName(mark) {
    switch (mark) {
      case "violation": return say("a rule is broken");
      case "expired": return film().rows[0]?.after.heartbeat ? say("the key expired") : say("the lease ran out");
      case "fault": return say("a fault");
      case "acquired": return say("the lock is acquired");
      default: return say("the lock is released");
    }
  }

  function drawMarks() {
    if (marked === film().rows && markedTo === tip()) {
      return;
    }
    if (marked !== film().rows || markedTo > tip()) {
      marked = film().rows;
      marks = [];
      markedTo = 0;
    }
    while (markedTo < tip()) {
      markedTo++;
      const mark = markAt(film(), markedTo);
      if (mark) {
        marks.push({ at: markedTo, mark });
      }
    }
    clearTimeout(marking);
    marking = window.setTimeout(drawTheMarks, 50); // a held key makes many
  }

  function drawTheMarks() {
    if (marked !== owner.film()?.rows || markedTo !== tip()) {
      return; // others are under way
    }
    let all = marks;
    for (let worth = MARKS.length; all.length > MOST_MARKS && worth > 0; worth--) {
      all = all.filter((m) => MARKS.indexOf(m.mark) < worth);
    }
    const svg = byId("marks");
    svg.replaceChildren(
      ...all.map((m) => {
        const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("x", `${(m.at / Math.max(tip(), 1)) * 100}%`);
        text.setAttribute("y", "12");
        text.setAttribute("class", m.mark);
        text.textContent = GLYPHS[/** @type {keyof typeof GLYPHS} */ (m.mark)];
        return text;
      }),
    );
    const jump = byId("jump");
    const head = /** @type {HTMLOptionElement} */ (jump.firstElementChild);
    jump.replaceChildren(
      head,
      ...all.map((m) => make("option", { value: String(m.at) }, `T${stops()[m.at].row} · ${markName(m.mark)}`)),
    );
  }

  // ---- what is said

  /** Says what was shown by a step that a person made. */
  function announce(note = "") {
    if (absent()) {
      awaited = { at, enters: awaited?.enters ?? false, note, follow: true };
      byId("status").textContent = [note, `T${stop().row}`, notHere(stop().row)].filter(Boolean).join(" ");
      byId("alarm").textContent = "";
      return;
    }
    const r = row();
    const said = moment > 0 ? r.inside?.[moment - 1].says : r?.says;
    const alarm = moment === 0 ? (r?.alarm ?? "") : ""; // said once, by the alert
    byId("status").textContent = [note, alarm ? "" : (said ?? say("Before the first step."))].filter(Boolean).join(" ");
    byId("alarm").textContent = alarm;
  }

  // ---- going about

  /** @param {number} to
   *  @param {boolean} [follow] scroll there */
  function go(to, follow = true) {
    running = false;
    at = Math.max(0, Math.min(to, tip()));
    moment = 0;
    show(follow);
  }

  /** @param {number} step */
  function goToRow(step) {
    pause();
    go(stops().findLastIndex((s) => s.row <= step));
    announce();
  }

  function forward() {
    const commands = row()?.inside?.length ?? 0;
    if (moment > 0) {
      moment = moment < commands ? moment + 1 : 0;
      show();
      announce();
    } else if (at < tip()) {
      go(at + 1);
      enter();
      announce();
    } else if (!over()) {
      owner.more?.();
    }
  }

  /** Inside of scripts a step stands at its first command first. */
  function enter() {
    if (inside && awaited) {
      awaited.enters = true;
    }
    if (inside && row()?.inside?.length && stop().row > (stops()[at - 1]?.row ?? 0)) {
      moment = 1;
      show();
    }
  }

  function back() {
    const commands = row()?.inside?.length ?? 0;
    if (inside && moment !== 1 && commands > 0 && stop().row > (stops()[at - 1]?.row ?? 0)) {
      moment = moment === 0 ? commands : moment - 1;
      show();
    } else {
      go(at - 1);
    }
    announce();
  }

  /** @param {(i: number) => boolean} wanted stop
   *  @param {string} to
   *  @param {string} none what to say where there is none */
  function runTo(wanted, to, none) {
    const found = stops().findIndex((_, i) => i > at && wanted(i));
    if (found >= 0) {
      go(found);
      announce();
    } else if (over() || !owner.runTo) {
      go(tip());
      announce(none);
    } else {
      const from = tip();
      owner.runTo(to, () => {
        const there = stops().findIndex((_, i) => i > from && wanted(i));
        go(there >= 0 ? there : tip());
        announce(there >= 0 ? "" : none);
      });
      running = true;
      transport();
      byId("status").textContent = byId("place").textContent; // once; what comes of it is said at the end
    }
  }

  function intoLua() {
    if (moment > 0) {
      out();
      return;
    }
    inside = true;
    if (row()?.inside?.length) {
      moment = 1;
    }
    show();
    announce(row()?.inside?.length ? "" : say("Steps go through each command from here."));
  }

  function out() {
    inside = false;
    moment = 0;
    show();
    announce();
  }

  const matters = (/** @type {number} */ i) => MARKS.includes(markAt(film(), i) ?? "");
  const broken = (/** @type {number} */ i) => markAt(film(), i) === "violation";

  /** @type {Record<string, () => void>} */
  const actions = {
    first() {
      go(0);
      announce();
    },
    back,
    forward,
    end: () => runTo((i) => i === tip() && over(), "end", say("This is the end.")),
    next: () => runTo(matters, "mark", say("Nothing that matters happens from here to the end.")),
    violation() {
      const first = stops().findIndex((_, i) => broken(i));
      if (first >= 0 && first !== at) {
        go(first);
        announce();
      } else {
        runTo(broken, "violation", say("No rule is broken from here to the end."));
      }
    },
    play: () => (timer ? pause() : play()),
    inside: () => (inside ? out() : intoLua()),
    into: intoLua,
    out,
  };

  function play() {
    if (over() && at === tip()) {
      go(0);
    }
    const started = at;
    let said = 0; // when
    const tick = () => {
      if (document.hidden || (over() && at === tip() && moment === 0)) {
        pause();
        return;
      }
      if (at !== started && broken(at) && moment === 0) {
        byId("alarm").textContent = row()?.alarm ?? "";
        pause();
        return;
      }
      const next = stops()[at + 1]?.row ?? 0;
      if (absent() || (next > stop().row && !film().rows[next - 1])) {
        film().portions?.stand(next || stop().row);
        if (film().portions?.failed(next)) {
          pause();
          go(at + 1);
          announce();
          return;
        }
      } else if (!owner.busy?.()) {
        quietly(forward);
        if (row()?.alarm && moment === 0 && Date.now() - said > 2000) {
          said = Date.now();
          byId("status").textContent = row().alarm ?? "";
        }
      }
      timer = window.setTimeout(tick, Number(/** @type {HTMLSelectElement} */ (byId("speed")).value));
    };
    timer = window.setTimeout(tick, 0);
    show();
  }

  let quiet = false;
  /** Does it without a word: what plays by itself is not read out.
   *  @param {() => void} act */
  function quietly(act) {
    const before = byId("status").textContent;
    quiet = true;
    act();
    quiet = false;
    if (byId("status").textContent !== before) {
      byId("status").textContent = before;
    }
  }

  function pause() {
    const was = timer;
    clearTimeout(timer);
    timer = 0;
    if (was && owner.film()) {
      show();
    }
  }

  /** @param {string} name */
  function act(name) {
    if (!owner.film()) {
      return;
    }
    if (name !== "play") {
      pause();
    }
    inTurn(actions[name]);
  }

  // ---- wiring

  const bar = byId("transport");
  const buttons = () => /** @type {HTMLButtonElement[]} */ ([...bar.querySelectorAll("button")]);
  bar.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-go]"));
    if (button && button.getAttribute("aria-disabled") !== "true") {
      act(/** @type {string} */ (button.dataset.go));
    }
    if (button && event.detail > 0) {
      button.blur(); // after a click the arrows step, as they did before it
    }
  });
  // One tab stop, as the ARIA practices have it for a toolbar.
  buttons().forEach((b, i) => {
    b.tabIndex = i === 2 ? 0 : -1;
  });
  bar.addEventListener("focusin", (event) => {
    for (const b of buttons()) {
      b.tabIndex = b === event.target ? 0 : -1;
    }
  });
  bar.addEventListener("keydown", (event) => {
    const list = buttons();
    const i = list.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: list.length - 1 }[event.key];
    if (to !== undefined && i >= 0) {
      event.preventDefault();
      event.stopPropagation();
      list[(to + list.length) % list.length].focus();
    }
  });
  byId("scrubber").addEventListener("input", (event) => {
    pause();
    go(Number(/** @type {HTMLInputElement} */ (event.target).value));
  });
  byId("jump").addEventListener("change", (event) => {
    const select = /** @type {HTMLSelectElement} */ (event.target);
    if (select.value) {
      pause();
      go(Number(select.value));
      announce();
    }
  });
  byId("jump").addEventListener("blur", (event) => {
    /** @type {HTMLSelectElement} */ (event.target).value = ""; // until then the arrows go from mark to mark
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && timer) {
      pause();
    }
  });

  return {
    act,
    show,
    /** Stands where the move to a position is over.
     *  @param {number} position
     *  @param {boolean} [follow] scroll there */
    go(position, follow = true) {
      go(stopOf(position), follow);
    },
    pause,
    announce(/** @type {string} */ note = "") {
      if (!quiet) {
        announce(note);
      }
    },
    /** Tells of a broken rule or an expiry that came by itself. @param {Row} r */
    alarm(r) {
      if (r.alarm) {
        byId("alarm").textContent = r.alarm;
      }
    },
    /** Stands where the move to a position begins to show, which was made
     *  just now. @param {number} position */
    arrive(position) {
      const to = stopOf(position, true);
      if (to === at && !over()) {
        owner.more?.(); // nothing of it shows
        return;
      }
      go(to);
      enter();
      if (!timer) {
        announce();
      }
    },
    /** The position that is stood at, or whose move goes on there. */
    at: () => stop().position,
    /** The first position that is not told from it. */
    from: () => stop().from,
    /** One can act here: the move is over. */
    whole: () => stop().whole && (moment === 0 || moment === row()?.inside?.length),
    row: () => stop().row,
    playing: () => timer !== 0,
    /** Other lanes, as the server drew them. @param {string} html */
    lanes: drawLanes,
    /** The film's rows are other ones now, though its list is the same.
     *  @param {number} [from] the first position that has changed */
    changed(from = 0) {
      rows.changed();
      missed = 0;
      markedTo = Math.min(markedTo, Math.max(from - 1, 0));
      marks = marks.filter((m) => m.at <= markedTo);
    },
  };
}
