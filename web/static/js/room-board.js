// The board of a room: a host's page, and the stage. All follow the room; a host
// leads it from here.
import { drawBranches, nameOf, nextOf } from "./branches.js";
import { drawComparison, locksDialog, toComparison } from "./comparison.js";
import { entered, stopOf } from "./cursor.js";
import { byId, elements, make, pace, still } from "./dom.js";
import { keys, keysOf } from "./keys.js";
import { Refused } from "./line.js";
import { drawOptions, optionOf, stepOf } from "./options.js";
import { drawBeliefs, drawRail, rail } from "./rail.js";
import { joining, people, roomSettings } from "./room-desk.js";
import { enter } from "./room-door.js";
import { begun, isFilm, standing, standingOf, taken } from "./room-film.js";
import { showGone } from "./room-gone.js";
import { questionBox, setText } from "./room-question.js";
import { faultName, here, titleOf, told } from "./room-says.js";
import { scenes } from "./room-scenes.js";
import { drawSeat } from "./room-seats.js";
import { initial, news, reduce } from "./room-state.js";
import { stageTheme, tools } from "./settings.js";
import { canAct, positionAt, reduce as reduceFilm, shown } from "./state.js";
import { PAUSE, over, pointless, strikeDialog } from "./strike.js";
import { turns } from "./turns.js";
import { viewer } from "./viewer.js";
import { say } from "./words.js";

/**
 * @typedef {import("./room-state.js").Event} Event
 * @typedef {import("./room-film.js").Standing} Standing
 * @typedef {import("./state.js").Branch} Branch
 * @typedef {import("./cursor.js").Cursor} Cursor
 * @typedef {import("./film.js").Position} Position
 * @typedef {import("./options.js").Mover} Mover
 * @typedef {import("./strike.js").Fault} Fault
 */

const MOST_QUEUED = 3;
const SOON = 50; // ms until is shown what came

/** @param {HTMLElement} section of the page */
export function board(section) {
  const leads = "leads" in section.dataset;
  const code = section.dataset.room ?? "";
  let names = /** @type {string[]} */ (JSON.parse(section.dataset.threads ?? "[]"));
  let scene = Number(section.dataset.scene); // that the page is of
  let state = initial();
  let film = begun();
  /** @type {Standing | null} */
  let ahead = null; // where this page has gone, and the room is not yet
  /** What is to be done when the run that goes on has ended. @type {(() => void) | null} */
  let ended = null;
  let compared = ""; // HTML
  let coming = 0; // timer of showing what came
  let ticking = 0; // timer of what runs out
  let came = 0; // when the room was told last
  const turn = turns(MOST_QUEUED);
  const ask = (/** @type {object} */ command) => line.ask(command);

  const branch = () => /** @type {Branch} */ (film.branches.get(film.current));
  const tip = () => branch().positions.length - 1;
  const position = () => branch().positions[positionAt(film)];

  const view = viewer({
    film: () => shown(film),
    place: { now: () => film.cursor, stand },
    inTurn,
    busy: turn.busy,
    lanes: () => branch().lanes,
    async lanesAt(row) {
      try {
        await ask({ do: "lanes", branch: film.current, row });
      } catch (error) {
        known(error); // the branch is gone
      }
      view.show();
      return "";
    },
    more: leads ? () => attempt(next) : undefined,
    runTo: leads ? (to, then) => attempt(() => runTo({ to }, then)) : undefined,
    shown: draw,
  });

  // ---- what the page says

  const problem = byId("problem");
  /** @param {string} text */
  function complain(text) {
    setText(problem, text);
    problem.hidden = text === "";
  }

  // ---- following

  /** Has the film stand where the room stands, unless this page has gone on
   *  already and the room is about to follow. */
  function follow() {
    const { room } = state;
    if (!room) {
      return;
    }
    if (ahead && same(ahead, room)) {
      ahead = null;
    }
    if (!ahead) {
      film = standing(film, room);
    }
  }

  /** Has the page be of the scenario that the film is of. */
  function dress() {
    const { session } = film;
    if (!session || session.scene === scene || session.scene === undefined) {
      return;
    }
    scene = session.scene;
    names = session.threads;
    const was = byId("title").textContent ?? "";
    byId("title").textContent = titleOf(session);
    document.title = document.title.replace(was.trim(), titleOf(session));
    byId("head").innerHTML = session.head;
    byId("timeline").className = `timeline n${Math.min(names.length, 8)}`;
    byId("timeline").style.setProperty("--threads", String(names.length));
    byId("cast").replaceChildren(...elements(session.cast ?? ""));
    byId("lua").innerHTML = session.lua;
    byId("inspected").textContent = session.key;
    if (leads) {
      byId("rail").innerHTML = session.rail;
      strikes?.among(names);
    }
  }

  /** @param {Standing} to @param {Standing} room */
  const same = (to, room) => to.branch === room.branch && to.at === room.at && to.moment === room.moment && (to.row === 0 || to.row === room.row);

  /** The viewer stands somewhere: of a host the room goes there, too.
   *  @param {Cursor} cursor */
  function stand(cursor) {
    const now = shown(film);
    if (!now || !leads) {
      return;
    }
    const [was, to] = [film.cursor, cursor].map((c) => standingOf(now, film.current, c));
    film = reduceFilm(film, { type: "stand", cursor });
    if (JSON.stringify(was) !== JSON.stringify(to)) {
      go(to);
    }
  }

  /** @param {Standing} to */
  function go(to) {
    ahead = to;
    const settle = () => {
      if (ahead === to) {
        ahead = null; // what came of it came before the answer
        follow();
        view.show();
      }
    };
    ask({ do: "go", ...to, focus: state.room?.focus ?? "" }).then(settle, (error) => {
      settle();
      refused(known(error).message);
    });
  }

  /** @param {Event} event */
  function happened(event) {
    const was = state;
    state = reduce(was, event);
    if (event.type === "joined" || state.room === was.room) {
      return;
    }
    came = Date.now();
    if (was.room && state.room?.scene !== was.room.scene) {
      ahead = null; // wherever it was, it is no more
      ended = null;
      if (leads) {
        compared = "";
        drawCompared();
      }
      view.pause();
      turn.clear();
    }
    follow();
    dress();
    drawRoom();
    view.show(); // after it: a question takes room of the table
    const own = ahead !== null;
    for (const one of news(was, state)) {
      if (one.kind === "stands") {
        if (was.room && !own && !turn.busy()) {
          view.announce(told(one, /** @type {import("./room-state.js").Room} */ (state.room)));
        }
      } else if (state.room) {
        byId("status").textContent = told(one, state.room);
      }
    }
    ranOut(); // what it says is newer
  }

  const part = leads ? "host" : "stage";
  const line = enter(code, `relock-room-${code}-${part}`,
    {
      path: () => section.dataset.socket ?? "",
      as: () => ({ part, rows: true }),
      opened() {
        film = begun(film);
      },
      joined: (answer) => happened({ type: "joined", answer }),
      frame(frame) {
        if (isFilm(frame)) {
          film = taken(film, frame);
          if (frame.branch) {
            view.changed();
          }
          coming ||= window.setTimeout(() => {
            coming = 0;
            view.show();
          }, SOON);
        }
        if (frame.room) {
          happened({ type: "frame", frame });
        }
      },
      changed(lost, why) {
        const was = state.lost;
        happened({ type: "line", lost });
        section.classList.toggle("lost", lost);
        if (lost) {
          view.pause();
          turn.clear();
        }
        if (lost || was) {
          const text = why
            ? say("%s This page asks again by itself, within a minute; a click asks at once.", why)
            : say("The connection is lost; trying again. What you see stays.");
          complain(lost ? text : "");
        }
      },
      gone(gone, why) {
        happened({ type: "gone", code: gone, why });
        complain("");
        showGone(code, gone, why, leads);
        section.classList.add("over");
      },
    },
  );

  // ---- asking

  /** Whether an error was a refusal; any other is thrown. @param {unknown} error */
  function known(error) {
    if (!(error instanceof Refused)) {
      throw error;
    }
    return error;
  }

  /** @param {() => Promise<void>} work */
  async function attempt(work) {
    try {
      await turn.during(work);
    } catch (error) {
      refused(known(error).message);
    }
  }

  /** @param {string} sentence */
  function refused(sentence) {
    complain(sentence);
    turn.clear();
    view.pause();
  }

  /** @param {() => void} act */
  function inTurn(act) {
    if (!leads) {
      return;
    }
    if (!state.lost) {
      complain("");
    }
    turn.inTurn(act);
  }

  /** Asks for something of the class. @param {object} command */
  const request = (command) => attempt(() => ask(command));

  // ---- leading

  /** Goes on, and stands where that begins to show. */
  async function next() {
    for (let shows = false; !shows && !position().over; ) {
      const [on, at] = [film.current, positionAt(film)];
      await ask({ do: "step" });
      shows = moved(on, at);
    }
  }

  /** Stands where what a move from a place has brought begins.
   *  @param {number} on branch @param {number} at
   *  @returns {boolean} false where nothing of it shows, as it has asked a node that is down */
  function moved(on, at) {
    follow();
    const now = shown(film);
    if (!now || positionAt(film) <= at) {
      return true;
    }
    const begins = stopOf(now, at + 1, true);
    if (begins !== film.cursor.stop) {
      view.arrive(at + 1);
    } else {
      stand(entered(now, film.cursor));
      view.show();
    }
    return begins !== stopOf(now, at);
  }

  /** Has the class run to something; the server goes on by itself.
   *  @param {{to: string, thread?: string}} aim @param {() => void} then */
  async function runTo(aim, then) {
    if (!branch().positions[tip()].over) {
      await ask({ do: "run", ...aim });
    }
    ended = then;
    ranOut();
  }

  /** Does what was to be done at the end of a run, if the class is there. */
  function ranOut() {
    const { room } = state;
    if (ended && room && !room.going) {
      const then = ended;
      ended = null;
      if (room.at === room.length) {
        then();
      }
    }
  }

  /** Acts where the room stands. @param {object} command @param {string} [note] */
  async function act(command, note) {
    view.pause();
    const [on, at] = [film.current, positionAt(film)];
    await ask(command);
    moved(on, at);
    view.announce([note, film.current === on ? "" : say("A branch from here; the other one stays.")].filter(Boolean).join(" "));
  }

  /** @param {Mover} who */
  async function step(who) {
    if (!canAct(film)) {
      complain(unfinished());
      return;
    }
    const { option, why } = optionOf(position(), who);
    if (!option) {
      complain(why);
      return;
    }
    const at = positionAt(film);
    const after = branch().positions[at + 1];
    if (after && option.choice >= 0 && after.move === option.choice) {
      view.go(at + 1); // that is what was done here
      view.announce();
      return;
    }
    await act(stepOf(who));
  }

  const unfinished = () => (film.cursor.moment > 0 ? say("Redis runs a script whole: step out of it (O), then act.") : say("This decision is not over: step on to T%s, then act.", String(position().row)));
  const closed = () => (canAct(film) ? over(position()) : unfinished());
  /** @param {Fault} fault */
  const whyNot = (fault) => closed() || pointless(position(), film.session?.never ?? [], fault);

  /** @param {Fault} fault @param {string} note */
  function strike(fault, note) {
    inTurn(() => {
      const why = whyNot(fault);
      if (why) {
        complain(why);
      } else {
        attempt(() => act({ do: "strike", fault }, note));
      }
    });
  }

  /** @param {string} to @param {string} [by] */
  const time = (to, by) => inTurn(() => attempt(() => act({ do: "time", to, by })));

  /** @param {string} thread */
  function toOutcome(thread) {
    const has = (/** @type {Position} */ p) => p.outcomes?.includes(thread) ?? false;
    const found = branch().positions.findIndex((p, i) => i > positionAt(film) && has(p));
    if (found >= 0) {
      view.go(found);
      view.announce();
      return;
    }
    attempt(() =>
      runTo({ to: "outcome", thread }, () => {
        view.go(tip());
        view.announce(has(branch().positions[tip()]) ? "" : say("%s asks for nothing from here to the end.", thread));
      }),
    );
  }

  /** Takes the last move back, on a branch of its own. */
  function cut() {
    const from = view.from();
    if (from > 0) {
      attempt(() => act({ do: "cut", branch: film.current, at: from - 1 }));
    }
  }

  /** Shows a comparison to the host, and to nobody else. @param {object} command */
  const compare = (command) =>
    inTurn(() =>
      attempt(async () => {
        compared = (await ask({ branch: film.current, ...command })).compared;
        drawCompared();
        toComparison();
      }),
    );

  const drawCompared = () =>
    drawComparison(section, compared, () => {
      compared = "";
      drawCompared();
    });

  /** @param {number} id */
  function onto(id) {
    const to = film.branches.get(id);
    if (to && shown(film)) {
      view.pause();
      go({ branch: id, at: Math.min(positionAt(film), to.positions.length - 1), row: 0, moment: 0 });
      film = reduceFilm(film, { type: "onto", branch: id });
      view.show();
      view.announce(nameOf(branch()));
    }
  }

  const branchActs = {
    onto,
    compare: (/** @type {number} */ id) =>
      compare({ do: "compare", with: id, names: [nameOf(branch()), nameOf(/** @type {Branch} */ (film.branches.get(id)))] }),
    drop: () => inTurn(() => request({ do: "drop", branch: film.current })),
  };

  // ---- the class

  /** Asks, or has the class vote again. */
  function toAsk() {
    const question = state.room?.question;
    if (question && !question.counts) {
      complain(say("There is a question already: reveal it, or put it away."));
    } else {
      inTurn(() => request(question ? { do: "again" } : { do: "ask", kind: "predict" }));
    }
  }
  /** @param {"reveal" | "again" | "close"} what */
  const toQuestion = (what) => (state.room?.question ? inTurn(() => request({ do: what })) : complain(say("Nothing is asked just now.")));

  const drawQuestion = questionBox(null);
  const join = joining(code);
  const desk = leads ? [people(request, () => names), roomSettings(code, request)] : [];
  const onward = leads ? scenes({ ask, asking: () => Boolean(state.room?.question && !state.room.question.counts) }) : null;

  function drawRoom() {
    const { room } = state;
    if (!room) {
      return;
    }
    setText(byId("members"), room.locked ? `${here(room)} · ${say("locked")}` : here(room));
    drawQuestion(room.question, null, false);
    drawCast();
    for (const part of desk) {
      part.draw(room);
    }
    if (leads) {
      drawActs();
    }
    for (const e of section.querySelectorAll(".attended")) {
      e.classList.remove("attended");
    }
    if (room.focus) {
      const part = document.getElementById(room.focus);
      part?.classList.add("attended");
      part?.scrollIntoView({ block: "nearest", behavior: still() ? "instant" : "smooth" });
    }
    if (leads) {
      /** @type {HTMLSelectElement} */ (byId("focus")).value = room.focus;
    }
  }

  function drawActs() {
    const question = state.room?.question;
    byId("ask").hidden = Boolean(question);
    byId("reveal").hidden = Boolean(question?.counts);
    byId("again").hidden = !question?.counts;
  }

  /** Who plays what; what runs out there is counted down. */
  function drawCast() {
    clearTimeout(ticking);
    let counting = false;
    for (const [name, thread] of Object.entries(state.room?.threads ?? {})) {
      const item = section.querySelector(`[data-cast="${CSS.escape(name)}"]`);
      const left = Math.ceil(Math.max(0, (thread.wait ?? 0) - (Date.now() - came) / 1000));
      counting ||= left > 0;
      if (item) {
        drawSeat(item, thread, left);
        if (leads) {
          drawWishes(/** @type {HTMLElement} */ (item.querySelector("[data-decide]")), name, thread);
        }
      }
    }
    if (counting) {
      ticking = window.setTimeout(drawCast, pace());
    }
  }

  /** What a table wants, to be decided now.
   *  @param {HTMLElement} box @param {string} name @param {import("./room-state.js").Thread} thread */
  function drawWishes(box, name, thread) {
    const wishes = thread.members.length > 1 ? Object.entries(thread.wishes ?? {}) : [];
    box.hidden = wishes.length === 0;
    const now = wishes.map(([what, count]) => `${what} ${count}`).join();
    if (box.dataset.of !== now) {
      box.dataset.of = now;
      box.replaceChildren(
        ...wishes.map(([what, count]) => {
          const button = make("button", { type: "button" }, say("%s (%d)", what === "step" ? say("to step") : faultName(what), count));
          button.onclick = () => inTurn(() => request({ do: "decide", thread: name, wish: what }));
          return button;
        }),
      );
    }
  }

  function draw() {
    if (!leads) {
      byId("empty").hidden = branch().rows.length > 0;
      return;
    }
    const p = position();
    drawOptions(
      section,
      p,
      canAct(film) ? "" : film.cursor.moment > 0 ? say("Redis runs a script whole: step out of it (O), then act.") : say("this decision goes on to T%s", String(p.row)),
      (name) => names.indexOf(name),
      (who) => inTurn(() => attempt(() => step(who))),
      () => undefined,
    );
    byId("empty").hidden = branch().rows.length > 0;
    drawWays();
    drawRail(section, p, closed(), whyNot);
    strikes?.shown();
    drawBeliefs(section, names, branch().rows[p.row - 1]);
    drawBranches(film.branches, film.current, branchActs);
  }

  /** Where to go on at the end: with the class. */
  function drawWays() {
    const ways = film.session?.ways ?? "";
    const box = byId("ending-ways");
    if (ways && box.dataset.of !== String(scene)) {
      box.dataset.of = String(scene);
      box.innerHTML = ways;
    }
  }

  // ---- wiring

  let resized = 0; // timer
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = window.setTimeout(view.show, SOON);
  });
  byId("timeline").style.setProperty("--threads", String(names.length));
  const strikes = leads ? strikeDialog(whyNot, strike) : null;
  if (!leads) {
    return;
  }
  strikes?.among(names);
  locksDialog(section, () => film.session?.scenario.lock?.protocol ?? "reentrant", (protocols) => compare({ do: "locks", protocols }));
  const alone = () => complain(say("There is one branch only: step back and act, and there are two."));
  rail({ complain, strike, dialog: () => strikes?.open(), time, outcome: (thread) => inTurn(() => toOutcome(thread)) });
  byId("focus").addEventListener("change", (event) => {
    const { room } = state;
    if (room) {
      const { branch: on, at, row, moment } = room;
      request({ do: "go", branch: on, at, row, moment, focus: /** @type {HTMLSelectElement} */ (event.target).value });
    }
  });
  byId("ending-ways").addEventListener("click", (event) => {
    const way = /** @type {HTMLElement} */ (event.target).closest("a")?.getAttribute("href") ?? "";
    const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (way.startsWith("/play/") && plain) {
      event.preventDefault();
      onward?.to(way.slice("/play/".length));
    } else if (way === "/scenarios" && plain) {
      event.preventDefault();
      onward?.open();
    }
  });
  byId("ask").addEventListener("click", toAsk);
  byId("reveal").addEventListener("click", () => toQuestion("reveal"));
  byId("again").addEventListener("click", () => toQuestion("again"));
  byId("close-question").addEventListener("click", () => toQuestion("close"));
  document.querySelector("[data-tools-toggle]")?.addEventListener("click", () => tools(view.show));
  keys(
    {
      ...keysOf(view),
      w: () => time("expiry"),
      b() {
        const id = nextOf(film.branches, film.current);
        if (id !== null) {
          onto(id);
        } else {
          alone();
        }
      },
      d: () => (byId("compare") ? byId("compare").click() : alone()),
      u: () => inTurn(cut),
      a: toAsk,
      r: () => toQuestion("reveal"),
      c: () => toQuestion("close"),
      s: () => onward?.open(),
      p: () => desk[0]?.open(),
      j: join.open,
      f: () => stageTheme(view.show),
      t: () => tools(view.show),
    },
    (digit, after) => {
      const thread = names[digit - 1];
      if (thread && after === "x") {
        strike({ do: "pause", thread, for: PAUSE }, say("Pause %s for 300 ms", thread));
      } else if (thread) {
        inTurn(() => attempt(() => step({ thread })));
      }
    },
  );
}
