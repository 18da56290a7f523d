// The board on which a scenario is stepped, alone and in a class. It knows a state, which
// frames and acts replace; this asks the server, and shows the outcome.
import { intents, reduce, canAct, positionAt, shown } from "./board-state.js";
import { drawBranches, nameOf, nextOf } from "./branches.js";
import { drawComparison, locksDialog, toComparison } from "./comparison.js";
import { drawComing } from "./coming.js";
import { byId } from "./dom.js";
import { explorer } from "./explorer.js";
import { keys, keysOf } from "./keys.js";
import { Lost, Refused, line } from "./line.js";
import { mender } from "./mender.js";
import { drawOptions, faultsAtHand, optionOf, stepOf } from "./options.js";
import { drawRail, openSheet, rail } from "./rail.js";
import { stageTheme, tools } from "./settings.js";
import { tabs } from "./tabs.js";
import { PAUSE, over, pointless, strikeDialog } from "./strike.js";
import { turns } from "./turns.js";
import { viewer } from "./viewer.js";
import { say } from "./words.js";

/**
 * @typedef {import("./board-state.js").Branch} Branch
 * @typedef {import("./board-state.js").Event} Event
 * @typedef {import("./board-state.js").Place} Place
 * @typedef {import("./board-state.js").Session} Session
 * @typedef {import("./board-state.js").State} State
 * @typedef {import("./film.js").Position} Position
 * @typedef {import("./options.js").Mover} Mover
 * @typedef {import("./strike.js").Fault} Fault
 *
 * @typedef {object} Door what a board alone and a class's board do each in its way
 * @property {State} state to begin with
 * @property {(command: object) => Promise<any>} ask rejected with Refused or Lost
 * @property {() => object} here where an act takes place, as the keys of its command
 * @property {(aim: {to: string, thread?: string}, then: () => void) => void} run goes on to something; then it is there
 * @property {(to: Place) => void} [go] the class is to go there
 * @property {(open: boolean) => Promise<void>} [turnMending] the address is to say whether what would mend it is shown
 * @property {(hash: string) => Promise<string>} [put] opens a change of the scenario, by the fragment of its link, and says the fragment before
 * @property {(session: Session) => void} describe says what is open now
 * @property {(at: Position) => string} [still] says what nothing has happened for yet
 * @property {() => void} drawn something else is shown now
 * @property {(html: string) => void} [set] shows the settings of what is opened
 * @property {Record<string, () => void>} keys of the page
 */

const MOST_QUEUED = 3;
const SOON = 50; // ms until is shown what came of a command that goes on

/** @param {HTMLElement} stage the section of the page @param {Door} door */
export function board(stage, door) {
  let { state } = door;
  let coming = 0; // timer of showing what came
  const { leads } = state;
  const turn = turns(MOST_QUEUED);
  const { ask } = door;

  /** @param {Event} event */
  function happened(event) {
    const was = state;
    state = reduce(was, event);
    for (const one of intents(was, state)) {
      switch (one.kind) {
        case "go": door.go?.(one.to); break;
        case "describe": door.describe(one.session); break;
        case "compare": drawComparison(stage, state.compared, () => happened({ type: "closed" })); break;
        case "pause":
          view.pause();
          turn.clear();
      }
    }
  }

  const branch = () => /** @type {Branch} */ (state.branches.get(state.current));
  const tip = () => branch().positions.length - 1;
  const position = () => branch().positions[positionAt(state)];

  const view = viewer({
    film: () => shown(state),
    place: { now: () => state.cursor, stand: (cursor) => happened({ type: "looked", cursor }) },
    inTurn,
    busy: turn.busy,
    lanes: () => branch().lanes,
    async lanesAt(row) {
      if (state.fresh) {
        return undefined;
      }
      try {
        await ask({ do: "lanes", branch: state.current, row });
      } catch (error) {
        known(error); // the branch is gone, or the connection
      }
      view.show();
      return "";
    },
    more: leads
      ? () =>
          attempt(async () => {
            const [at, stop] = [positionAt(state), state.cursor.stop];
            await ask({ do: "step", ...(state.follows ? {} : { branch: state.current }) });
            if (!state.follows || positionAt(state) > at) {
              view.arrive(Math.min(at + 1, tip()), stop);
            }
          })
      : undefined,
    runTo: leads ? (to, then) => door.run({ to }, then) : undefined,
    still: door.still && (() => /** @type {NonNullable<Door["still"]>} */ (door.still)(position())),
    shown: draw,
  });

  // ---- what the page says

  const problem = byId("problem");
  /** @param {string} text */
  function complain(text) {
    if (problem.textContent !== text) {
      problem.textContent = text; // an alert is read out each time it is set
    }
    problem.hidden = text === "";
  }

  // ---- asking the server

  /** What the line brings. @param {any} frame */
  function frame(frame) {
    happened({ type: "frame", frame });
    space.frame(frame);
    cures.frame(frame);
    if (frame.branch) {
      view.changed();
    }
    if (frame.done) {
      clearTimeout(coming);
      coming = 0;
    } else if (!frame.room) {
      // Of most commands the last frame comes right after the first, and shows it all.
      coming ||= window.setTimeout(() => {
        coming = 0;
        view.show();
      }, SOON);
    }
  }

  /** The line was lost, or is there. @param {boolean} lost @param {string} [why] */
  function changed(lost, why) {
    const was = state.lost;
    happened({ type: "line", lost });
    stage.classList.toggle("lost", lost);
    if (lost || was) {
      const text = why
        ? say("%s This page asks again by itself, within a minute; a click asks at once.", why)
        : say("The connection is lost; trying again. What you see stays.");
      complain(lost ? text : "");
    }
  }

  /** Whether an error was one of asking; any other is thrown.
   *  @param {unknown} error */
  function known(error) {
    if (!(error instanceof Refused || error instanceof Lost)) {
      throw error;
    }
    return error;
  }

  /** Does what asks the server, and says why it was refused.
   *  @param {() => Promise<void>} work */
  async function attempt(work) {
    try {
      await turn.during(work);
    } catch (error) {
      refused(error);
    }
  }

  /** @param {unknown} error */
  function refused(error) {
    const why = known(error);
    if (why instanceof Refused) {
      complain(why.message);
      turn.clear();
      view.pause();
    }
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

  /**
   * Acts where you are; in the past that makes a branch.
   * @param {object} command
   * @param {string} [note] what was done, to be read out
   */
  async function act(command, note) {
    view.pause();
    const on = state.current;
    await ask({ ...door.here(), ...command });
    view.show();
    view.announce([note, state.current === on ? "" : say("A branch from here; the other one stays.")].filter(Boolean).join(" "));
  }

  // ---- acting

  /** @param {Mover} who */
  async function step(who) {
    if (!canAct(state)) {
      complain(unfinished());
      return;
    }
    const { option, why } = optionOf(position(), who);
    if (!option) {
      complain(why);
      return;
    }
    const at = positionAt(state);
    const next = branch().positions[at + 1];
    if (next && option.choice >= 0 && next.move === option.choice) {
      view.go(at + 1); // that is what was done here
      view.announce();
      return;
    }
    const before = view.row();
    await act(stepOf(who));
    if (view.row() === before && positionAt(state) > at && optionOf(position(), who).option) {
      await step(who); // nothing of it shows: it has asked a node that is down
    }
  }

  const unfinished = () => inScript() || say("This decision is not over: step on to T%s, then act.", String(position().row));
  const inScript = () => (state.cursor.moment > 0 ? say("Redis runs a script whole: step out of it (O), then act.") : "");
  /** Why nothing can be done where you are, or "". */
  const closed = () => (canAct(state) ? over(position()) : unfinished());
  /** @param {Fault} fault */
  const whyNot = (fault) => closed() || pointless(position(), state.session?.never ?? [], fault);

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
    const none = say("%s asks for no lock from here to the end.", thread);
    const wanted = (/** @type {Position} */ p) => p.outcomes?.includes(thread) ?? false;
    const found = branch().positions.findIndex((p, i) => i > positionAt(state) && wanted(p));
    if (found >= 0) {
      view.go(found);
      view.announce();
    } else if (branch().positions[tip()].over) {
      view.go(tip());
      view.announce(none);
    } else {
      door.run({ to: "outcome", thread }, () => {
        view.go(tip());
        view.announce(wanted(branch().positions[tip()]) ? "" : none);
      });
    }
  }

  /** Takes the last move back, on a branch of its own. */
  function cut() {
    const from = view.from();
    if (from > 0) {
      attempt(() => act({ do: "cut", branch: state.current, at: from - 1 }));
    }
  }

  /** @param {number} id */
  function onto(id) {
    if (shown(state)) {
      view.pause();
      happened({ type: "onto", branch: id });
      view.show();
      view.announce(nameOf(branch()));
    }
  }

  /** @param {object} command */
  const compare = (command) =>
    inTurn(() =>
      attempt(async () => {
        await ask({ branch: state.current, ...command });
        view.show();
        toComparison();
      }),
    );

  const branchActs = {
    onto,
    compare: (/** @type {number} */ id) =>
      compare({ do: "compare", with: id, names: [nameOf(branch()), nameOf(/** @type {Branch} */ (state.branches.get(id)))] }),
    drop: () =>
      inTurn(() =>
        attempt(async () => {
          await ask({ do: "drop", branch: state.current });
          view.show();
          // To the branch that you are on or, if there is no other, to the transport.
          /** @type {HTMLElement | null} */ (stage.querySelector('#branches:not([hidden]) [aria-pressed="true"], #transport [tabindex="0"]'))?.focus();
        }),
      ),
  };

  // ---- drawing

  const controls = stage.dataset.controls?.split(" "); // of an item of the course, whose faults are above the dock

  /** @param {"time" | "faults"} control */
  const may = (control) => !controls || (control === "time" && controls.includes("time"));

  function draw() {
    const b = branch();
    document.getElementById("empty")?.toggleAttribute("hidden", b.rows.length > 0); // a lab has it
    if (!leads) {
      return;
    }
    const p = position();
    const done = b.positions[positionAt(state) + 1]?.move;
    const moves = (/** @type {Mover} */ who) => inTurn(() => attempt(() => step(who)));
    drawOptions(p, {
      unfinished: canAct(state) ? null : { line: inScript() ? say("after the script (O)") : say("after T%s", String(p.row)), why: unfinished() },
      done: typeof done === "number" ? done : undefined,
      ordinal: (name) => b.threads.indexOf(name),
      step: moves,
      outlook: (choice) => space.outlook(b.id, positionAt(state), choice),
      may,
      pass: () => time("event"),
      faults: faultsAtHand(stage),
      strike: () => openSheet() || sideTabs.to("threads"),
    });
    const last = positionAt(state) === tip() && canAct(state) && !stage.closest(".asking");
    drawComing(document.getElementById("coming"), p, last ? { threads: b.threads, step: moves } : null);
    drawRail(stage, p, closed(), whyNot);
    strikes?.shown();
    drawBranches(state.branches, state.current, branchActs);
    space.shown(b.id, positionAt(state), b.positions);
    door.drawn();
  }

  let dressed = false;
  /** Puts what the server has rendered of a scenario in its places.
   *  @param {Session} session @param {boolean} [asServed] the page came with it */
  function dress({ threads, head, stage: who, rail, lua, setup }, asServed = false) {
    byId("timeline").style.setProperty("--threads", String(threads.length));
    byId("timeline").className = `timeline n${Math.min(threads.length, 8)}`;
    if (dressed || !asServed) { // what is there is not painted again
      byId("head").innerHTML = head;
      byId("lua").innerHTML = lua;
      byId("stage-box").innerHTML = who;
      if (leads) {
        byId("rail").innerHTML = rail;
        door.set?.(setup);
      }
    }
    dressed = true;
    if (leads) {
      strikes?.among(threads);
    }
  }

  // ---- wiring

  /** @type {import("./explorer.js").On} */
  const searching = {
    ask,
    attempt: (work) => inTurn(() => attempt(work)),
    standing: () => (shown(state) ? { branch: state.current, moves: positionAt(state), tip: tip(), known: [...state.branches.values()].reduce((sum, b) => sum + b.positions.length, 0) } : null),
    names: () => Object.fromEntries([...state.branches.values()].map((b) => [b.id, nameOf(b)])),
    show: () => view.show(),
    went() {
      view.pause();
      view.show();
      view.announce();
    },
    breaks: () => shown(state)?.rows.some((row) => row?.broken) ?? false,
    mend: () => cures.open(),
  };
  const sideTabs = tabs(byId("side"));
  const space = explorer(stage, searching);
  const cures = mender(stage, {
    ...searching,
    row: view.row,
    pause: view.pause,
    to(row) {
      inTurn(() => view.toRow(row));
      view.announce();
    },
    title: () => byId("title").textContent?.trim() ?? "",
    turn: door.turnMending,
    put: door.put,
  });
  const strikes = leads && document.getElementById("strike") ? strikeDialog(whyNot, strike) : null;

  function lead() {
    rail({ complain, strike, dialog: () => strikes?.open(), time, outcome: (thread) => inTurn(() => toOutcome(thread)) });
    locksDialog(stage, () => state.session?.scenario.lock?.protocol ?? "reentrant", (protocols) => compare({ do: "locks", protocols }));
    document.querySelector("[data-tools-toggle]")?.addEventListener("click", () => tools(view.show));
    const only = () => complain(say("There is only one branch: step back and act, and there are two."));
    keys(
      {
        ...keysOf(view),
        w: () => time("expiry"),
        b() {
          const next = nextOf(state.branches, state.current);
          if (next !== null) {
            onto(next);
          } else {
            only();
          }
        },
        d: () => (byId("compare") ? byId("compare").click() : only()),
        u: () => inTurn(cut),
        f: () => stageTheme(view.show),
        t: () => tools(view.show),
        ...door.keys,
      },
      (digit, after) => {
        const thread = state.session?.threads[digit - 1];
        if (thread && after === "x") {
          strike({ do: "pause", thread, for: PAUSE }, say("Pause %s for 300 ms", thread));
        } else if (thread) {
          inTurn(() => attempt(() => step({ thread })));
        }
      },
    );
  }
  if (leads) {
    lead();
  }

  /**
   * The line of a board without a class.
   * @param {() => void} open asks for what the page should show, whenever the line is
   * there
   * @param {(frame: any) => void} heard
   */
  const dial = (open, heard) =>
    line({
      path: () => /** @type {string} */ (stage.dataset.socket),
      opened() {
        happened({ type: "opened" });
        open();
      },
      sent: (id, command) => happened({ type: "sent", id, command }),
      frame: heard,
      changed,
      gone(_, why) {
        changed(true);
        complain(why);
      },
    });

  return {
    dial,
    state: () => state,
    view,
    busy: turn.busy,
    happened,
    frame,
    changed,
    complain,
    refused,
    attempt,
    inTurn,
    dress,
    cures,
    breaks: searching.breaks,
  };
}
