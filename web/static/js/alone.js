// Steps through a scenario alone: what is open is in the address, and in the tab.
import { address, autoplay, read } from "./address.js";
import { board } from "./board.js";
import { carried, here, initial, movesOf, positionAt, shown, toOpen } from "./board-state.js";
import { byId } from "./dom.js";
import { Lost, Refused } from "./line.js";
import { LinkError, pack } from "./link.js";
import { firstSentence, setup } from "./setup.js";
import { share } from "./share.js";
import { say } from "./words.js";

/** @typedef {import("./board-state.js").Branch} Branch */

/** @param {HTMLElement} stage the section of the page */
export function alone(stage) {
  /** @type {ReturnType<typeof import("./line.js").line>} */
  let server;
  let plays = false; // what to open, by itself
  let turned = Promise.resolve(); // what the address is to say is there
  const served = byId("title")?.textContent; // of what the page was made for
  /** Whether the address asks what would mend the run. */
  const mends = () => new URLSearchParams(location.search).has("mend");
  /** The row to stand at, where that is not the last one of what is opened: of the address, or of the page. */
  const rowOf = () => Number(new URLSearchParams(location.search).get("mend")) || (state().session?.asServed ? Number(stage.dataset.row) : 0);
  const { state, view, happened, frame, dial, complain, refused, attempt, inTurn, dress, cures, breaks } = board(stage, {
    state: initial(/** @type {string} */ (stage.dataset.open)),
    ask: (command) => server.ask(command),
    here: () => ({ branch: state().current, at: positionAt(state()) }),
    run: (aim, then) =>
      attempt(async () => {
        await server.ask({ do: "run", branch: state().current, ...aim });
        then();
      }),
    describe,
    still: firstSentence,
    set: (html) => settings.fill(html),
    drawn() {
      settings.stand(positionAt(state()) === 0);
      if (state().opening === null) { // else a row of what was left
        where.write();
      }
      stage.dispatchEvent(new CustomEvent("relock:moved", { detail: { packed, schedule: moves, outlook, back } }));
    },
    keys: { s: () => sharing.open() },
    turnMending(open) {
      turned = turned.then(() => turn(open));
      return turned;
    },
    async put(hash) {
      await turned;
      plays = true;
      return where.put(hash);
    },
  });

  let ends = false; // what is opened is run to its end: the one before was
  const settings = setup({
    scenario() {
      const all = moves();
      const whole = positionAt(state()) > 0 && Boolean(state().branches.get(state().current)?.positions.at(-1)?.over);
      while (whole && all.at(-1) === 0 && state().session?.scenario.policy !== "random") {
        all.pop(); // who moves then by itself, in the changed one too
      }
      ends = whole;
      return { ...state().session?.scenario, schedule: all };
    },
    async open(scenario, said) {
      const hash = `#${await pack(scenario, ends ? 0 : positionAt(state()))}`;
      word = said;
      if (where.put(hash) === hash) {
        settings.opened(); // it is what was there
      }
    },
    complain,
  });
  let word = ""; // to be said of what is opened

  /** Has the address say whether what would mend the run is shown. @param {boolean} open */
  async function turn(open) {
    if (open && !mends()) {
      await where.turn("?mend");
    } else if (!open && history.state?.turned) {
      await new Promise((resolve) => {
        addEventListener("popstate", resolve, { once: true });
        history.back();
      });
    } else if (!open && mends()) {
      history.replaceState(null, "", location.pathname + location.hash);
    }
  }

  /** Opens what is to be open, or else what is left to be. */
  function open() {
    attempt(async () => {
      for (;;) {
        const { opening } = state();
        try {
          await server.ask(toOpen(state()));
          break;
        } catch (error) {
          if (state().opening === null || state().opening === opening) {
            stage.classList.remove("unopened");
            throw error;
          }
          refused(error);
        }
      }
      view.show();
      stage.classList.remove("unopened");
      if (autoplay() || plays) {
        view.act("play");
      }
      plays = false;
      if (ends) {
        ends = false;
        view.act("end");
      }
      complain([word, state().session?.dropped].filter(Boolean).join(" "));
      word = "";
      const row = rowOf();
      if (row > 0) {
        view.toRow(row);
      }
      if (mends() && !cures.isOpen()) {
        if (!breaks()) {
          view.act("violation");
        }
        inTurn(() => cures.show(true));
      }
    }).finally(() => settings.opened());
  }

  /** @param {import("./board-state.js").Session} session */
  function describe(session) {
    const { title, asServed, shows, ways } = session;
    if (!("inPage" in stage.dataset)) {
      byId("title").textContent = (asServed ? served : title) || say("Your scenario"); // else the page has given it one
      document.title = `${byId("title").textContent} · Relock`;
    }
    if (!asServed) {
      byId("shows").textContent = shows; // what was there was about another one
      document.getElementById("incident")?.remove();
      const on = document.getElementById("ending-ways");
      if (on) {
        on.innerHTML = ways;
      }
    }
    dress(session, asServed);
  }

  // ---- the goal of an item of the course

  /** Asks whether it can still be reached from here; the answer is an event. @param {string} item */
  const outlook = (item) =>
    server.ask({ do: "goal", branch: state().current, moves: positionAt(state()), item }).catch((error) => {
      if (!(error instanceof Refused || error instanceof Lost)) {
        throw error;
      }
    });
  /** @param {number} at a position of the branch */
  const back = (at) => {
    view.pause();
    view.go(at);
    view.announce();
  };
  /** @param {any} told by the server */
  function heard(told) {
    frame(told);
    if (told.goal && told.goal.branch === state().current && told.goal.moves === positionAt(state())) {
      stage.dispatchEvent(new CustomEvent("relock:goal", { detail: told.goal.html }));
    }
  }

  // ---- links

  const moves = () => movesOf(/** @type {Branch} */ (state().branches.get(state().current)));
  const scenario = () => ({ ...state().session?.scenario, schedule: moves() });
  const packed = () => pack(scenario(), positionAt(state()));
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
      happened({ type: "asked", opening: { link: state().start } });
      complain(say("%s Here is another scenario, at its start.", error.message));
    }
  }

  addEventListener("popstate", () => {
    if (!where.other()) { // else it is shown when what is named is there
      cures.show(mends());
    }
  });
  const where = address(
    packed,
    () => (shown(state()) ? { branches: carried(state()), numbers: here(state()).numbers, index: here(state()).index } : null),
    async () => {
      await readAddress();
      inTurn(open);
    },
  );

  readAddress().then(() => {
    server = dial(open, heard);
  });
}
