// Searches every order: the panel with the bounds, the results while the search goes on,
// and the picture of the space, in which you can walk.
import { byId, focusOn } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {import("./options.js").Outlook} Outlook
 *
 * @typedef {object} Stands where a branch is in the space
 * @property {number} branch
 * @property {number} at
 * @property {number} dot -1: nowhere
 * @property {number[]} way
 * @property {number} lost after so many moves every order breaks a rule; -1: never
 * @property {Outlook[]} outlooks
 * @property {string} says HTML
 *
 * @typedef {object} Explored what the page knows of its search
 * @property {boolean} going
 * @property {boolean} ended there is a space to ask about
 * @property {Stands | null} stands
 *
 * @typedef {object} On
 * @property {(command: object) => Promise<void>} ask
 * @property {(work: () => Promise<void>) => void} attempt does work that may fail, after earlier
 * requests
 * @property {() => {branch: number, moves: number, tip: number, known: number} | null} standing null while nothing is open; tip: moves of the branch; known: of how much it is
 * @property {() => Record<number, string>} names of the branches
 * @property {() => void} show the page again
 * @property {() => void} went you stand elsewhere
 * @property {() => boolean} breaks a rule, the branch that is shown
 * @property {() => void} mend shows what would mend that
 */

/** @type {Explored} */
export const UNEXPLORED = { going: false, ended: false, stands: null };

/**
 * What the page knows after a frame.
 * @param {Explored} was
 * @param {any} frame
 * @returns {Explored}
 */
export function explored(was, frame) {
  if (frame.opened) {
    return UNEXPLORED; // of something else
  }
  if (frame.explored) {
    const { going, picture } = frame.explored;
    return { going, ended: !going && Boolean(picture), stands: null };
  }
  return frame.stands && was.ended ? { ...was, stands: frame.stands } : was;
}

/**
 * How a choice where you are turns out, if that is known.
 * @param {Explored} state
 * @param {number} branch
 * @param {number} at
 * @param {number} choice -1: nobody moves
 * @returns {Outlook | undefined}
 */
export function outlook({ stands }, branch, at, choice) {
  return stands && stands.branch === branch && stands.at === at ? stands.outlooks.find((o) => o.choice === choice) : undefined;
}

/** Where an arrow leads from a dot, or -1. @param {string} to "left up right down" @param {string} key */
export function arrow(to, key) {
  const place = ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"].indexOf(key);
  return place < 0 ? -1 : Number(to.split(" ")[place]);
}

/** On a stage without the panel, as in an item of the course, nothing is known. */
const without = { frame() {}, outlook: () => undefined, shown() {} };

/**
 * @param {HTMLElement} stage
 * @param {On} on
 * @returns {{frame: (frame: any) => void, outlook: (branch: number, at: number, choice: number) => Outlook | undefined, shown: (branch: number, at: number, positions: {row: number}[]) => void}}
 */
export function explorer(stage, on) {
  if (!byId("explorer")) {
    return without;
  }
  let state = UNEXPLORED;
  let asked = ""; // where you were when the page asked for the outlook
  let asking = false;
  const panel = byId("explorer");
  const form = /** @type {HTMLFormElement} */ (byId("explore-form"));
  const toggle = byId("explore");
  const halt = byId("halt");
  const box = byId("space");
  const found = byId("found");
  const count = byId("count");
  let left = false; // the search was stopped, as nobody looks at it
  const blank = box.innerHTML;

  /** @param {boolean} open */
  function show(open) {
    panel.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    stage.classList.toggle("exploring", open);
  }
  /** Closes it, and stops what nobody looks at. */
  function close() {
    show(false);
    if (state.going) {
      left = true;
      on.attempt(() => on.ask({ do: "halt" }));
    }
  }
  toggle.onclick = () => {
    if (!panel.hidden) {
      close();
      return;
    }
    show(true);
    /** @type {HTMLElement | null} */ (form.querySelector("input:checked"))?.focus();
    if (!state.going && (!state.ended || left)) {
      search();
    }
  };
  byId("close-explorer").onclick = () => {
    close();
    focusOn(toggle);
  };

  const bound = (/** @type {string} */ name) => /** @type {RadioNodeList} */ (form.elements.namedItem(name)).value;
  const kinds = /** @type {HTMLFieldSetElement} */ (byId("explore-kinds"));
  const boxes = () => /** @type {HTMLInputElement[]} */ ([...kinds.querySelectorAll("input")]);
  form.addEventListener("change", () => {
    kinds.disabled = bound("faults") === "0";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });

  /** Searches within the bounds of the form. */
  function search() {
    const standing = on.standing();
    const chosen = boxes().filter((b) => b.checked);
    if (!standing) {
      return;
    }
    left = false;
    on.attempt(() =>
      on.ask({
        do: "explore",
        branch: standing.branch,
        moves: standing.moves,
        from: bound("origin"),
        delays: Number(bound("delays")),
        faults: Number(bound("faults")),
        kinds: chosen.map((b) => b.value),
      }),
    );
  }
  halt.onclick = () => {
    if (state.going) {
      on.attempt(() => on.ask({ do: "halt" }));
    }
  };
  found.addEventListener("click", (event) => {
    const { example, mend } = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset ?? {};
    if (example) {
      go({ do: "example", rule: example });
    }
    if (mend) {
      on.attempt(async () => {
        if (!on.breaks()) {
          await on.ask({ do: "example", rule: mend });
          on.went();
        }
        on.mend();
      });
    }
  });

  /** @param {object} command */
  const go = (command) =>
    on.attempt(async () => {
      await on.ask(command);
      on.went();
    });

  // ---- walking

  /** @param {EventTarget | null} target */
  const dotAt = (target) => /** @type {SVGElement | null} */ (/** @type {Element} */ (target).closest("[data-dot]"));
  /** @param {number} n */
  const dot = (n) => /** @type {SVGElement | null} */ (box.querySelector(`[data-dot="${n}"]`));

  /** @param {EventTarget | null} target */
  function walk(target) {
    const to = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-state]"))?.dataset.state;
    if (to !== undefined && Number(to) >= 0) {
      go({ do: "walk", state: Number(to) });
    }
  }
  for (const part of [box, byId("outlook")]) {
    part.addEventListener("click", (event) => walk(event.target));
  }
  box.addEventListener("keydown", (event) => {
    const at = dotAt(event.target);
    if (!at || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (event.key === "Enter" || event.key === " ") {
      walk(at);
    } else if (arrow("0 0 0 0", event.key) < 0) {
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // elsewhere the keys step
    const next = dot(arrow(/** @type {string} */ (at.dataset.to), event.key));
    if (next) {
      rove(next);
      next.focus();
    }
  });

  /** The dot that Tab leads to. @param {SVGElement} to */
  function rove(to) {
    for (const d of box.querySelectorAll('[data-dot][tabindex="0"]')) {
      d.setAttribute("tabindex", "-1");
    }
    to.setAttribute("tabindex", "0");
  }

  // ---- drawing

  /** Marks the way that one has come, and where you are. */
  function mark() {
    const { stands } = state;
    const way = (stands?.way ?? []).map(dot).filter((d) => d !== null);
    box.querySelector("[data-way]")?.setAttribute("d", way.map((d, i) => `${i ? "L" : "M"}${d.dataset.x} ${d.dataset.y}`).join(""));
    const here = box.querySelector("[data-here]");
    const at = stands ? dot(stands.dot) : null;
    for (const d of box.querySelectorAll('[data-dot][aria-current="true"]')) {
      d.removeAttribute("aria-current");
    }
    if (!at) {
      here?.setAttribute("display", "none");
      return;
    }
    here?.removeAttribute("display");
    here?.setAttribute("cx", /** @type {string} */ (at.dataset.x));
    here?.setAttribute("cy", /** @type {string} */ (at.dataset.y));
    at.setAttribute("aria-current", "true");
    if (!box.contains(document.activeElement)) {
      rove(at);
    }
  }

  /** Asks what becomes of where you are, unless that is known. */
  async function look() {
    const standing = on.standing();
    const key = JSON.stringify(standing);
    if (!state.ended || !standing || key === asked || asking) {
      return;
    }
    asked = key;
    asking = true;
    try {
      await on.ask({ do: "outlook", branch: standing.branch, moves: standing.moves, names: on.names() });
    } catch {
      // the branch is gone, or the connection: nothing is known of it
    }
    asking = false;
    on.show();
  }

  return {
    /** @param {any} frame */
    frame(frame) {
      const was = state;
      state = explored(was, frame);
      if (frame.opened) {
        kinds.querySelector(".checks")?.replaceChildren();
        /** @type {HTMLElement} */ (kinds.querySelector(".checks")).innerHTML = frame.opened.kinds ?? "";
        kinds.hidden = boxes().length === 0;
        found.hidden = true;
        count.replaceChildren();
        left = false;
        box.innerHTML = blank;
        byId("outlook").innerHTML = "";
      }
      if (frame.explored) {
        found.innerHTML = frame.explored.found;
        const counted = found.querySelector(".found-count");
        count.replaceChildren(...(counted?.childNodes ?? []));
        counted?.remove();
        found.hidden = found.childElementCount === 0;
        asked = "";
        if (frame.explored.picture) {
          box.innerHTML = frame.explored.picture;
        }
        if (state.ended) {
          on.show();
        }
      }
      if (state.going !== was.going) {
        halt.setAttribute("aria-disabled", String(!state.going));
        panel.setAttribute("aria-busy", String(state.going));
      }
      if (state.stands !== was.stands) {
        byId("outlook").innerHTML = state.stands?.says ?? "";
        mark();
      }
    },
    /** @param {number} branch @param {number} at @param {number} choice */
    outlook: (branch, at, choice) => outlook(state, branch, at, choice),
    /**
     * You are somewhere, on a branch whose positions have these rows.
     * @param {number} branch
     * @param {number} at
     * @param {{row: number}[]} positions
     */
    shown(branch, at, positions) {
      for (const row of stage.querySelectorAll("#rows [data-lost]")) {
        row.removeAttribute("data-lost");
      }
      const { stands } = state;
      if (stands && stands.branch === branch && stands.lost > 0) {
        stage.querySelector(`#row-${positions[stands.lost]?.row ?? 0} .time`)?.setAttribute("data-lost", say("from here on every order breaks a rule"));
      }
      look();
    },
  };
}
