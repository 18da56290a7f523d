// The board of a class: a host's page, and the stage. All follow the room; a host
// leads it from here.
import { board } from "./board.js";
import { initial as unopened } from "./board-state.js";
import { byId, elements, make, pace, still } from "./dom.js";
import { joining, people, roomSettings } from "./room-desk.js";
import { enter } from "./room-door.js";
import { showGone } from "./room-gone.js";
import { drawClock, questionBox, setText, sheetBox } from "./room-question.js";
import { drawLesson } from "./room-lesson.js";
import { ownQuestion } from "./room-own.js";
import { faultName, goal, here, titleOf, told } from "./room-says.js";
import { scenes } from "./room-scenes.js";
import { classScripts } from "./room-scripts.js";
import { drawSeat } from "./room-seats.js";
import { initial, lobby, news, projected, reduce } from "./room-state.js";
import { say } from "./words.js";

const SOON = 50; // ms after the last change of a window's size

/** @param {HTMLElement} section of the page */
export function klass(section) {
  const leads = "leads" in section.dataset;
  const code = section.dataset.room ?? "";
  const part = leads ? "host" : "stage";
  const projects = section.dataset.part === "stage"; // not everybody should see what is for hosts alone
  let names = /** @type {string[]} */ (JSON.parse(section.dataset.threads ?? "[]"));
  let scene = Number(section.dataset.scene); // that the page is of
  let state = initial();
  /** What is to be done when the run that goes on has ended. @type {(() => void) | null} */
  let ended = null;
  let ticking = 0; // timer of what runs out
  let came = 0; // when the room was told last
  let waits = false; // a stage shows how one joins

  byId("timeline").style.setProperty("--threads", String(names.length));
  const play = board(section, {
    state: unopened("", { leads }),
    ask: (command) => line.ask(command),
    here: () => ({}),
    run: (aim, then) =>
      play.attempt(async () => {
        await line.ask({ do: "run", ...aim });
        ended = then;
        ranOut();
      }),
    go(to) {
      const settle = () => {
        play.happened({ type: "settled", to }); // what came of it came before the answer
        play.view.show();
      };
      line.ask({ do: "go", ...to, focus: state.room?.focus ?? "" }).then(settle, (error) => {
        settle();
        play.refused(error);
      });
    },
    describe,
    drawn: drawWays,
    keys: {
      a: toAsk,
      r: () => toQuestion("reveal"),
      c: () => toQuestion("close"),
      h: () => toHold(!state.room?.held),
      s: () => onward?.open(),
      p: () => desk[0]?.open(),
      j: () => join.open(),
      g: () => toLesson("next"),
      PageDown: () => (state.room?.lesson ? toLesson("next") : view.act("forward")),
      PageUp: () => (state.room?.lesson ? toLesson("back") : view.act("back")),
    },
  });
  const { view } = play;

  // ---- following

  /** @param {import("./room-state.js").Event} event */
  function happened(event) {
    const was = state;
    state = reduce(was, event);
    const { room } = state;
    if (!room || room === was.room || event.type === "joined") {
      return;
    }
    came = Date.now();
    if (was.room && room.scene !== was.room.scene) {
      ended = null;
    }
    play.happened({ type: "told", stand: room });
    drawRoom(room);
    view.show(); // after it: a question takes room of the table
    for (const one of news(was, state)) {
      if (one.kind !== "stands") {
        setText(byId("status"), told(one, room));
      } else if (was.room && !play.state().ahead && !play.busy()) {
        view.announce(told(one, room));
      }
    }
    ranOut(); // what it says is newer
  }

  /** Has the page be of the scenario that the class is at.
   *  @param {import("./board-state.js").Session} session */
  function describe(session) {
    if (session.scene === undefined || session.scene === scene) {
      return;
    }
    scene = session.scene;
    names = session.threads;
    const was = byId("title").textContent ?? "";
    byId("title").textContent = titleOf(session);
    document.title = document.title.replace(was.trim(), titleOf(session));
    byId("timeline").className = `timeline n${Math.min(names.length, 8)}`;
    byId("cast").replaceChildren(...elements(session.cast ?? ""));
    play.dress(session);
  }

  const line = enter(code, `relock-room-${code}-${part}`, {
    path: () => section.dataset.socket ?? "",
    as: () => ({ part, rows: true }),
    opened: () => play.happened({ type: "opened" }),
    joined: (answer) => happened({ type: "joined", answer }),
    frame(frame) {
      play.frame(frame);
      if (frame.sheet) {
        sheet.take(frame.sheet);
      }
      if (frame.room) {
        happened({ type: "frame", frame });
      }
    },
    changed: play.changed,
    gone(gone, why) {
      play.complain("");
      showGone(code, gone, why, leads);
      section.classList.add("over");
    },
  });

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

  // ---- the class

  /** Asks for something of the class. @param {object} command */
  const request = (command) => play.attempt(() => line.ask(command));

  /** Asks, or has the class vote again. */
  function toAsk() {
    const question = state.room?.question;
    if (question && !question.counts) {
      play.complain(say("A question is already open: reveal it or close it."));
    } else {
      play.inTurn(() => request(question ? { do: "again" } : { do: "ask", kind: "predict" }));
    }
  }
  /** @param {"reveal" | "again" | "tell" | "close"} what */
  const toQuestion = (what) => (state.room?.question ? play.inTurn(() => request({ do: what })) : play.complain(say("No question is open right now.")));

  /** Has players keep their hands off, or lets them move. @param {boolean} on */
  function toHold(on) {
    play.inTurn(() => request({ do: "hold", on }));
  }

  /** Goes through the lesson. @param {"next" | "back" | number} to the way, or a step */
  function toLesson(to) {
    if (state.room?.lesson) {
      play.inTurn(() => request({ do: "lesson", ...(typeof to === "number" ? { at: to } : { to }) }));
    } else {
      play.complain(say("This room has no lesson."));
    }
  }

  const holds = /** @type {HTMLElement[]} */ ([...section.querySelectorAll("[data-hold]")]);
  const drawQuestion = questionBox(null);
  const sheet = sheetBox();
  const join = joining(code);
  const desk = leads ? [people(request, () => names), roomSettings(code, request)] : [];
  if (leads && !projects) {
    ownQuestion(line.ask, () => names);
  }
  const written = leads && !projects ? classScripts(code, line.ask) : null;
  const onward = leads ? scenes({ ask: line.ask, asking: () => Boolean(state.room?.question && !state.room.question.counts) }) : null;

  /** @param {import("./room-state.js").Room} room */
  function drawRoom(room) {
    const lost = leads && !projects && room.lost ? say("%d lost", room.lost) : "";
    setText(byId("members"), [here(room), lost].filter(Boolean).join(" · "));
    if (projects && waits !== lobby(room)) {
      waits = lobby(room);
      (waits ? join.open : join.close)();
    }
    byId("goal").hidden = !room.goal;
    setText(byId("goal"), goal(room));
    const question = projects ? projected(room.question) : room.question;
    drawQuestion(question, null, false);
    sheet.draw(room, question);
    if (leads) {
      setText(byId("question-doubts"), !projects && room.doubts ? say("%d say that this question is wrong", room.doubts) : "");
    }
    drawCast();
    written?.draw(room);
    for (const one of desk) {
      one.draw(room);
    }
    for (const e of section.querySelectorAll(".attended")) {
      e.classList.remove("attended");
    }
    if (room.focus) {
      const attended = document.getElementById(room.focus);
      attended?.classList.add("attended");
      attended?.scrollIntoView({ block: "nearest", behavior: still() ? "instant" : "smooth" });
    }
    if (leads) {
      for (const button of holds) {
        button.setAttribute("aria-pressed", String(button.dataset.hold === String(room.held)));
      }
      document.getElementById("lobby")?.setAttribute("aria-pressed", String(Boolean(room.lobby)));
      if (!projects) {
        drawLesson(room.lesson ?? null);
        section.classList.toggle("in-lesson", Boolean(room.lesson));
        setText(byId("remote-ask"), !room.question ? say("Ask") : room.question.counts ? say("Vote again") : say("Reveal"));
      }
      /** @type {HTMLButtonElement} */ (byId("ask")).disabled = Boolean(room.question); // what stands beside it stays
      byId("reveal").hidden = Boolean(room.question?.counts);
      byId("clock").hidden = Boolean(room.question?.counts);
      byId("again").hidden = !room.question?.counts;
      byId("tell").hidden = !room.question?.counts || (room.question.right !== null && !room.question.veiled);
      /** @type {HTMLSelectElement} */ (byId("focus")).value = room.focus;
    }
    section.classList.toggle("in-lua", room.moment > 0 || room.focus === "lua");
  }

  /** Who plays what; what runs out there is counted down. */
  function drawCast() {
    clearTimeout(ticking);
    let counting = drawClock(state.room?.question ?? null, (Date.now() - came) / 1000);
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
          button.onclick = () => play.inTurn(() => request({ do: "decide", thread: name, wish: what }));
          return button;
        }),
      );
    }
  }

  /** Where to go on at the end: with the class. */
  function drawWays() {
    const ways = play.state().session?.ways ?? "";
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
  if (!leads) {
    return;
  }
  byId("focus").addEventListener("change", (event) => {
    const { room } = state;
    if (room) {
      const { branch, at, row, moment } = room;
      request({ do: "go", branch, at, row, moment, focus: /** @type {HTMLSelectElement} */ (event.target).value });
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
  for (const button of holds) {
    button.addEventListener("click", () => toHold(button.dataset.hold === "true"));
  }
  for (const id of ["lesson-next", "remote-next"]) {
    document.getElementById(id)?.addEventListener("click", () => toLesson("next"));
  }
  document.getElementById("lesson-back")?.addEventListener("click", () => toLesson("back"));
  document.getElementById("lesson-steps")?.addEventListener("change", (event) => toLesson(Number(/** @type {HTMLSelectElement} */ (event.target).value)));
  document.getElementById("remote-time")?.addEventListener("click", () => request({ do: "time", to: "event" }));
  document.getElementById("remote-ask")?.addEventListener("click", () => {
    const question = state.room?.question;
    if (question && !question.counts) {
      toQuestion("reveal");
    } else {
      toAsk();
    }
  });
  document.getElementById("lobby")?.addEventListener("click", () => request({ do: "lobby", on: !state.room?.lobby }));
  byId("reveal").addEventListener("click", () => toQuestion("reveal"));
  byId("again").addEventListener("click", () => toQuestion("again"));
  byId("clock").addEventListener("click", () => play.inTurn(() => request({ do: "clock", seconds: 60 })));
  byId("tell").addEventListener("click", () => toQuestion("tell"));
  byId("close-question").addEventListener("click", () => toQuestion("close"));
  const beside = document.getElementById("beside"); // a stage has none
  beside?.addEventListener("click", () => {
    beside.setAttribute("aria-expanded", String(section.classList.toggle("sided")));
    byId("more").removeAttribute("open"); // it lies over what this opens
  });
}
