// A lab: a board whose threads are somebody's clients. Their commands come by themselves;
// a decision in the past makes them run a round again.
import { board } from "./board.js";
import { initial, positionAt, shown } from "./board-state.js";
import { endOf } from "./cursor.js";
import { byId, copied } from "./dom.js";
import { say } from "./words.js";

const MOST_SAID = 60; // characters of a command in a sentence

/** @param {HTMLElement} stage the section of the page */
export function lab(stage) {
  /** @type {ReturnType<typeof import("./line.js").line>} */
  let server;
  /** @type {number | null} */
  let live = null; // the branch whose round goes on, when all was sent
  const desk = board(stage, {
    state: initial(""),
    ask: (command) => server.ask(command),
    here: () => ({ branch: desk.state().current, at: positionAt(desk.state()) }),
    run: (aim, then) =>
      desk.attempt(async () => {
        await server.ask({ do: "run", branch: desk.state().current, ...aim });
        then();
      }),
    describe: (session) => desk.dress(session),
    still,
    drawn,
    keys: {},
  });
  const { state, view, happened, frame, dial, attempt, inTurn } = desk;

  /** Whose command waits, or why none does. @param {import("./film.js").Position} at */
  function still({ options = [] }) {
    const first = options.find((o) => o.can);
    if (first) {
      const command = first.does.length > MOST_SAID ? `${first.does.slice(0, MOST_SAID)} …` : first.does;
      return say("%s waits: %s. Let it through.", first.thread, command);
    }
    return say("No command waits yet: %s.", [...new Set(options.map((o) => o.why))].join(say(", ")));
  }

  /** What is on the page of the branch that is shown. */
  function drawn() {
    const of = String(state().current);
    /** @type {HTMLAnchorElement} */ (byId("lab-trace")).href = `${stage.dataset.trace}${of}`;
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (stage.querySelectorAll(".menu-list a"))) {
      link.href = link.href.replace(/branch=\d+/, `branch=${of}`);
    }
  }

  function open() {
    attempt(async () => {
      const first = state().session === null;
      await server.ask({ do: "open" });
      if (first && live !== null) {
        happened({ type: "onto", branch: live });
        view.go(last());
      }
      view.show();
    });
  }

  const last = () => (state().branches.get(state().current)?.positions.length ?? 0) - 1;

  /** What comes; who stands at the end goes along with it. @param {any} told */
  function heard(told) {
    live = told.opened ? (told.opened.live ?? null) : live;
    const of = state().current;
    const film = shown(state());
    const along = film === null || state().cursor.stop === endOf(film);
    frame(told);
    if (told.searched) {
      found(told.searched);
    }
    if (told.branch && told.branch.id === of && along && state().current === of && !view.playing()) {
      view.go(last());
    }
    if (told.renew) {
      happened({ type: "opened" });
      open();
    }
  }

  // ---- the search

  const panel = byId("lab-explorer");
  const toggle = byId("lab-explore");
  const form = /** @type {HTMLFormElement} */ (byId("lab-search"));
  const halt = /** @type {HTMLButtonElement} */ (byId("lab-halt"));

  toggle.onclick = () => {
    panel.hidden = !panel.hidden;
    toggle.setAttribute("aria-expanded", String(!panel.hidden));
    view.show();
  };

  /** @param {{going: boolean, html: string}} search */
  function found({ going, html }) {
    byId("lab-found").innerHTML = html;
    halt.disabled = !going;
    panel.setAttribute("aria-busy", String(going));
    if (panel.hidden && going) {
      toggle.click();
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = new FormData(form);
    const kinds = said.getAll("kind");
    inTurn(() => attempt(() => server.ask({ do: "search", kinds, faults: kinds.length > 0 ? Number(said.get("faults")) : 0 })));
  });
  halt.onclick = () => attempt(() => server.ask({ do: "halt" }));
  panel.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-order]"));
    if (button) {
      toggle.click(); // the stage needs the room
      make({ do: "order", rule: Number(button.dataset.order) }, say("The smallest order, run again on a new branch."), () => view.act("violation"));
    }
  });

  // ---- the round

  /** @param {object} command @param {string} note @param {() => void} [then] */
  function make(command, note, then) {
    inTurn(() =>
      attempt(async () => {
        view.pause();
        await server.ask(command);
        view.show();
        view.announce(note);
        then?.();
      }),
    );
  }

  byId("lab-again").onclick = () => make({ do: "again" }, say("Another round has begun."));
  const end = document.getElementById("lab-end");
  end?.addEventListener("click", () =>
    attempt(async () => {
      await server.ask({ do: "end" });
      location.assign("/lab");
    }),
  );
  stage.addEventListener("click", async (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-copy]"));
    if (button) {
      const text = button.dataset.copy ?? "";
      byId("status").textContent = (await copied(text)) ? say("Copied.") : text;
    }
  });

  server = dial(open, heard);
}
