// The page of a room on a phone: of who plays a thread, and of who watches. It
// has little, as it may come over a slow line; the rows come once they are wanted.
import { byId, pace } from "./dom.js";
import { Refused } from "./line.js";
import { enter } from "./room-door.js";
import { showGone } from "./room-gone.js";
import { branchesOf, listBranches, standingAt } from "./room-links.js";
import { drawClock, questionBox, setText, sheetBox } from "./room-question.js";
import { classAt, goal, heldBack, here, keptSeats, playedBy, standing, titleOf, told, whyThere, wished } from "./room-says.js";
import { drawMine, grey } from "./room-seats.js";
import { canVote, covered as coveredIn, doubts, initial, mine, myVote, myWish, news, reduce, writes } from "./room-state.js";
import { say } from "./words.js";

/**
 * @typedef {import("./room-state.js").Event} Event
 * @typedef {import("./room-state.js").Room} Room
 */

/** @param {HTMLElement} section of the page */
export function phone(section) {
  const code = section.dataset.room ?? "";
  let state = initial();
  let came = 0; // when the room was told last
  let ticking = 0; // timer of what runs out
  let scene = Number(section.dataset.scene); // that the page is of
  let chosen = false; // the focus was on what another scenario has replaced
  /** @type {ReturnType<import("./room-rows.js").rows> | null} */
  let rows = null; // once they are wanted
  /** @type {ReturnType<typeof import("./room-lanes.js").pictured> | null} */
  let picture = null; // where there is room for it
  /** @type {Promise<typeof import("./stage.js")> | null} */
  let stage = null;

  /** @type {ReturnType<import("./room-write.js").writing> | null} */
  let desk = null; // once something is to be written
  let script = ""; // that the member has handed in, when they joined

  let cut = ""; // says that the line is dead, or ""

  /** @param {string} text counts for nothing while the line is dead */
  function complain(text) {
    const problem = byId("problem");
    setText(problem, cut || text);
    problem.hidden = (cut || text) === "";
  }

  /** @param {Event} event */
  function happened(event) {
    const was = state;
    state = reduce(was, event);
    if (state.room !== was.room) {
      came = Date.now();
    }
    draw();
    const { room } = state;
    if (room && room !== was.room) {
      wentOn(was);
      rows?.draw(room, follows());
      picture?.draw(room);
      const said = news(was, state).map((one) => (one.kind === "stands" ? standing(room) : told(one, room))).filter(Boolean).join(" ");
      if (said) {
        setText(byId("status"), said); // what has been read out is not read out again
      }
      if (news(was, state).some(({ kind }) => kind === "asked" || kind === "revealed" || kind === "again")) {
        byId("asked").scrollIntoView({ block: "nearest" });
      }
    }
  }

  /** Says where the class has gone, until it goes on, or who is to choose a thread has one.
   *  @param {import("./room-state.js").State} was */
  function wentOn(was) {
    const all = news(was, state);
    const opened = all.find(({ kind }) => kind === "opened");
    const note = byId("went-on");
    if (opened && state.room) {
      setText(note, told(opened, state.room));
      note.hidden = false;
      note.classList.toggle("chooses", "chooses" in opened && opened.chooses);
      note.scrollIntoView({ block: "nearest" });
      if (chosen) {
        note.focus();
        chosen = false;
      }
      if (/** @type {HTMLDetailsElement} */ (byId("take-home")).open) {
        listBranches(code, byId("branch-links"));
      }
    } else if (note.classList.contains("chooses") ? mine(state).length > 0 : all.some(({ kind }) => kind === "stands")) {
      note.hidden = true;
    }
  }

  /** Has the page be of another scenario.
   *  @param {{scene: number, title: string, threads: string, stage: string, head: string, count: number}} set */
  function dress(set) {
    scene = set.scene;
    const was = byId("title").textContent ?? "";
    byId("title").textContent = titleOf(set);
    document.title = document.title.replace(was.trim(), titleOf(set));
    chosen = byId("threads").contains(document.activeElement);
    byId("threads").innerHTML = set.threads;
    byId("watched").innerHTML = set.stage;
    byId("head").innerHTML = set.head;
    byId("timeline").className = `timeline n${Math.min(set.count, 8)}`;
  }

  /** The table is open, and one looks at it. */
  const follows = () => /** @type {HTMLDetailsElement} */ (byId("so-far")).open && byId("so-far").getBoundingClientRect().top < innerHeight / 2;

  const line = enter(code, `relock-room-${code}`, {
    device: true,
    path: () => section.dataset.socket ?? "",
    as: () => ({ part: section.dataset.part, rows: rows !== null, scene }),
    opened: () => rows?.joining(),
    joined(answer) {
      script = answer.script ?? "";
      happened({ type: "joined", answer });
    },
    frame(frame) {
      if (frame.set) {
        dress(frame.set);
      }
      if (frame.sheet) {
        sheet.take(frame.sheet);
      }
      rows?.take(frame);
      if (frame.room) {
        happened({ type: "frame", frame });
      }
    },
    changed(lost, why) {
      const was = state.lost;
      happened({ type: "line", lost });
      cut = lost ? why || say("The connection is lost; trying again.") : "";
      if (lost || was) {
        complain("");
      }
    },
    gone: (gone, why) => {
      happened({ type: "gone", code: gone, why });
      leave(gone, why);
    },
  });

  /** Asks, and says why it was refused. @param {object} command */
  async function request(command) {
    complain("");
    try {
      return await line.ask(command);
    } catch (error) {
      if (!(error instanceof Refused)) {
        throw error;
      }
      complain(error.message);
      return null;
    }
  }

  // ---- leaving

  /** @param {number} gone @param {string} why */
  function leave(gone, why) {
    cut = "";
    complain("");
    byId("inside").hidden = true;
    showGone(code, gone, why, false);
  }

  byId("leave").addEventListener("click", async () => {
    for (const thread of mine(state)) {
      await request({ do: "release", thread });
    }
    line.leave();
    leave(0, say("You have left the room."));
  });

  // ---- drawing

  const drawQuestion = questionBox((option) => vote(option));
  const sheet = sheetBox();

  /** @param {number} option */
  async function vote(option) {
    const question = state.room?.question;
    if (!question) {
      return;
    }
    const before = state.vote;
    const own = { question: question.id, round: question.round, option };
    happened({ type: "voted", vote: own }); // seen at once; the answer counts
    const counted = await request({ do: "vote", option });
    if (counted ? state.vote === null : state.vote === own) { // null: the member has joined again meanwhile
      happened({ type: "voted", vote: counted ? own : before });
    }
  }

  /** Shows where the script is written that the class is asked for. */
  async function drawDesk() {
    byId("write").hidden = !writes(state);
    if (writes(state)) {
      desk ??= (await import("./room-write.js")).writing(handIn);
      if (writes(state)) {
        desk.draw(/** @type {import("./room-state.js").Question} */ (state.room?.question), script);
      }
    }
  }

  /** @param {string} text */
  async function handIn(text) {
    const question = state.room?.question;
    const answer = await request({ do: "write", script: text });
    if (answer?.judged && question) {
      happened({ type: "voted", vote: { question: question.id, round: question.round, option: answer.judged.option } });
    }
    return answer?.judged ?? null;
  }

  function draw() {
    const { me, room, lost, gone } = state;
    section.classList.toggle("lost", lost);
    if (!me || !room || gone || room.scene !== scene) {
      return;
    }
    byId("inside").hidden = false;
    setText(byId("members"), here(room));
    byId("held").hidden = !room.held;
    setText(byId("me"), say("You are %s.", me.name));
    byId("lost").setAttribute("aria-pressed", String(Boolean(me.lost)));
    byId("goal").hidden = !room.goal;
    setText(byId("goal"), goal(room));
    drawQuestion(room.question, myVote(state), canVote(state) && !lost);
    sheet.draw(room, room.question);
    byId("doubt").setAttribute("aria-pressed", String(doubts(state)));
    drawDesk();
    const own = mine(state);
    const covered = coveredIn(room);
    byId("own").hidden = byId("take-home").hidden = covered; // on one's own the run goes on
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (section.querySelectorAll("[data-mine]"))) {
      const name = part.dataset.mine ?? "";
      part.hidden = !own.includes(name);
      if (!part.hidden) {
        drawMine(part, room.threads[name], { covered, closed: heldBack(room) || (canVote(state) ? say("First the question; then the run goes on.") : ""), held: heldBack(room), wish: myWish(state, name), lost, allowed: room.allowed });
      }
    }
    byId("claims").hidden = own.length > 0;
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (section.querySelectorAll("[data-claims]"))) {
      const name = item.dataset.claims ?? "";
      const thread = room.threads[name];
      setText(/** @type {Element} */ (item.querySelector("[data-by]")), playedBy(thread));
      const button = /** @type {HTMLButtonElement} */ (item.querySelector("button"));
      setText(button, thread.members.length > 0 ? say("Play %s, too", name) : say("Be %s", name));
      grey(button, keptSeats(room), lost);
    }
    byId("claims-kept").hidden = !room.reserved;
    setText(byId("class-at"), classAt(room));
    setText(byId("class-says"), room.says || say("You are there."));
    const why = whyThere(room);
    byId("class-why").hidden = why === "";
    stage ??= import("./stage.js");
    stage.then((of) => {
      if (state.room === room) {
        of.drawSentence(byId("class-why"), why, room.broken !== "");
        of.drawStage(byId("stage"), of.sceneOf(room.stage, room.broken));
      }
    });
    byId("watched").hidden = own.length > 0; // who plays knows what the thread knows
    const above = byId(own.length > 0 ? "threads" : "watched"); // the stage's sentence, or after one's own
    const card = byId("class-card");
    if (above.nextElementSibling !== card) {
      above.after(card);
    }
    tick();
  }

  /** What a table wants, counted down. */
  function tick() {
    clearTimeout(ticking);
    if (!state.room || state.room.scene !== scene) {
      return;
    }
    let counting = drawClock(state.room.question, (Date.now() - came) / 1000);
    for (const name of mine(state)) {
      const thread = /** @type {Room} */ (state.room).threads[name];
      const left = Math.ceil(Math.max(0, (thread.wait ?? 0) - (Date.now() - came) / 1000));
      counting ||= left > 0;
      const table = thread.members.length > 1 ? wished(thread, left) || say("%d of you play this thread: the majority decides.", thread.members.length) : "";
      setText(/** @type {Element} */ (section.querySelector(`[data-mine="${CSS.escape(name)}"] [data-wishes]`)), table);
    }
    if (counting) {
      ticking = window.setTimeout(tick, pace());
    }
  }

  // ---- acting

  section.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("button"));
    if (!button) {
      return;
    }
    const { step, dog, strike, claim, release } = button.dataset;
    if (button.getAttribute("aria-disabled") === "true") {
      complain(button.title);
    } else if (step) {
      pressed(button, { do: "step", thread: step });
    } else if (dog) {
      pressed(button, { do: "step", thread: dog, background: true });
    } else if (strike) {
      pressed(button, { do: "strike", fault: JSON.parse(strike) });
    } else if (claim) {
      request({ do: "claim", thread: claim });
    } else if (release) {
      request({ do: "release", thread: release });
    }
  });

  /** Asks once, however often one presses meanwhile.
   *  @param {HTMLElement} button @param {object} command */
  async function pressed(button, command) {
    if (button.classList.contains("under-way")) {
      return;
    }
    button.classList.add("under-way");
    await request(command);
    button.classList.remove("under-way");
  }

  byId("rename").addEventListener("click", async () => {
    const answer = await request({ do: "rename" });
    if (answer?.name) {
      happened({ type: "named", name: answer.name });
    }
  });

  // If there is room for it, the table is open beside the rest.
  const wide = matchMedia("(min-width: 56.25rem)");
  const unfold = () => {
    /** @type {HTMLDetailsElement} */ (byId("so-far")).open ||= wide.matches;
  };
  wide.addEventListener("change", unfold);

  byId("lost").addEventListener("click", async () => {
    const lost = !state.me?.lost;
    if (await request({ do: "lost", on: lost })) {
      happened({ type: "strays", lost });
    }
  });

  byId("doubt").addEventListener("click", async () => {
    const question = state.room?.question?.id ?? 0;
    const on = !doubts(state);
    if (await request({ do: "doubt", on })) {
      happened({ type: "doubts", question: on ? question : 0 });
    }
  });

  byId("so-far").addEventListener("toggle", async () => {
    if (!rows && /** @type {HTMLDetailsElement} */ (byId("so-far")).open) {
      const { rows: made } = await import("./room-rows.js");
      rows = made();
      line.again();
    }
    if (!picture && wide.matches) {
      const { pictured } = await import("./room-lanes.js");
      picture = pictured(line.ask);
      if (state.room) {
        picture.draw(state.room);
      }
    }
  });

  byId("take-home").addEventListener("toggle", () => {
    if (/** @type {HTMLDetailsElement} */ (byId("take-home")).open) {
      listBranches(code, byId("branch-links"));
    }
  });

  byId("own").addEventListener("click", async (event) => {
    event.preventDefault();
    const { room } = state;
    if (!room) {
      return;
    }
    try {
      const { link } = (await branchesOf(code)).find((b) => b.branch === room.branch) ?? { link: "" };
      const url = new URL(standingAt(link, room.at), location.href);
      url.searchParams.set("room", code);
      url.searchParams.set("scene", String(room.scene));
      location.assign(url);
    } catch {
      complain(say("The server does not answer. Please try again in a moment."));
    }
  });
  unfold();
}
