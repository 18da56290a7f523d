// Steps through a scenario: holds every branch that the server has sent, so
// that going back asks nobody, and brings them along after a lost connection.
import { keepBranches, keptBranches } from "./branches.js";
import { connect } from "./connection.js";
import { byId, elements, make } from "./dom.js";
import { keys, keysOf } from "./keys.js";
import { LONGEST, LinkError, pack, unpack } from "./link.js";
import { stageTheme } from "./settings.js";
import { share } from "./share.js";
import { viewer } from "./viewer.js";
import { say } from "./words.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Position} Position
 * @typedef {import("./film.js").Option} Option
 * @typedef {import("./film.js").Pointless} Pointless
 *
 * @typedef {object} Mover who is to move
 * @property {string} thread
 * @property {boolean} [background] its watchdog instead
 * @property {boolean} [network] or a late copy of what it sent
 * @property {number} [node] or, of several that it asks at once in the background, this one
 *
 * @typedef {object} Own what a branch has beside its film
 * @property {number} id
 * @property {number} parent -1: none
 * @property {number} fork after so many moves
 * @property {number} number what it is called by
 * @property {string} name
 * @property {string} lanes HTML
 *
 * @typedef {Film & Own} Branch
 */

const MOST_QUEUED = 3;
const LINK = /^v\d+\./; // other fragments are places on the page

/** The address' fragment, also where some program has escaped it. */
function fragmentOf() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

/** @param {HTMLElement} stage the section of the page */
export function play(stage) {
  /** @type {Map<number, Branch>} */
  let branches = new Map();
  let current = 0; // branch
  /** @type {any} */
  let scenario = null; // compact, without a schedule
  let title = "";
  /** @type {string[]} */
  let threads = [];
  let lease = 0; // ms
  /** @type {Pointless[]} */
  let never = []; // faults that cannot strike anywhere in it

  /** @type {{link?: string, scenario?: string, branches?: object[]} | null} */
  let opening = null; // what to open when the connection is there
  /** @type {number | undefined} */
  let linked; // the position that the address names
  /** @type {{index: number, at: number} | null} */
  let restoring = null; // where to stand once it is open again
  /** @type {number[]} */
  let numbers = []; // what its branches are called by then; the server counts anew
  /** @type {Map<number, Branch> | null} */
  let fresh = null; // branches that are being opened
  let lastCommand = 0;
  /** @type {{id: number, then?: () => void} | null} */
  let waiting = null; // the command under way
  let beside = 0; // the last command that nothing waits for: lanes are drawn
  /** @type {(() => void)[]} */
  let queue = []; // what was asked for meanwhile
  /** @type {number | null} */
  let touched = null; // the branch that the last command has changed
  let written = ""; // the fragment that this page has set
  let lost = false;

  const problem = byId("problem");
  const branch = () => /** @type {Branch} */ (branches.get(current));
  const tip = () => branch().positions.length - 1;
  const movesOf = (/** @type {Branch} */ b) => b.positions.slice(1).map((p) => p.move);
  const nameOf = (/** @type {number} */ number) => (number === 0 ? say("main") : say("branch %d", number));
  const numbersNow = () => [...branches.values()].map((b) => b.number);
  const indexOfCurrent = () => [...branches.keys()].indexOf(current);

  /** All branches as the socket takes them. */
  const carried = () =>
    [...branches.values()].map((b, i, all) => {
      const parent = all.findIndex((o) => o.id === b.parent);
      return { id: i, parent, fork: parent < 0 ? 0 : b.fork, moves: movesOf(b) };
    });

  const view = viewer({
    film: () => (fresh ? null : (branches.get(current) ?? null)),
    inTurn,
    busy: () => waiting !== null,
    lanes: () => branch().lanes,
    lanesAt(row) {
      if (!fresh) {
        beside = ++lastCommand;
        line.send({ id: beside, do: "lanes", branch: current, row });
      }
    },
    more: () => command({ do: "step", branch: current }, () => view.arrive(Math.min(view.at() + 1, tip()))),
    runTo: (to, then) => command({ do: "run", branch: current, to }, then),
    shown,
  });

  // ---- what the page says

  /** @param {string} text */
  function complain(text) {
    if (problem.textContent !== text) {
      problem.textContent = text; // an alert is read out each time it is set
    }
    problem.hidden = text === "";
  }

  // ---- commands

  const handlers = {
    path: () => /** @type {string} */ (stage.dataset.socket),
    opened() {
      const frame = opening ?? {
        scenario: JSON.stringify(scenario),
        branches: carried(),
      };
      if (!opening) {
        restoring = { index: indexOfCurrent(), at: view.at() };
        numbers = numbersNow();
      }
      waiting = null;
      command({ do: "open", ...frame }, finishOpening);
    },
    /** @param {any} frame */
    received(frame) {
      if (frame.re === beside && (frame.refused || frame.done)) {
        view.show(); // refused where the branch is gone
        return;
      }
      if (frame.refused) {
        refuse(frame.refused);
      }
      take(frame);
      if (frame.done && waiting?.id === frame.re) {
        const then = waiting?.then ?? (() => view.show());
        waiting = null;
        clearTimeout(coming);
        coming = 0;
        then();
      } else {
        soon();
      }
      if (waiting === null) {
        queue.shift()?.();
      }
    },
    /** @param {string} why */
    broken(why) {
      this.changed(true, why);
      complain(why);
    },
    /** @param {boolean} is
     *  @param {string} [why] */
    changed(is, why) {
      stage.classList.toggle("lost", is);
      if (is) {
        view.pause();
        waiting = null;
        queue = [];
      }
      if (is || lost) {
        const text = why
          ? say("%s This page asks again by itself, within a minute; a click asks at once.", why)
          : say("The connection is lost; trying again. What you see stays.");
        complain(is ? text : "");
      }
      lost = is;
    },
  };
  /** @type {ReturnType<typeof connect>} */
  let line;

  let coming = 0;
  /** Shows what the frames of a command have brought that takes its time: of
   *  most, the last one comes right after the first, and shows it all. */
  function soon() {
    coming ||= window.setTimeout(() => {
      coming = 0;
      view.show();
    }, 50);
  }

  /** @param {string} sentence */
  function refuse(sentence) {
    complain(sentence);
    waiting = null;
    queue = [];
    fresh = null;
    restoring = null;
    numbers = [];
    view.pause();
    if (scenario) {
      opening = null; // what is open stays
    } else if (opening?.branches) {
      opening = { scenario: opening.scenario }; // the one that the address has
      command({ do: "open", ...opening }, finishOpening);
    } else if (opening?.link !== stage.dataset.open) {
      opening = { link: stage.dataset.open }; // what was asked for cannot be shown
      command({ do: "open", ...opening }, finishOpening);
    }
  }

  /**
   * Does what was asked for once what is under way is done, seeing what came
   * of that: no click is lost, and a key that is held does not run ahead.
   * @param {() => void} what
   */
  function inTurn(what) {
    if (!lost) {
      complain("");
    }
    if (waiting === null) {
      what();
    } else if (queue.length < MOST_QUEUED) {
      queue.push(what);
    }
  }

  /**
   * @param {object} frame
   * @param {() => void} [then]
   */
  function command(frame, then) {
    const id = ++lastCommand;
    waiting = { id, then };
    if (!line.send({ id, ...frame })) {
      waiting = null;
    }
  }

  /**
   * Acts where one stands; in the past that makes a branch.
   * @param {object} frame
   * @param {string} [note] what was done, to be read out
   * @param {() => void} [then]
   */
  function act(frame, note, then) {
    const from = view.at();
    touched = null;
    view.pause();
    command({ branch: current, at: from, ...frame }, () => {
      if (touched === null || touched === current) {
        view.go(from + 1); // also where it was done here before
      } else {
        current = touched;
        view.go(tip());
        note = [note, say("A branch from here; the other one stays.")].filter(Boolean).join(" ");
      }
      view.announce(note);
      then?.();
    });
  }

  /** @param {any} frame */
  function take(frame) {
    if (frame.opened) {
      fresh = new Map();
      scenario = frame.opened.scenario;
      threads = frame.opened.threads;
      lease = frame.opened.leaseMillis;
      never = frame.opened.never ?? [];
      describe(frame.opened);
      restoring ??= { index: 0, at: linked ?? frame.opened.at };
    }
    if (frame.branch) {
      merge(fresh ?? branches, frame);
      touched = frame.branch.id;
    }
    if (frame.lanes !== undefined) {
      const b = (fresh ?? branches).get(frame.lanesOf);
      if (b) {
        b.lanes = frame.lanes;
      }
    }
    if (frame.dropped !== undefined) {
      const at = view.at();
      branches.delete(frame.dropped);
      byId("compared").hidden = true;
      if (current === frame.dropped) {
        current = [...branches.keys()].at(-1) ?? 0;
        view.go(at);
      }
    }
    if (frame.compared) {
      const section = byId("compared");
      section.innerHTML = frame.compared;
      section.hidden = false;
      byId("close-compared").onclick = () => {
        section.hidden = true;
        (byId("compare") ?? stage.querySelector("[data-dialog=locks]")).focus();
      };
    }
  }

  /**
   * @param {Map<number, Branch>} into
   * @param {any} frame
   */
  function merge(into, frame) {
    const { id, parent, fork } = frame.branch;
    let b = into.get(id);
    if (!b) {
      b = { id, parent, fork, number: id, name: nameOf(id), lanes: "", threads, lease, positions: [], rows: [] };
      const from = into.get(parent);
      if (from && frame.from > 0) {
        b.positions = from.positions.slice(0, frame.from);
        b.rows = from.rows.slice(0, b.positions[b.positions.length - 1].row).map((row) => ({ ...row, made: undefined }));
      }
      into.set(id, b);
    }
    b.positions.length = Math.min(b.positions.length, frame.from);
    b.positions.push(...(frame.positions ?? []));
    for (const row of frame.rows ?? []) {
      b.rows[row.step - 1] = row;
    }
    view.changed(frame.from);
  }

  function finishOpening() {
    if (!fresh || !restoring) {
      return;
    }
    numbers.forEach((number, i) => {
      const again = fresh?.get(i);
      if (again) {
        Object.assign(again, { number, name: nameOf(number) });
      }
    });
    numbers = [];
    branches = fresh;
    fresh = null;
    opening = null;
    const ids = [...branches.keys()];
    current = ids[Math.max(restoring.index, 0)] ?? ids[0];
    const at = restoring.at;
    restoring = null;
    byId("compared").hidden = true;
    view.go(at);
    const query = new URLSearchParams(location.search);
    if (query.get("autoplay") === "1") {
      query.delete("autoplay"); // once, not each time the page is loaded
      history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
      view.act("play");
    }
  }

  // ---- acting

  /**
   * @param {Mover} who
   */
  function step(who) {
    const thread = who.thread;
    const all = (branch().positions[view.at()].options ?? []).filter((o) => same(o, who));
    const option = all.find((o) => o.can);
    if (!view.whole()) {
      complain(unfinished());
      return;
    }
    if (!option) {
      const why = all.map((o) => o.why || o.does).filter(Boolean).join(say(", "));
      if (who.network && why) {
        complain(say("%s's late copy cannot arrive now: %s.", thread, why));
        return;
      }
      complain(why ? say("%s cannot move now: %s.", thread, why) : say("%s cannot move now: it has nothing to do.", thread));
      return;
    }
    const next = branch().positions[view.at() + 1];
    if (next && option.choice >= 0 && next.move === option.choice) {
      view.go(view.at() + 1); // that is what was done here
      view.announce();
      return;
    }
    const before = view.row();
    act({ do: "step", thread, background: Boolean(who.background), network: Boolean(who.network), node: who.node ?? 0 }, "", () => {
      const again = branch().positions[view.at()].options?.some((o) => o.can && same(o, who));
      if (view.row() === before && again) {
        step(who); // nothing of it shows: it has asked a node that is down
      }
    });
  }

  /**
   * @param {Mover} a
   * @param {Mover} b
   */
  const same = (a, b) =>
    a.thread === b.thread && Boolean(a.background) === Boolean(b.background) && Boolean(a.network) === Boolean(b.network) && (a.node ?? 0) === (b.node ?? 0);

  const unfinished = () => say("This decision is not over: step on to T%s, then act.", String(branch().positions[view.at()].row));

  /** Why no fault can strike where one stands, or "". */
  function closed() {
    if (!view.whole()) {
      return unfinished();
    }
    return branch().positions[view.at()].over ? say("The run has ended here. Step back to act.") : "";
  }

  /**
   * Why a fault would change nothing where one stands, or "".
   * @param {Record<string, any>} fault
   */
  function whyNot(fault) {
    const found = [...never, ...(branch().positions[view.at()].pointless ?? [])].find(
      (p) =>
        (!p.do || p.do.includes(fault.do)) &&
        (!p.thread || p.thread === fault.thread) &&
        (!p.at || p.at.includes(fault.at)) &&
        (!p.for || p.for === fault.for) &&
        (!p.keep || fault.keep === true),
    );
    return closed() || (found?.why ?? "");
  }

  /** @param {Record<string, any>} fault
   *  @param {string} note */
  function strike(fault, note) {
    inTurn(() => {
      const why = whyNot(fault);
      if (why) {
        complain(why);
      } else {
        act({ do: "strike", fault }, note);
      }
    });
  }

  // ---- drawing

  /** @param {any} o */
  function describe(o) {
    title = o.title || say("Your scenario");
    byId("title").textContent = title;
    if (byId("shows").textContent && opening?.link !== stage.dataset.open) {
      byId("shows").textContent = ""; // it was about another one
    }
    document.title = `${title} · Relock`;
    byId("head").innerHTML = o.head;
    byId("timeline").style.setProperty("--threads", String(threads.length));
    byId("rail").innerHTML = o.rail;
    byId("lua").innerHTML = o.lua;
    byId("inspected").textContent = o.key;
    byId("fault-thread").replaceChildren(...threads.map((name) => make("option", {}, name)));
  }

  function shown() {
    const b = branch();
    const p = b.positions[view.at()];
    drawOptions(p);
    byId("empty").hidden = b.rows.length > 0;
    const event = byId("to-event");
    event.setAttribute("aria-disabled", String(!p.next));
    event.textContent = p.next ? say("To the next event, at %s", p.next) : say("To the next event");
    event.title = p.next ? "" : say("Nothing happens any more by itself.");
    const expiry = byId("to-expiry");
    expiry.setAttribute("aria-disabled", String(!p.expiry));
    expiry.textContent = p.expiry ? say("To the expiry, at %s", p.expiry) : say("To the expiry: no key runs out");
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (stage.querySelectorAll("#by button, #outcome button"))) {
      withReason(button, p.over ? closed() : "");
    }
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (stage.querySelectorAll(".fault"))) {
      withReason(button, whyNot(JSON.parse(button.dataset.strike ?? "{}")));
    }
    withReason(/** @type {HTMLButtonElement} */ (stage.querySelector("[data-dialog=strike]")), closed());
    if (/** @type {HTMLDialogElement} */ (byId("strike")).open) {
      drawFault();
    }
    const row = b.rows[p.row - 1];
    for (const now of /** @type {NodeListOf<HTMLElement>} */ (stage.querySelectorAll("[data-belief]"))) {
      const thread = threads.indexOf(now.dataset.belief ?? "");
      const levels = row?.belief[thread] ?? 0;
      now.textContent = row?.leaving?.includes(thread) ? say("leaving") : levels > 0 ? say("inside, level %d", levels) : "";
    }
    drawBranches();
    writeAddress();
  }

  /**
   * Greys a button, which keeps the focus, or makes it what it was.
   * @param {HTMLButtonElement} button
   * @param {string} why it can do nothing here, or ""
   */
  function withReason(button, why) {
    button.setAttribute("aria-disabled", String(why !== ""));
    button.dataset.title ??= button.title;
    button.title = why || button.dataset.title;
  }

  /** @param {Position} p */
  function drawOptions(p) {
    const unfinished = view.whole() ? "" : say("this decision goes on to T%s", String(p.row));
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.option;
    const list = byId("choices");
    list.replaceChildren();
    for (const cell of stage.querySelectorAll("[data-next], [data-coming]")) {
      cell.replaceChildren();
    }
    for (const option of p.options ?? []) {
      if (option.background && !option.does) {
        continue;
      }
      const name = CSS.escape(option.thread);
      list.append(optionIn(option, "li", unfinished));
      const coming = stage.querySelector(`[data-coming="${name}"]`);
      if (option.node) {
        if (!coming?.querySelector(".nodes-asked")) {
          coming?.append(make("div", { class: "nodes-asked" }));
        }
        coming?.querySelector(".nodes-asked")?.append(optionIn(option, "div", unfinished));
      } else if (option.background || option.network) {
        coming?.append(optionIn(option, "div", unfinished));
      } else {
        stage.querySelector(`[data-next="${name}"]`)?.append(optionIn(option, "div", unfinished));
        coming?.prepend(make("p", { class: "does" }, unfinished || wordsOf(option)));
      }
    }
    const first = /** @type {HTMLElement | null} */ (list.querySelector('.step[aria-disabled="false"]')?.parentElement);
    if (first && first.getBoundingClientRect().right > list.getBoundingClientRect().right) {
      list.scrollLeft = first.offsetLeft - list.offsetLeft; // where all do not fit beside each other
    }
    if (focused) {
      const again = /** @type {HTMLElement[]} */ ([...stage.querySelectorAll("[data-option]")]).find((b) => b.dataset.option === focused);
      again?.focus({ preventScroll: true });
    }
  }

  /** @param {Option} option */
  const wordsOf = (option) => [option.does, option.why, option.armed].filter(Boolean).join(" · ");

  /**
   * @param {Option} option
   * @param {string} tag "li" in the list of all
   * @param {string} unfinished why nobody can act here, or ""
   */
  function optionIn(option, tag, unfinished) {
    const label = option.network
      ? say("Deliver %s's late copy", option.thread)
      : option.node
        ? say("Step %s at node %d", option.thread, option.node)
        : option.background
          ? say("Step %s's watchdog", option.thread)
          : say("Step %s", option.thread);
    const short = option.node && tag !== "li" ? say("node %d", option.node) : ""; // five of them stand beside each other
    const button = make("button", { type: "button", class: option.background || option.network ? "step small" : "step" }, short || label);
    button.dataset.option = [tag, option.thread, option.background ?? false, option.network ?? false, ...(option.node ? [option.node] : [])].join(" ");
    const text = unfinished || [option.why, option.does, option.armed].filter(Boolean).join(" · ");
    // Whatever cannot be done now keeps the focus, and says why.
    button.setAttribute("aria-disabled", String(!option.can || unfinished !== ""));
    button.setAttribute("aria-label", `${label}: ${text}`);
    button.title = text;
    button.onclick = () => inTurn(() => step(option));
    const entry = make(tag, { class: "option" }, button, ...(short ? [] : [make("span", { class: "does" }, text)]));
    entry.classList.add(`t${threads.indexOf(option.thread) % 8}`);
    return entry;
  }

  /** To the branch that one stands on, or where there is no other to the transport. */
  function focusBranch() {
    view.show();
    /** @type {HTMLElement | null} */ (stage.querySelector('#branches:not([hidden]) [aria-pressed="true"], #transport [tabindex="0"]'))?.focus();
  }

  function drawBranches() {
    const box = byId("branches");
    const focused = document.activeElement?.id;
    const others = [...branches.values()].filter((b) => b.id !== current);
    /** @type {HTMLElement[]} */
    const buttons = [...branches.values()].map((b) => {
      const row = b.positions[Math.min(b.fork, b.positions.length - 1)].row;
      const label = b.parent >= 0 ? say("%s from T%d", b.name, String(row)) : b.name;
      const button = make("button", { type: "button", id: `branch-${b.id}`, "aria-pressed": String(b.id === current) }, label);
      button.onclick = () => onto(b.id);
      return button;
    });
    if (others.length > 0) {
      const compare = make("button", { type: "button", id: "compare" }, others.length > 1 ? say("Compare with") : say("Compare with %s", others[0].name));
      const select = /** @type {HTMLSelectElement} */ (
        make("select", { id: "compare-with", "aria-label": say("Branch to compare with") }, ...others.map((b) => make("option", { value: String(b.id) }, b.name)))
      );
      select.hidden = others.length === 1;
      compare.onclick = () => compareWith(Number(select.value));
      const drop = make("button", { type: "button", id: "drop", class: "quiet" }, say("Drop %s", branch().name));
      drop.onclick = () => inTurn(() => command({ do: "drop", branch: current }, focusBranch));
      buttons.push(make("span", { class: "row" }, compare, select), drop);
    }
    box.hidden = others.length === 0; // one alone is not chosen
    box.replaceChildren(...buttons);
    if (focused) {
      byId(focused)?.focus({ preventScroll: true });
    }
  }

  /** @param {number} id */
  function onto(id) {
    view.pause();
    const at = view.at();
    current = id;
    view.go(at);
    view.announce(branch().name);
  }

  function toCompared() {
    byId("compared").focus({ preventScroll: true });
    byId("compared").scrollIntoView(); // its start: it can be higher than the window
  }

  /** @param {number} id */
  function compareWith(id) {
    const other = /** @type {Branch} */ (branches.get(id));
    inTurn(() => command({ do: "compare", branch: current, with: id, names: [branch().name, other.name] }, toCompared));
  }

  // ---- links

  const whole = () => ({ ...scenario, schedule: movesOf(branch()) });
  const packed = () => pack(whole(), view.at());
  const dialog = share({ packed, scenario: whole, title: () => title, step: () => view.row() });

  let writing = 0;
  function writeAddress() {
    clearTimeout(writing);
    writing = window.setTimeout(async () => {
      const text = await packed();
      written = text.length <= LONGEST ? `#${text}` : "";
      history.replaceState(null, "", location.pathname + location.search + written);
      /** @type {HTMLAnchorElement} */ (byId("edit")).hash = text;
      if (!fresh) {
        keepBranches({ link: written && text, branches: carried(), numbers: numbersNow(), index: indexOfCurrent() });
      }
    }, 120);
  }

  async function readAddress() {
    opening = { link: stage.dataset.open };
    linked = undefined;
    const fragment = fragmentOf();
    if (LINK.test(fragment)) {
      try {
        const state = await unpack(fragment);
        opening = { scenario: JSON.stringify(state.scenario) };
        linked = state.at;
        const kept = keptBranches(fragment);
        if (kept) {
          opening.branches = kept.branches;
          restoring = { index: kept.index, at: state.at };
          numbers = kept.numbers;
        }
      } catch (error) {
        if (!(error instanceof LinkError)) {
          throw error;
        }
        complain(say("%s Here is another scenario, at its start.", error.message));
      }
    }
  }

  // ---- wiring

  // By the mouse a choice opens at once; the arrows only choose, and Enter opens.
  const example = /** @type {HTMLSelectElement} */ (byId("example"));
  let choosing = false;
  const opens = () => {
    if (example.value) {
      location.href = example.value;
    }
  };
  example.addEventListener("keydown", (event) => {
    choosing = event.key !== "Enter";
    if (event.key === "Enter" && example.value) {
      event.preventDefault();
      opens();
    }
  });
  example.addEventListener("pointerdown", () => {
    choosing = false;
  });
  example.addEventListener("change", () => {
    if (choosing) {
      byId("status").textContent = say("Enter opens it.");
    } else {
      opens();
    }
  });
  // What is in the rail comes anew with each scenario.
  byId("rail").addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("button"));
    if (button?.getAttribute("aria-disabled") === "true") {
      complain(button.title || (button.textContent ?? ""));
    } else if (button?.dataset.strike) {
      strike(JSON.parse(button.dataset.strike), button.querySelector(".hidden")?.textContent?.slice(2) ?? "");
    } else if (button?.dataset.time) {
      inTurn(() => act({ do: "time", to: button.dataset.time }));
    } else if (button?.dataset.dialog === "strike") {
      drawFault();
      /** @type {HTMLDialogElement} */ (byId("strike")).showModal();
    }
  });
  byId("rail").addEventListener("submit", (event) => {
    event.preventDefault();
    if (/** @type {HTMLElement} */ (event.target).id === "by") {
      const by = /** @type {HTMLInputElement} */ (byId("by-length")).value.trim();
      inTurn(() => act({ do: "time", to: "by", by }));
    } else {
      const thread = /** @type {HTMLSelectElement} */ (byId("outcome-thread")).value;
      inTurn(() => toOutcome(thread));
    }
  });

  /** @param {string} thread */
  function toOutcome(thread) {
    const none = say("%s asks for nothing from here to the end.", thread);
    const wanted = (/** @type {Position} */ p) => p.outcomes?.includes(thread) ?? false;
    const found = branch().positions.findIndex((p, i) => i > view.at() && wanted(p));
    if (found >= 0) {
      view.go(found);
      view.announce();
    } else if (branch().positions[tip()].over) {
      view.go(tip());
      view.announce(none);
    } else {
      command({ do: "run", branch: current, to: "outcome", thread }, () => {
        view.go(tip());
        view.announce(wanted(branch().positions[tip()]) ? "" : none);
      });
    }
  }

  stage.querySelector("[data-dialog=locks]")?.addEventListener("click", () => {
    const own = scenario?.lock?.protocol ?? "reentrant";
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (stage.querySelectorAll("#locks-form [name=lock]"))) {
      box.checked ||= box.value === own;
    }
    /** @type {HTMLDialogElement} */ (byId("locks")).showModal();
  });
  byId("locks-form").addEventListener("submit", (event) => {
    if (/** @type {HTMLButtonElement} */ (/** @type {SubmitEvent} */ (event).submitter)?.value === "compare") {
      const boxes = /** @type {HTMLInputElement[]} */ ([...stage.querySelectorAll("#locks-form [name=lock]:checked")]);
      inTurn(() => command({ do: "locks", branch: current, protocols: boxes.map((box) => box.value) }, toCompared));
    }
  });
  byId("strike-form").addEventListener("submit", (event) => {
    if (/** @type {HTMLButtonElement} */ (/** @type {SubmitEvent} */ (event).submitter)?.value === "strike") {
      if (whyNot(struck())) {
        event.preventDefault(); // the reason stands above the button
        return;
      }
      const kind = /** @type {HTMLSelectElement} */ (byId("fault-do")).selectedOptions[0];
      const who = "thread" in kind.dataset ? /** @type {HTMLSelectElement} */ (byId("fault-thread")).value : "";
      strike(struck(), [kind.textContent, who].filter(Boolean).join(": "));
    }
  });
  byId("strike-form").addEventListener("input", drawFault);

  /** The fault that the form says. */
  function struck() {
    const kind = /** @type {HTMLSelectElement} */ (byId("fault-do")).selectedOptions[0];
    const value = (/** @type {string} */ part) => /** @type {HTMLInputElement} */ (byId(`fault-${part}`)).value.trim();
    /** @type {Record<string, any>} */
    const fault = { do: kind.value };
    for (const part of ["thread", "at", "for", "by"]) {
      if (part in kind.dataset) {
        fault[part] = value(part);
      }
    }
    if ("behind" in kind.dataset) {
      fault.behind = Number(value("behind"));
    }
    if ("keep" in kind.dataset && /** @type {HTMLInputElement} */ (byId("fault-keep")).checked) {
      fault.keep = true;
    }
    return fault;
  }

  function drawFault() {
    const kind = /** @type {HTMLSelectElement} */ (byId("fault-do")).selectedOptions[0];
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (byId("strike-form").querySelectorAll("[data-part]"))) {
      part.hidden = !(/** @type {string} */ (part.dataset.part) in kind.dataset);
    }
    const why = whyNot(struck());
    byId("strike-why").textContent = why;
    byId("strike-form").querySelector("[value=strike]")?.setAttribute("aria-disabled", String(why !== ""));
  }

  keys(
    {
      ...keysOf(view),
      w: () => inTurn(() => act({ do: "time", to: "expiry" })),
      b: () => {
        const ids = [...branches.keys()];
        if (ids.length > 1) {
          onto(ids[(ids.indexOf(current) + 1) % ids.length]);
        } else {
          complain(say("There is one branch only: step back and act, and there are two."));
        }
      },
      d: () => (byId("compare") ? byId("compare").click() : complain(say("There is one branch only: step back and act, and there are two."))),
      u: () => {
        inTurn(() => {
          if (view.from() > 0) {
            act({ do: "cut", at: view.from() - 1 });
          }
        });
      },
      s: () => dialog.open(),
      f: () => stageTheme(view.show),
    },
    (digit, after) => {
      const thread = threads[digit - 1];
      if (thread && after === "x") {
        strike({ do: "pause", thread, for: "300ms" }, say("Pause %s for 300 ms", thread));
      } else if (thread) {
        inTurn(() => step({ thread }));
      }
    },
  );
  addEventListener("hashchange", async () => {
    if (location.hash !== written && LINK.test(fragmentOf())) {
      restoring = null;
      numbers = [];
      await readAddress();
      inTurn(() => command({ do: "open", ...opening }, finishOpening));
    }
  });
  readAddress().then(() => {
    line = connect(handlers);
  });
}
