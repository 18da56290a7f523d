// Steps through a scenario. What it knows is a state, which frames and acts
// make anew; this asks the server, and shows what comes of it.
import { address, autoplay, read } from "./address.js";
import { drawBranches, nameOf, nextOf } from "./branches.js";
import { drawComparison, locksDialog, toComparison } from "./comparison.js";
import { byId } from "./dom.js";
import { explorer } from "./explorer.js";
import { gallery } from "./gallery.js";
import { keys, keysOf } from "./keys.js";
import { Lost, Refused, line } from "./line.js";
import { LinkError, pack } from "./link.js";
import { drawOptions, optionOf, stepOf } from "./options.js";
import { drawBeliefs, drawRail, rail } from "./rail.js";
import { stageTheme, tools } from "./settings.js";
import { share } from "./share.js";
import { canAct, carried, here, initial, movesOf, positionAt, reduce, shown, toOpen } from "./state.js";
import { PAUSE, over, pointless, strikeDialog } from "./strike.js";
import { turns } from "./turns.js";
import { viewer } from "./viewer.js";
import { say } from "./words.js";

/**
 * @typedef {import("./state.js").Branch} Branch
 * @typedef {import("./state.js").Event} Event
 * @typedef {import("./state.js").Session} Session
 * @typedef {import("./film.js").Position} Position
 * @typedef {import("./options.js").Mover} Mover
 * @typedef {import("./strike.js").Fault} Fault
 */

const MOST_QUEUED = 3;
const SOON = 50; // ms until is shown what came of a command that goes on

/** @param {HTMLElement} stage the section of the page */
export function play(stage) {
  let state = initial(/** @type {string} */ (stage.dataset.open));
  let coming = 0; // timer of showing what came
  const turn = turns(MOST_QUEUED);

  /** @param {Event} event */
  function happened(event) {
    const was = state;
    state = reduce(was, event);
    if (state.session && state.session !== was.session) {
      describe(state.session);
    }
    if (state.compared !== was.compared) {
      drawComparison(stage, state.compared, () => happened({ type: "closed" }));
    }
  }

  const branch = () => /** @type {Branch} */ (state.branches.get(state.current));
  const tip = () => branch().positions.length - 1;
  const position = () => branch().positions[positionAt(state)];

  const view = viewer({
    film: () => shown(state),
    place: { now: () => state.cursor, stand: (cursor) => happened({ type: "stand", cursor }) },
    inTurn,
    busy: turn.busy,
    lanes: () => branch().lanes,
    async lanesAt(row) {
      if (!state.fresh) {
        try {
          await ask({ do: "lanes", branch: state.current, row });
        } catch (error) {
          known(error); // the branch is gone, or the connection
        }
        view.show();
      }
      return "";
    },
    more: () =>
      attempt(async () => {
        await ask({ do: "step", branch: state.current });
        view.arrive(Math.min(positionAt(state) + 1, tip()));
      }),
    runTo: (to, then) =>
      attempt(async () => {
        await ask({ do: "run", branch: state.current, to });
        then();
      }),
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

  /** @type {ReturnType<typeof line>["ask"]} */
  let ask;
  /** @type {import("./line.js").On} */
  const on = {
    path: () => /** @type {string} */ (stage.dataset.socket),
    opened() {
      happened({ type: "connected" });
      open();
    },
    sent: (id, command) => happened({ type: "sent", id, command }),
    frame(frame) {
      happened({ type: "frame", frame });
      space.frame(frame);
      if (frame.branch) {
        view.changed();
      }
      if (frame.done) {
        clearTimeout(coming);
        coming = 0;
      } else {
        // Of most commands the last frame comes right after the first, and shows it all.
        coming ||= window.setTimeout(() => {
          coming = 0;
          view.show();
        }, SOON);
      }
    },
    gone(_, why) {
      on.changed(true);
      complain(why);
    },
    changed(lost, why) {
      const was = state.lost;
      happened({ type: "line", lost });
      stage.classList.toggle("lost", lost);
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
  };

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
      if (known(error) instanceof Refused) {
        refused(/** @type {Refused} */ (error).message);
      }
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
    if (!state.lost) {
      complain("");
    }
    turn.inTurn(act);
  }

  /** Opens what is to be open, or else what is left to be. */
  function open() {
    attempt(async () => {
      for (;;) {
        const { opening } = state;
        try {
          await ask(toOpen(state));
          break;
        } catch (error) {
          if (state.opening === null || state.opening === opening) {
            throw error;
          }
          refused(/** @type {Error} */ (error).message);
        }
      }
      view.show();
      if (autoplay()) {
        view.act("play");
      }
    });
  }

  /**
   * Acts where one stands; in the past that makes a branch.
   * @param {object} command
   * @param {string} [note] what was done, to be read out
   */
  async function act(command, note) {
    view.pause();
    const on = state.current;
    await ask({ branch: on, at: positionAt(state), ...command });
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
    if (view.row() === before && optionOf(position(), who).option) {
      await step(who); // nothing of it shows: it has asked a node that is down
    }
  }

  const unfinished = () => state.cursor.moment > 0 ? say("Redis runs a script whole: step out of it (O), then act.") : say("This decision is not over: step on to T%s, then act.", String(position().row));
  /** Why nothing can be done where one stands, or "". */
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
    const none = say("%s asks for nothing from here to the end.", thread);
    const wanted = (/** @type {Position} */ p) => p.outcomes?.includes(thread) ?? false;
    const found = branch().positions.findIndex((p, i) => i > positionAt(state) && wanted(p));
    if (found >= 0) {
      view.go(found);
      view.announce();
    } else if (branch().positions[tip()].over) {
      view.go(tip());
      view.announce(none);
    } else {
      attempt(async () => {
        await ask({ do: "run", branch: state.current, to: "outcome", thread });
        view.go(tip());
        view.announce(wanted(branch().positions[tip()]) ? "" : none);
      });
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
          // To the branch that one stands on, or where there is no other to the transport.
          /** @type {HTMLElement | null} */ (stage.querySelector('#branches:not([hidden]) [aria-pressed="true"], #transport [tabindex="0"]'))?.focus();
        }),
      ),
  };

  function cut() {
    const from = view.from();
    if (from > 0) {
      attempt(() => act({ do: "cut", at: from - 1 }));
    }
  }

  // ---- drawing

  /** @param {Session} session */
  function describe({ title, asServed, shows, ways, threads, head, rail, lua, key }) {
    if (!("inPage" in stage.dataset)) {
      byId("title").textContent = title || say("Your scenario"); // else the page has given it one
    }
    if (!asServed) {
      byId("shows").textContent = shows; // what was there was about another one
      const on = document.getElementById("ending-ways");
      if (on) {
        on.innerHTML = ways;
      }
    }
    if (!("inPage" in stage.dataset)) {
      document.title = `${byId("title").textContent} · Relock`;
    }
    byId("head").innerHTML = head;
    byId("timeline").style.setProperty("--threads", String(threads.length));
    byId("rail").innerHTML = rail;
    byId("lua").innerHTML = lua;
    byId("inspected").textContent = key;
    dialog.among(threads);
  }

  function draw() {
    const b = branch();
    const p = position();
    const { threads } = b;
    drawOptions(
      stage,
      p,
      canAct(state) ? "" : state.cursor.moment > 0 ? say("Redis runs a script whole: step out of it (O), then act.") : say("this decision goes on to T%s", String(p.row)),
      (name) => threads.indexOf(name),
      (who) => inTurn(() => attempt(() => step(who))),
      (choice) => space.outlook(b.id, positionAt(state), choice),
    );
    byId("empty").hidden = b.rows.length > 0;
    drawRail(stage, p, closed(), whyNot);
    dialog.shown();
    drawBeliefs(stage, threads, b.rows[p.row - 1]);
    drawBranches(state.branches, state.current, branchActs);
    space.shown(b.id, positionAt(state), b.positions);
    write();
    stage.dispatchEvent(new CustomEvent("relock:moved", { detail: { packed, schedule: () => movesOf(branch()) } }));
  }

  // ---- every order

  const space = explorer(stage, {
    ask: (command) => ask(command),
    attempt: (work) => inTurn(() => attempt(work)),
    standing: () => (shown(state) ? { branch: state.current, moves: positionAt(state), known: [...state.branches.values()].reduce((sum, b) => sum + b.positions.length, 0) } : null),
    names: () => Object.fromEntries([...state.branches.values()].map((b) => [b.id, nameOf(b)])),
    show: () => view.show(),
    went() {
      view.pause();
      view.show();
      view.announce();
    },
  });

  // ---- links

  const scenario = () => ({ ...state.session?.scenario, schedule: movesOf(branch()) });
  const packed = () => pack(scenario(), positionAt(state));
  document.getElementById("room")?.addEventListener("click", async () => {
    location.assign(`/room/new?${new URLSearchParams({ from: await packed() })}`);
  });
  const sharing = share({ packed, scenario, title: () => byId("title").textContent ?? "", step: () => view.row() });

  async function readAddress() {
    try {
      const named = await read();
      if (named) {
        const { scenario, at, kept } = named;
        const opening = { scenario, at, branches: kept?.branches };
        happened({ type: "asked", opening, standing: kept ? { index: kept.index, at, numbers: kept.numbers } : undefined });
      }
    } catch (error) {
      if (!(error instanceof LinkError)) {
        throw error;
      }
      happened({ type: "asked", opening: { link: state.start } });
      complain(say("%s Here is another scenario, at its start.", error.message));
    }
  }

  const write = address(
    packed,
    () => (state.fresh ? null : { branches: carried(state), numbers: here(state).numbers, index: here(state).index }),
    async () => {
      await readAddress();
      inTurn(open);
    },
  );

  // ---- wiring

  const dialog = strikeDialog(whyNot, strike);
  gallery();
  rail({ complain, strike, dialog: dialog.open, time, outcome: (thread) => inTurn(() => toOutcome(thread)) });
  locksDialog(stage, () => state.session?.scenario.lock?.protocol ?? "reentrant", (protocols) => compare({ do: "locks", protocols }));

  document.querySelector("[data-tools-toggle]")?.addEventListener("click", () => tools(view.show));
  const alone = () => complain(say("There is one branch only: step back and act, and there are two."));
  keys(
    {
      ...keysOf(view),
      w: () => time("expiry"),
      b: () => {
        const next = nextOf(state.branches, state.current);
        if (next !== null) {
          onto(next);
        } else {
          alone();
        }
      },
      d: () => (byId("compare") ? byId("compare").click() : alone()),
      u: () => inTurn(cut),
      s: () => sharing.open(),
      f: () => stageTheme(view.show),
      t: () => tools(view.show),
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
  readAddress().then(() => {
    ({ ask } = line(on));
  });
}
