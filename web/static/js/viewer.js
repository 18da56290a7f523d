// Shows a film: where you are in it, and how one goes about. The picture is a function of
// the film and of viewer-state.js; this draws it, and says it.
import * as ways from "./cursor.js";
import { byId, make } from "./dom.js";
import { markAt, stopsOf } from "./film.js";
import { drawEnding } from "./ending.js";
import { lanes, nearby } from "./lanes.js";
import { legend } from "./legend.js";
import * as lua from "./lua.js";
import { broken as brokenAt, markName, marks } from "./marks.js";
import { player } from "./playing.js";
import { changesOf, covered, drainStage, drawSentence, drawStage, sceneAt } from "./stage.js";
import { table } from "./table.js";
import { drawTransport, transport } from "./transport.js";
import { INITIAL, absent, atBroken, atEnd, intents, previewed, reduce, rowOf, stopOf, upNext } from "./viewer-state.js";
import { duration, say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Row} Row
 * @typedef {import("./cursor.js").Cursor} Cursor
 * @typedef {import("./viewer-state.js").Event} Event
 * @typedef {import("./viewer-state.js").Follow} Follow
 *
 * @typedef {object} Owner what the page behind the viewer does
 * @property {() => Film | null} film
 * @property {{now: () => Cursor, stand: (cursor: Cursor) => void}} [place] keeps where you are, within the film
 * @property {(act: () => void) => void} [inTurn] does it when nothing is under way
 * @property {() => void} [more] makes a position after the last
 * @property {(to: string, then: () => void) => void} [runTo] makes positions until what is wanted has come
 * @property {() => boolean} [busy] positions are being made
 * @property {boolean} [live] rows come by themselves, while time goes on
 * @property {() => string} [lanes] as the server drew them last, HTML
 * @property {(row: number) => Promise<string | undefined> | void} [lanesAt] gets the lanes around a row, HTML, or has them come by lanes; undefined where it cannot now
 * @property {() => string} [still] says why nothing has happened yet
 * @property {(row: number) => void} [shown] something else is shown now: up to this row
 */

const MOTION = 300; // ms that the lease and the clock take from one place to the next
const SPEAKING = 2000; // ms between two alarms that are read out while it plays

/** Keeps where you are, for pages without an owner. */
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
  let state = INITIAL;
  let drawn = ""; // lanes, of an owner who has them
  let stood = 0; // when one came to where one is
  let alarmed = 0; // when an alarm was read out last while it played
  /** @type {unknown} */
  let listening = null; // to whose portions

  const inTurn = owner.inTurn ?? ((/** @type {() => void} */ act) => act());

  /** The state, of the film that the page shows now, and where it stands. */
  function sync() {
    const film = owner.film();
    if (film) {
      state = reduce(state, { type: "film", film, grows: Boolean(owner.more), cursor: place.now() });
    }
    return film !== null;
  }

  /** The stop that you are at. */
  function here() {
    sync();
    return stopOf(state);
  }

  /** @param {Event} event @param {boolean} [quietly] what plays by itself is not read out */
  function happened(event, quietly = false) {
    if (!sync()) {
      return;
    }
    const was = state;
    state = reduce(was, event);
    if (state.cursor !== place.now()) {
      place.stand(state.cursor);
      hurry();
    }
    for (const one of intents(was, state)) {
      switch (one.kind) {
        case "show": show(one.follow); break;
        case "say": speak(one.note, quietly); break;
        case "make": more(one.to, one.from);
      }
    }
  }

  /** Nothing moves from place to place for who goes on before it is there. */
  function hurry() {
    const now = performance.now();
    byId("viewer").classList.toggle("scrubbing", now - stood < MOTION);
    stood = now;
  }

  /** Has the page make what is wanted. @param {import("./viewer-state.js").Aim | ""} to @param {number} from the stop */
  function more(to, from) {
    if (to === "") {
      owner.more?.();
    } else {
      owner.runTo?.(to, () => happened({ type: "ran", to, from }));
      drawPlace();
      byId("status").textContent = byId("place").textContent; // once; the outcome is said at the end
    }
  }

  const box = /** @type {HTMLElement} */ (document.querySelector("[data-lanes]"));
  const rows = table(
    { body: byId("rows"), scroller: byId("scroll") },
    {
      seek: (row) => inTurn(() => goToRow(row)),
      preview: look,
      inside: goToRow,
      see: (from, to) => state.film.portions?.see(from, to),
      missing: notHere,
    },
  );
  const picture = lanes(box, { step: (row) => inTurn(() => goToRow(row)), preview: (row) => look(row ?? 0), clock: (row, to) => inTurn(() => clockTo(row, to)), live: owner.live });
  const around = nearby({
    there: (row) => !sync() || row > state.film.rows.length || picture.around(row, state.film.rows.length),
    bring: (row) => owner.lanesAt?.(row),
    draw: drawLanes,
  });
  /** A question waits, and nothing tells what was broken. */
  const asking = () => box.closest(".asking") !== null;
  const marked = marks(owner.film);
  legend(box);
  const playing = player(playOn, () => show(), flowTo, near);
  transport({
    act,
    jump(stop) {
      playing.stop();
      happened({ type: "stop", stop });
      announce();
    },
  });

  // ---- what is shown

  /** @param {Follow} [follow] scroll to where you are */
  function show(follow = true) {
    if (!sync()) {
      return;
    }
    place.stand(state.cursor);
    state = reduce(state, { type: "shown", follow });
    const { film, cursor, part, passed } = state;
    const { row: step } = stopOf(state);
    const html = owner.lanes?.();
    if (html !== undefined && html !== drawn) {
      drawn = html;
      picture.draw(html);
    }
    end(); // it takes room of the table
    come(step);
    rows.draw(film.rows, step, cursor.moment, follow);
    picture.cursor(step || null);
    flowed(part, (part > 0 && picture.flow(step, part)) || passed);
    around.at(step || 1);
    detail();
    drawPlace();
    marked.show(film);
    owner.shown?.(step);
  }

  function end() {
    const { film } = state;
    drawEnding(film, { there: atEnd(state) && film.rows.length > 0 && !asking(), row: stopOf(state).row }, { seek: (row) => inTurn(() => goToRow(row)), missing: notHere });
  }

  /** @param {number} part @param {number} passed */
  function flowed(part, passed) {
    state = reduce(state, { type: "flowed", part, passed });
  }

  /** What is said in the place of a row that is not here. @param {number} step */
  function notHere(step) {
    return state.film.portions?.failed(step) ? say("This step could not be loaded.") : say("Loading …");
  }

  /** Loads the rows around the current one. @param {number} step */
  function come(step) {
    const { portions } = state.film;
    if (portions && listening !== portions) {
      listening = portions;
      portions.listen(() => owner.film()?.portions === portions && arrived());
    }
    portions?.stand(step);
  }

  /** Rows have come, or could not. */
  function arrived() {
    rows.changed();
    const { row } = here();
    end();
    if (!state.awaited || absent(state)) {
      rows.draw(state.film.rows, row, state.cursor.moment, false);
      detail();
    }
    const box = document.querySelector("#rows [aria-current]")?.getBoundingClientRect();
    happened({ type: "came", inSight: box !== undefined && box.bottom > 0 && box.top < innerHeight });
  }

  /** @param {string} html */
  function drawLanes(html) {
    picture.draw(html);
    if (sync()) {
      const { row } = stopOf(state);
      picture.cursor(row || null);
      if (state.part > 0) {
        picture.flow(row, state.part);
      }
      around.at(row || 1);
    }
  }

  /** Shows the key, the script and the reason at the row that is looked at. */
  function detail() {
    const { film, cursor, passed } = state;
    const preview = previewed(state);
    const at = preview || stopOf(state).row;
    const k = preview ? 0 : cursor.moment;
    if (at > 0 && !film.rows[at - 1]) {
      notYet(at, preview > 0);
      return;
    }
    const stage = document.getElementById("stage");
    const scene = stage && sceneAt(stage, film, { row: at, moment: k, passed: preview || k > 0 ? 0 : passed });
    stage?.classList.toggle("absent", !scene);
    if (stage && scene) {
      drawStage(stage, asking() ? covered(scene) : scene);
    }
    byId("viewer").classList.toggle("previewing", preview > 0);
    const r = film.rows[at - 1];
    const m = r?.inside?.[k - 1];
    because(asking() ? "" : (m?.why ?? r?.why ?? owner.still?.() ?? say("Nothing has happened yet.")), k === 0 && r?.mark === "violation" && !r.calm && !asking());
    const shown = m ? m.lua : r?.lua;
    byId("no-lua").hidden = Boolean(shown) || !document.querySelector(`#row-${at}:not(:has(.command))`); // a command without a script is in its row
    lua.show(byId("lua"), shown ? { ...shown, thread: r.thread } : null);
  }

  /** @param {string} why @param {boolean} broken a rule is: its first clause says which */
  function because(why, broken) {
    drawSentence(byId("why"), why, broken);
    byId("sentence").classList.toggle("broken", broken);
    byId("saved").hidden = !broken || document.getElementById("mend") === null;
  }

  /** Says of a row that it is not here, and nothing else of it.
   *  @param {number} step
   *  @param {boolean} preview */
  function notYet(step, preview) {
    const { portions } = state.film;
    if (preview) {
      portions?.look(step);
    }
    const text = notHere(step);
    document.getElementById("stage")?.classList.add("absent");
    byId("viewer").classList.toggle("previewing", preview);
    because(text, false);
    if (portions?.failed(step)) {
      const again = make("button", { type: "button" }, say("Try again"));
      again.onclick = () => portions.retry();
      byId("why").children[1].append(" ", again);
    }
    byId("no-lua").hidden = true;
    lua.show(byId("lua"), null);
  }

  /** Shows a row that is pointed at; while a film runs it shows its own alone.
   *  @param {number} pointed 0 for none */
  function look(pointed) {
    const step = playing.on() ? 0 : pointed;
    if (step !== state.pointed && sync()) {
      state = reduce(state, { type: "pointed", row: step });
      picture.preview(step || null);
      rows.point(step);
      detail();
      const looking = document.getElementById("looking");
      if (looking) {
        looking.hidden = previewed(state) === 0;
        looking.textContent = say("You look at T%s", String(step));
      }
    }
  }

  function drawPlace() {
    const { film, cursor, passed, running } = state;
    const { stop, moment, inside } = cursor;
    const p = stopOf(state);
    const r = rowOf(state);
    const since = passed > 0 && r?.ms !== undefined ? duration(Math.round(r.ms + passed)) : "";
    const when = since || (r?.inside?.[moment - 1]?.at ?? p.at);
    const mark = markAt(film, stop);
    const broken = asking() || moment > 0 ? "" : (r?.broken ?? "");
    const here = [p.row ? `T${p.row}` : say("start"), when].filter(Boolean); // a run that is not shown yet has no time
    picture.clock((r?.ms ?? 0) + passed, here.join(" · "), [...here, broken].filter(Boolean).join(", "));
    drawTransport({
      stop,
      last: stopsOf(film).length - 1,
      when: p.row ? `T${p.row}${moment ? `.${moment}` : ""} · ${when}` : when,
      running: running && owner.busy?.() ? say("running … T%s", String(film.rows.length)) : "",
      mark: mark ? markName(film, mark) : "",
      end: atEnd(state),
      playing: playing.on(),
      broken: atBroken(state) && !asking(),
      inside,
    });
  }

  // ---- what is said

  /** @param {string} note */
  const announce = (note = "") => happened({ type: "said", note });

  /** @type {import("./stage.js").Stage | null} */
  let heard = null; // the stage that was read out last

  /** A row for who hears it: when it was, why, and what has changed since that was read out last.
   *  @param {Row} r @param {boolean} told the alert says why */
  function row(r, told) {
    const stage = r.stage;
    const was = heard;
    heard = stage;
    const changed = changesOf(state.film.threads, was, stage);
    return [`T${r.step}, ${r.at}.`, told ? "" : r.why, ...changed].filter(Boolean).join(" ");
  }

  /** Says what was shown by a step that a person made.
   *  @param {string} note @param {boolean} quietly an alarm alone */
  function speak(note, quietly) {
    const { moment } = state.cursor;
    const { row: step } = stopOf(state);
    const r = rowOf(state);
    const tells = asking() && r?.mark === "violation"; // what is asked
    const alarm = moment === 0 && !tells ? (r?.alarm ?? "") : ""; // said once, by the alert
    const here = () => (moment > 0 ? r?.inside?.[moment - 1].says : tells ? `T${step}, ${r?.at}` : asking() ? r?.says : r && row(r, alarm !== ""));
    if (!quietly) {
      const said = absent(state) ? [note, `T${step}`, notHere(step)] : [note, here() || say("Before the first step.")];
      byId("status").textContent = said.filter(Boolean).join(" ");
    }
    byId("alarm").textContent = alarm;
  }

  // ---- going about

  /** @param {number} row @param {number} [moment] */
  function goToRow(row, moment) {
    playing.stop();
    happened({ type: "row", row, moment });
  }

  /** Moves the clock between a row and the next.
   *  @param {number} row @param {number} to part of the way */
  function clockTo(row, to) {
    playing.stop();
    happened({ type: "clock", row });
    flowTo(to);
  }

  /** Moves the clock on from the current row; nothing else happens
   *  until the next one. @param {number} to part of the way there */
  function flowTo(to) {
    if (!sync()) {
      return;
    }
    hurry();
    const { row } = stopOf(state);
    const gone = to > 0 && state.cursor.moment === 0 && state.film.rows[row] ? picture.flow(row, to) : null;
    flowed(gone === null ? 0 : to, gone ?? 0);
    if (gone === null) {
      picture.cursor(row || null);
    }
    drain();
  }

  /** Shows how much of the lease is left as the time goes by. */
  function drain() {
    if (!previewed(state) && rowOf(state)) {
      const stage = document.getElementById("stage");
      const scene = stage && sceneAt(stage, state.film, { row: stopOf(state).row, moment: state.cursor.moment, passed: state.passed });
      if (stage && scene) {
        drainStage(stage, scene);
      }
    }
    drawPlace();
  }

  /** Goes one step on, to the first broken rule or the end; false there. */
  function playOn() {
    sync();
    if (stops()) {
      return false;
    }
    if (upNext(state, asking()) === "coming") {
      return comes();
    }
    if (!owner.busy?.()) {
      happened({ type: "act", name: "forward" }, true);
      const alarm = state.cursor.moment === 0 && !asking() ? rowOf(state)?.alarm : "";
      if (alarm && Date.now() - alarmed > SPEAKING) {
        alarmed = Date.now();
        byId("status").textContent = alarm;
      }
    }
    return !stops();
  }

  /** Whether the first broken rule is one of the next two steps. */
  function near() {
    const { film, cursor } = state;
    return !asking() && [1, 2].some((on) => cursor.stop + on <= ways.endOf(film) && brokenAt(film, cursor.stop + on)) && !stopsOf(film).some((_, stop) => stop <= cursor.stop && brokenAt(film, stop));
  }

  /** Whether what plays stops where it is: at a broken rule, of which it tells, or at the end. */
  function stops() {
    const next = upNext(state, asking());
    if (next === "broken") {
      byId("alarm").textContent = rowOf(state)?.alarm ?? "";
    }
    return next === "broken" || next === "end";
  }

  /** Waits for the next row; where it cannot be loaded one goes there, and it stops. */
  function comes() {
    const { portions } = state.film;
    const stop = state.cursor.stop + 1;
    const next = stopsOf(state.film)[stop]?.row ?? 0;
    portions?.stand(next || stopOf(state).row);
    if (!portions?.failed(next)) {
      return true;
    }
    playing.stop();
    happened({ type: "stop", stop });
    announce();
    return false;
  }

  /** @param {string} name */
  function act(name) {
    if (name !== "play") {
      playing.stop();
    }
    inTurn(() => {
      if (name === "play" && playing.on()) {
        playing.stop();
        return;
      }
      happened({ type: "act", name: /** @type {import("./viewer-state.js").Act} */ (name) });
      if (name === "play" && owner.film()) {
        look(0);
        playing.start();
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
      if (sync()) {
        happened({ type: "stop", stop: ways.stopOf(state.film, position), follow });
      }
    },
    pause: playing.stop,
    announce,
    /** Tells of a broken rule or an expiry that came by itself. @param {Row} r */
    alarm(r) {
      if (r.alarm) {
        byId("alarm").textContent = r.alarm;
      }
    },
    /** Stands where the move to a position begins to show, which was made
     *  just now. @param {number} position @param {number} from the stop before */
    arrive(position, from) {
      const was = state;
      happened({ type: "arrived", position, from });
      if (playing.on() && stops()) {
        playing.stop();
      } else if (!playing.on() && state.wanted === was.wanted) {
        announce();
      }
    },
    /** The position that is stood at, or whose move goes on there. */
    at: () => here().position,
    /** The first position that is not told from it. */
    from: () => here().from,
    row: () => here().row,
    toRow: goToRow,
    playing: playing.on,
    /**
     * So much time has gone by since the last row, in which nothing happened.
     * @param {number} ms
     * @param {ReturnType<typeof import("./lanes.js").growing> | null} lanes in which it goes on, or null to leave them
     */
    waited(ms, lanes) {
      sync();
      if (state.cursor.stop !== ways.endOf(state.film) || state.cursor.moment !== 0) {
        return;
      }
      const goes = lanes?.goes();
      const along = goes && picture.inSight();
      flowed(state.part, ms);
      drain();
      if (!lanes || !goes) {
        return;
      }
      let place = lanes.goOn(box, ms);
      if (place === null) {
        picture.draw(lanes.html(ms, picture.room()));
        place = lanes.goOn(box, ms);
      }
      if (place !== null) {
        picture.stand(place, Boolean(along));
      }
    },
    room: picture.room,
    /** Other lanes, as the server drew them. @param {string} html */
    lanes: drawLanes,
    /** The film's rows are other ones now, though its list is the same. */
    changed() {
      rows.changed();
      marked.changed();
      around.changed();
    },
  };
}
