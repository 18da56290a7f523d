// Shows a film: where one stands in it, and how one goes about. What is shown
// is a function of the film, and of where one stands.
import { drawCards } from "./cards.js";
import * as ways from "./cursor.js";
import { byId, make } from "./dom.js";
import { markAt, stopsOf } from "./film.js";
import { drawEnding } from "./ending.js";
import { inspect } from "./inspector.js";
import { lanes } from "./lanes.js";
import { legend } from "./legend.js";
import * as lua from "./lua.js";
import { broken, markName, marks, matters } from "./marks.js";
import { player } from "./playing.js";
import { table } from "./table.js";
import { drawTransport, transport } from "./transport.js";
import { duration, say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Row} Row
 * @typedef {import("./cursor.js").Cursor} Cursor
 * @typedef {boolean | "box"} Follow "box": in the table's box, and the page stays
 *
 * @typedef {object} Owner what the page behind the viewer does
 * @property {() => Film | null} film
 * @property {{now: () => Cursor, stand: (cursor: Cursor) => void}} [place] keeps where one stands, within the film
 * @property {(act: () => void) => void} [inTurn] does it when nothing is under way
 * @property {() => void} [more] makes a position after the last
 * @property {(to: string, then: () => void) => void} [runTo] makes positions until what is wanted has come
 * @property {() => boolean} [busy] positions are being made
 * @property {() => string} [lanes] as the server drew them last, HTML
 * @property {(row: number) => Promise<string> | void} [lanesAt] gets the lanes around a row, HTML, or has them come by lanes
 * @property {boolean} [through] playing goes on at a broken rule
 * @property {() => void} [shown] something else is shown now
 */

const ASKING = 100; // ms between two requests for lanes
const SPEAKING = 2000; // ms between two alarms that are read out while it plays

/** Keeps where one stands, for who has nobody to do so. */
function itself() {
  let cursor = ways.START;
  return {
    now: () => cursor,
    /** @param {Cursor} to */
    stand(to) {
      cursor = to;
    },
  };
}

/** @param {Owner} owner */
export function viewer(owner) {
  const place = owner.place ?? itself();
  let preview = 0; // row that is pointed at
  let missed = 0; // the row that the lanes were asked for around, until there are
  let missing = 0; // timer of asking for them
  let drawn = ""; // lanes, of an owner who has them
  let asked = 0; // when they were asked for last
  let wanted = 0; // the row that they were asked for around last
  let part = 0; // of the way to the next row that the clock has gone
  let passed = 0; // ms since the row, as far as the clock shows
  let running = false; // to what is wanted, which has not come yet
  let quiet = false; // nothing is to be said
  let started = 0; // the stop at which it began to play
  let alarmed = 0; // when an alarm was read out last while it played
  /** @type {{at: number, enters: boolean, note: string | null, follow: Follow} | null} */
  let awaited = null; // what to do where one stands once the row is here; note is null where nothing is to be said
  /** @type {unknown} */
  let listening = null; // to whose portions

  const film = () => /** @type {Film} */ (owner.film());
  const here = () => ways.within(film(), place.now()); // another film may be shorter
  const stops = () => stopsOf(film());
  const stop = () => stops()[here().stop];
  const tip = () => stops().length - 1;
  const row = () => film().rows[stop().row - 1];
  /** The row that one stands at has not come yet. */
  const absent = () => stop().row > 0 && !row();
  const over = () => Boolean(film().positions[film().positions.length - 1].over ?? !owner.more);
  const atEnd = () => over() && here().stop === tip() && here().moment === 0;
  const inTurn = owner.inTurn ?? ((/** @type {() => void} */ act) => act());

  const box = /** @type {HTMLElement} */ (document.querySelector("[data-lanes]"));
  const rows = table(
    { body: byId("rows"), scroller: byId("scroll") },
    {
      seek: (step) => inTurn(() => goToRow(step)),
      preview: (step) => look(step),
      inside: (step, moment) => {
        goToRow(step);
        if (row()?.step === step) {
          stand({ ...here(), moment, inside: true });
          announce();
        }
      },
      see: (from, to) => film().portions?.see(from, to),
      missing: notHere,
    },
  );
  const picture = lanes(box, { step: (step) => inTurn(() => goToRow(step)), preview: (step) => look(step ?? 0), clock: (step, to) => inTurn(() => clockTo(step, to)) });
  const marked = marks(owner.film);
  legend(box);
  const playing = player(playOn, () => owner.film() && show(), (to) => owner.film() && flowTo(to));
  transport({
    act,
    scrub(to) {
      playing.stop();
      go(to);
    },
    jump(to) {
      playing.stop();
      go(to);
      announce();
    },
  });

  // ---- what is shown

  /** @param {Follow} [follow] scroll to where one stands */
  function show(follow = true) {
    if (!owner.film()) {
      return;
    }
    place.stand(here());
    const { row: step } = stop();
    const html = owner.lanes?.();
    if (html !== undefined && html !== drawn) {
      drawn = html;
      picture.draw(html);
    }
    drawEnding(film(), atEnd() && film().rows.length > 0); // it takes room of the table, and so do the cards
    if (row()) {
      drawCards(byId("actors"), row()?.cards);
    }
    come(step, follow);
    rows.draw(film().rows, step, here().moment, follow);
    picture.cursor(step || null);
    passed = (part > 0 && picture.flow(step, part)) || passed;
    beThere(step || 1);
    detail();
    drawPlace();
    marked.show(film());
    owner.shown?.();
  }

  /** What is said in the place of a row that is not here. @param {number} step */
  function notHere(step) {
    return film().portions?.failed(step) ? say("This step could not be loaded.") : say("Loading …");
  }

  /** Has the rows come around the one that one stands at.
   *  @param {number} step
   *  @param {Follow} follow */
  function come(step, follow) {
    const { portions } = film();
    if (portions && listening !== portions) {
      listening = portions;
      portions.listen(() => film().portions === portions && arrived());
    }
    if (!absent()) {
      awaited = null;
    } else if (awaited?.at !== here().stop) {
      awaited = { at: here().stop, enters: false, note: null, follow };
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
      rows.draw(film().rows, step, here().moment, false);
      detail();
      if (was && was.note !== null) {
        announce(was.note);
      }
      return;
    }
    const box = document.querySelector("#rows [aria-current]")?.getBoundingClientRect();
    show(box && box.bottom > 0 && box.top < innerHeight ? was.follow : false);
    if (was.enters) {
      stand(ways.entered(film(), here()));
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
      if (part > 0) {
        picture.flow(stop().row, part);
      }
      beThere(stop().row || 1);
    }
  }

  /** Shows the key, the script and the reason at the row that is looked at. */
  function detail() {
    const previewed = preview > 0 && preview !== stop().row && preview <= film().rows.length;
    const at = previewed ? preview : stop().row;
    const k = previewed ? 0 : here().moment;
    if (at > 0 && !film().rows[at - 1]) {
      notYet(at, previewed);
      return;
    }
    inspect(byId("inspector"), film(), { row: at, moment: k, preview: previewed, passed: previewed || k > 0 ? 0 : passed });
    const r = film().rows[at - 1];
    drawCards(byId("actors"), r?.cards);
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

  function drawPlace() {
    const { stop: at, moment, inside } = here();
    const p = stop();
    const r = row();
    const since = passed > 0 && r?.ms !== undefined ? duration(Math.round(r.ms + passed)) : "";
    const when = since || (r?.inside?.[moment - 1]?.at ?? p.at);
    picture.clock((r?.ms ?? 0) + passed, `${when}, T${p.row}`);
    const mark = markAt(film(), at);
    drawTransport({
      stop: at,
      last: tip(),
      when: p.row ? `T${p.row}${moment ? `.${moment}` : ""} · ${when}` : when,
      running: running && owner.busy?.() ? say("running … T%s", String(film().rows.length)) : "",
      mark: mark ? markName(film(), mark) : "",
      end: atEnd(),
      playing: playing.on(),
      inside,
    });
  }

  // ---- what is said

  /** Says what was shown by a step that a person made. */
  function announce(note = "") {
    if (absent()) {
      awaited = { at: here().stop, enters: awaited?.enters ?? false, note, follow: true };
      byId("status").textContent = [note, `T${stop().row}`, notHere(stop().row)].filter(Boolean).join(" ");
      byId("alarm").textContent = "";
      return;
    }
    const { moment } = here();
    const r = row();
    const said = moment > 0 ? r.inside?.[moment - 1].says : r?.says;
    const alarm = moment === 0 ? (r?.alarm ?? "") : ""; // said once, by the alert
    byId("status").textContent = [note, alarm ? "" : (said ?? say("Before the first step."))].filter(Boolean).join(" ");
    byId("alarm").textContent = alarm;
  }

  // ---- going about

  /** @param {Cursor} cursor
   *  @param {Follow} [follow] scroll there */
  function stand(cursor, follow = true) {
    part = 0;
    passed = 0;
    place.stand(cursor);
    show(follow);
  }

  /** @param {number} to stop
   *  @param {Follow} [follow] scroll there */
  function go(to, follow = true) {
    running = false;
    stand(ways.toStop(film(), here(), to), follow);
  }

  /** @param {number} step */
  function goToRow(step) {
    playing.stop();
    running = false;
    stand(ways.toRow(film(), here(), step));
    announce();
  }

  /** Moves the clock between a row and the next.
   *  @param {number} step @param {number} to part of the way */
  function clockTo(step, to) {
    playing.stop();
    running = false;
    const cursor = ways.toRow(film(), here(), step);
    if (cursor.stop !== here().stop || here().moment > 0) {
      stand(cursor);
    }
    flowTo(to);
  }

  /** Moves the clock on from the row that one stands at; nothing else happens
   *  until the next one. @param {number} to part of the way there */
  function flowTo(to) {
    const gone = to > 0 && here().moment === 0 && film().rows[stop().row] ? picture.flow(stop().row, to) : null;
    part = gone === null ? 0 : to;
    passed = gone ?? 0;
    if (gone === null) {
      picture.cursor(stop().row || null);
    }
    drain();
  }

  /** Shows how much of the lease is left as the time goes by. */
  function drain() {
    if (!(preview > 0 && preview !== stop().row) && row()) {
      inspect(byId("inspector"), film(), { row: stop().row, moment: here().moment, preview: false, passed });
    }
    drawPlace();
  }

  function forward() {
    const next = ways.forward(film(), here());
    if (next) {
      arriveAt(next);
      announce();
    } else if (!over()) {
      owner.more?.();
    }
  }

  /** @param {Cursor} cursor of a step forward */
  function arriveAt(cursor) {
    running = false;
    stand(cursor);
    if (cursor.inside && awaited) {
      awaited.enters = true;
    }
  }

  function back() {
    running = false;
    stand(ways.back(film(), here()));
    announce();
  }

  /** @param {(film: Film, stop: number) => boolean} wanted
   *  @param {string} to
   *  @param {string} none what to say where there is none */
  function runTo(wanted, to, none) {
    const found = (/** @type {number} */ from) => stops().findIndex((_, i) => i > from && wanted(film(), i));
    const next = found(here().stop);
    if (next >= 0) {
      go(next);
      announce();
    } else if (over() || !owner.runTo) {
      go(tip());
      announce(none);
    } else {
      const from = tip();
      owner.runTo(to, () => {
        const there = found(from);
        go(there >= 0 ? there : tip());
        announce(there >= 0 ? "" : none);
      });
      running = true;
      drawPlace();
      byId("status").textContent = byId("place").textContent; // once; what comes of it is said at the end
    }
  }

  function into() {
    if (here().moment > 0) {
      out();
      return;
    }
    stand(ways.into(film(), here()));
    announce(here().moment > 0 ? "" : say("Steps go through each command from here."));
  }

  function out() {
    stand(ways.out(here()));
    announce();
  }

  /** @type {Record<string, () => void>} */
  const actions = {
    first() {
      go(0);
      announce();
    },
    back,
    forward,
    end: () => runTo((_, i) => i === tip() && over(), "end", say("This is the end.")),
    next: () => runTo(matters, "mark", say("Nothing that matters happens from here to the end.")),
    violation() {
      const first = stops().findIndex((_, i) => broken(film(), i));
      if (first >= 0 && first !== here().stop) {
        go(first);
        announce();
      } else {
        runTo(broken, "violation", say("No rule is broken from here to the end."));
      }
    },
    play: () => (playing.on() ? playing.stop() : play()),
    inside: () => (here().inside ? out() : into()),
    into,
    out,
  };

  function play() {
    if (over() && here().stop === tip()) {
      go(0);
    }
    started = here().stop;
    playing.start();
  }

  /** Goes one step on, to the first broken rule or the end; false there. */
  function playOn() {
    const { stop: at, moment } = here();
    if (atEnd()) {
      return false;
    }
    if (!owner.through && at !== started && broken(film(), at) && moment === 0) {
      byId("alarm").textContent = row()?.alarm ?? "";
      return false;
    }
    const next = stops()[at + 1]?.row ?? 0;
    if (absent() || (next > stop().row && !film().rows[next - 1])) {
      film().portions?.stand(next || stop().row);
      if (film().portions?.failed(next)) {
        playing.stop();
        go(at + 1);
        announce();
        return false;
      }
    } else if (!owner.busy?.()) {
      quietly(forward);
      if (row()?.alarm && here().moment === 0 && Date.now() - alarmed > SPEAKING) {
        alarmed = Date.now();
        byId("status").textContent = row().alarm ?? "";
      }
    }
    return true;
  }

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

  /** @param {string} name */
  function act(name) {
    if (name !== "play") {
      playing.stop();
    }
    inTurn(() => {
      if (owner.film()) {
        actions[name]();
      }
    });
  }

  // On paper each row has its reason below it.
  addEventListener("beforeprint", () => {
    for (const tr of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#rows > tr[id]"))) {
      const why = owner.film()?.rows[Number(tr.dataset.step) - 1]?.why;
      if (why) {
        tr.after(make("tr", { class: "print-why" }, make("td", { colspan: String(tr.children.length) }, why)));
      }
    }
  });
  addEventListener("afterprint", () => document.querySelectorAll(".print-why").forEach((tr) => tr.remove()));

  return {
    act,
    show,
    /** Stands where the move to a position is over.
     *  @param {number} position
     *  @param {Follow} [follow] scroll there */
    go(position, follow = true) {
      go(ways.stopOf(film(), position), follow);
    },
    pause: playing.stop,
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
     *  just now. @param {number} position @param {number} from the stop before */
    arrive(position, from) {
      const to = ways.stopOf(film(), position, true);
      if (to === from && !over()) {
        owner.more?.(); // nothing of it shows
        return;
      }
      arriveAt(ways.entered(film(), ways.toStop(film(), here(), to)));
      if (!playing.on()) {
        announce();
      }
    },
    /** The position that is stood at, or whose move goes on there. */
    at: () => stop().position,
    /** The first position that is not told from it. */
    from: () => stop().from,
    /** One can act here: the move is over. */
    whole: () => ways.whole(film(), here()),
    row: () => stop().row,
    playing: playing.on,
    /**
     * So much time has gone by since the last row, in which nothing happened.
     * @param {number} ms
     * @param {ReturnType<typeof import("./lanes.js").growing> | null} lanes in which it goes on, or null to leave them
     */
    waited(ms, lanes) {
      if (here().stop !== tip() || here().moment !== 0) {
        return;
      }
      passed = ms;
      drain();
      if (!lanes?.goes()) {
        return;
      }
      let place = lanes.goOn(box, ms);
      if (place === null) {
        drawLanes(lanes.html(ms, picture.room()));
        place = lanes.goOn(box, ms);
      }
      if (place !== null) {
        picture.stand(place);
      }
    },
    room: picture.room,
    /** Other lanes, as the server drew them. @param {string} html */
    lanes: drawLanes,
    /** The film's rows are other ones now, though its list is the same. */
    changed() {
      rows.changed();
      marked.changed();
      missed = 0;
    },
  };
}
