// Steps through a scenario: holds every branch that the server has sent, so
// that going back asks nobody, and brings them along after a lost connection.
import { connect } from "./connection.js";
import { LONGEST, LinkError, pack, unpack } from "./link.js";
import { element } from "./timeline.js";

/**
 * @typedef {object} Option
 * @property {string} thread
 * @property {boolean} [background]
 * @property {boolean} can
 * @property {number} choice
 * @property {string} does
 * @property {string} [why]
 * @property {string} [armed] faults that wait for their moment
 *
 * @typedef {object} Position
 * @property {any} [move] that led here
 * @property {number} row
 * @property {string} at
 * @property {Option[]} options
 * @property {string} [next]
 * @property {string} [expiry]
 * @property {boolean} [violation]
 * @property {string[]} [outcomes]
 * @property {boolean} [over]
 *
 * @typedef {object} Branch
 * @property {number} id
 * @property {number} parent
 * @property {number} fork
 * @property {string} name
 * @property {Position[]} positions
 * @property {HTMLElement[]} rows
 */

const LOST = "The connection is lost; trying again. What you see stays.";

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

const byId = (id) => document.getElementById(id);

/** @param {HTMLElement} stage the section of the page */
export function play(stage) {
  /** @type {Map<number, Branch>} */
  let branches = new Map();
  let current = 0; // branch
  let at = 0; // moves made
  let scenario = null; // compact, without a schedule
  let threads = [];

  let opening = null; // what to open when the connection is there
  let linked; // the position that the address names
  let restoring = null; // where to stand once it is open again
  let fresh = null; // branches that are being opened
  let lastCommand = 0;
  let waiting = null; // the command under way: {id, then}
  /** @type {(() => void)[]} */
  let queue = []; // what was asked for meanwhile
  let timer = 0; // of playing
  let written = ""; // the fragment that this page has set

  const body = byId("rows");
  const problem = byId("problem");

  const branch = () => branches.get(current);
  const tip = () => branch().positions.length - 1;
  const position = () => branch().positions[at];

  // ---- what the page says

  function complain(text) {
    problem.textContent = text;
    problem.hidden = text === "";
  }

  function say(text) {
    byId("status").textContent = text;
  }

  // ---- commands

  const handlers = {
    path: () => stage.dataset.socket,
    opened() {
      const frame = opening ?? {
        scenario: JSON.stringify(scenario),
        branches: [...branches.values()].map((b, i, all) => {
          const parent = all.findIndex((o) => o.id === b.parent);
          return { id: i, parent, fork: parent < 0 ? 0 : b.fork, moves: movesOf(b) };
        }),
      };
      if (!opening) {
        restoring = { index: [...branches.keys()].indexOf(current), at };
      }
      waiting = null;
      command({ do: "open", ...frame }, finishOpening);
    },
    received(frame) {
      if (frame.refused) {
        refuse(frame.refused);
      }
      take(frame);
      if (frame.done && waiting?.id === frame.re) {
        const then = waiting.then;
        waiting = null;
        then?.();
      }
      show();
      if (waiting === null) {
        queue.shift()?.();
      }
    },
    changed(lost) {
      stage.classList.toggle("lost", lost);
      if (lost) {
        pause();
        waiting = null;
        queue = [];
      }
      if (lost || problem.textContent === LOST) {
        complain(lost ? LOST : "");
      }
    },
  };
  /** @type {ReturnType<typeof connect>} */
  let line;

  function refuse(sentence) {
    complain(sentence);
    waiting = null;
    queue = [];
    fresh = null;
    restoring = null;
    pause();
    if (scenario) {
      opening = null; // what is open stays
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
    if (problem.textContent !== LOST) {
      complain("");
    }
    if (waiting === null) {
      what();
    } else if (queue.length < MOST_QUEUED) {
      queue.push(what);
    }
  }

  function command(frame, then) {
    const id = ++lastCommand;
    waiting = { id, then };
    if (!line.send({ id, ...frame })) {
      waiting = null;
    }
  }

  /** Acts on the branch where we stand, and goes where that leads. */
  function act(frame, note = "") {
    touched = null;
    const from = at;
    command({ branch: current, at, ...frame }, () => {
      if (touched === current) {
        at = Math.min(from + 1, tip()); // also where it was done here before
      } else if (touched !== null) {
        current = touched;
        at = tip();
      }
      announce(note);
    });
  }
  let touched = null; // the branch that the last command has changed

  function take(frame) {
    if (frame.opened) {
      fresh = new Map();
      scenario = frame.opened.scenario;
      threads = frame.opened.threads;
      describe(frame.opened);
      restoring ??= { index: 0, at: linked ?? frame.opened.at };
    }
    if (frame.branch) {
      merge(fresh ?? branches, frame);
      touched = frame.branch.id;
    }
    if (frame.dropped !== undefined) {
      branches.delete(frame.dropped);
      byId("compared").hidden = true;
      if (current === frame.dropped) {
        current = [...branches.keys()].at(-1);
        at = tip();
      }
    }
    if (frame.compared) {
      const section = byId("compared");
      section.innerHTML = frame.compared;
      section.hidden = false;
      section.focus();
      byId("close-compared").onclick = () => {
        section.hidden = true;
        (byId("compare") ?? stage.querySelector("[data-dialog=locks]")).focus();
      };
    }
    if (frame.trace) {
      download("relock-trace.jsonl", "application/jsonl", frame.trace);
    }
  }

  function merge(into, frame) {
    const { id, parent, fork } = frame.branch;
    let b = into.get(id);
    if (!b) {
      b = { id, parent, fork, name: id === 0 ? "main" : `branch ${id}`, positions: [], rows: [] };
      const from = into.get(parent);
      if (from && frame.from > 0) {
        b.positions = from.positions.slice(0, frame.from);
        b.rows = from.rows.slice(0, b.positions.at(-1).row).map((row) => row.cloneNode(true));
      }
      into.set(id, b);
    }
    b.positions.length = Math.min(b.positions.length, frame.from);
    b.positions.push(...(frame.positions ?? []));
    for (const row of frame.rows ?? []) {
      const tr = element(row.html);
      const count = b.positions.length;
      tr.addEventListener("click", (event) => {
        if (!event.target.closest("button, a") && getSelection().isCollapsed) {
          goToRow(row.step);
        }
      });
      b.rows[row.step - 1] = tr;
      if (frame.from > 0 && count > 1) {
        tr.classList.add("new");
      }
    }
  }

  function finishOpening() {
    if (!opening) {
      [...branches.values()].forEach((old, i) => {
        fresh.get(i).name = old.name; // the server counts anew
      });
    }
    branches = fresh;
    fresh = null;
    opening = null;
    const ids = [...branches.keys()];
    current = ids[Math.max(restoring.index, 0)] ?? ids[0];
    at = Math.min(restoring.at, tip());
    restoring = null;
    byId("compared").hidden = true;
  }

  const movesOf = (b) => b.positions.slice(1).map((p) => p.move);

  // ---- going about

  function go(to) {
    at = Math.max(0, Math.min(to, tip()));
    show();
  }

  function goToRow(row) {
    const found = branch().positions.findLastIndex((p) => p.row <= row);
    pause();
    go(found);
    announce();
  }

  function forward() {
    if (at < tip()) {
      go(at + 1);
      announce();
    } else if (!position().over) {
      command({ do: "step", branch: current }, () => {
        at = Math.min(at + 1, tip());
        announce();
      });
    }
  }

  /** @param {(p: Position) => boolean} wanted */
  function runTo(wanted, frame, none) {
    const found = branch().positions.findIndex((p, i) => i > at && wanted(p));
    if (found >= 0) {
      go(found);
      announce();
      return;
    }
    if (branch().positions[tip()].over) {
      go(tip());
      say(none);
      return;
    }
    command({ do: "run", branch: current, ...frame }, () => {
      at = tip();
      if (wanted(position())) {
        announce();
      } else {
        say(none);
      }
    });
  }

  const actions = {
    first() {
      go(0);
      announce();
    },
    back() {
      go(at - 1);
      announce();
    },
    forward,
    end: () => runTo((p) => p.over, { to: "end" }, "The run has ended."),
    violation: () => runTo((p) => p.violation, { to: "violation" }, "No rule is broken from here to the end."),
    play: () => (timer ? pause() : start()),
  };

  function start() {
    if (position().over) {
      go(0);
    }
    const tick = () => {
      if (document.hidden || position().over || (position().violation && started !== at)) {
        pause();
        return;
      }
      if (!waiting) {
        forward();
      }
      timer = setTimeout(tick, Number(byId("speed").value));
    };
    const started = at;
    timer = setTimeout(tick, 0);
    show();
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    if (branches.size > 0) {
      show();
    }
  }

  /**
   * @param {string} thread
   * @param {boolean} background its watchdog instead
   */
  function step(thread, background = false) {
    const option = position().options.find((o) => o.thread === thread && Boolean(o.background) === background && o.can);
    if (!option) {
      const all = position().options.filter((o) => o.thread === thread && Boolean(o.background) === background);
      complain(`${thread} cannot move now: ${all.map((o) => o.why || o.does).join(", ") || "it has nothing to do"}.`);
      return;
    }
    const next = branch().positions[at + 1];
    if (next && option.choice >= 0 && next.move === option.choice) {
      go(at + 1); // that is what was done here
      announce();
      return;
    }
    act({ do: "step", thread: option.thread, background: option.background ?? false });
  }

  // ---- drawing

  function describe(o) {
    byId("title").textContent = o.title || "Your scenario";
    document.title = `${o.title || "Your scenario"} · Relock`;
    byId("facts").replaceChildren(
      ...[`seed ${o.seed}`, `lease ${o.lease}`, `watchdog ${o.watchdog}`].map((text) => make("span", {}, text)),
    );
    const template = document.createElement("template");
    template.innerHTML = o.head;
    byId("head").replaceChildren(template.content);
    for (const select of stage.querySelectorAll("select[data-threads]")) {
      select.replaceChildren(...o.threads.map((name) => make("option", {}, name)));
    }
  }

  /** Shows where we stand. All of it is a function of branch and at. */
  function show() {
    const b = branch();
    if (!b || fresh) {
      return;
    }
    const p = position();
    drawRows(b, p.row);
    drawOptions(p);
    byId("empty").hidden = b.rows.length > 0;
    const scrubber = byId("scrubber");
    scrubber.max = String(tip());
    scrubber.value = String(at);
    const place = `${at} of ${tip()}${p.row ? ` · T${p.row}` : ""} · ${p.at}`;
    byId("place").textContent = place;
    scrubber.setAttribute("aria-valuetext", `move ${place}`);
    for (const button of byId("transport").querySelectorAll("[data-go]")) {
      const to = button.dataset.go;
      const over = branch().positions[tip()].over && at === tip();
      button.disabled = ((to === "first" || to === "back") && at === 0) || ((to === "forward" || to === "end" || to === "violation") && over);
      if (to === "play") {
        button.setAttribute("aria-label", timer ? "Pause" : "Play");
        button.title = timer ? "Pause" : "Play";
        button.querySelector("path").setAttribute("d", timer ? "M5 2.5v11M11 2.5v11" : "M4 2l9 6-9 6z");
      }
    }
    byId("to-event").disabled = !p.next;
    byId("to-event").textContent = p.next ? `To the next event, ${p.next}` : "To the next event";
    byId("to-expiry").disabled = !p.expiry;
    byId("to-expiry").textContent = p.expiry ? `To the expiry, ${p.expiry}` : "To the expiry: no key runs out";
    for (const button of stage.querySelectorAll("#by button, #outcome button, #strike button")) {
      button.disabled = Boolean(p.over);
      button.title = p.over ? "The run has ended here. Step back to act." : "";
    }
    drawBranches();
    writeAddress();
  }

  function drawRows(b, row) {
    const rows = b.rows;
    for (let i = 0; i < rows.length; i++) {
      if (body.children[i] !== rows[i]) {
        body.replaceChildren(...rows);
        break;
      }
    }
    while (body.children.length > rows.length) {
      body.lastElementChild.remove();
    }
    rows.forEach((tr, i) => {
      tr.classList.toggle("future", i >= row);
      if (i === row - 1) {
        tr.setAttribute("aria-current", "step");
        tr.scrollIntoView({ block: "nearest" });
      } else {
        tr.removeAttribute("aria-current");
      }
    });
    if (row === 0) {
      byId("scroll").scrollTop = 0;
    }
  }

  function drawOptions(p) {
    const focused = document.activeElement?.dataset?.option;
    const list = byId("choices");
    list.replaceChildren();
    for (const cell of stage.querySelectorAll("[data-next]")) {
      cell.replaceChildren();
    }
    // On a phone the list is what is seen: who can move comes first.
    const inOrder = [...p.options].sort((a, b) => Number(b.can) - Number(a.can));
    inOrder.forEach((option) => {
      const name = option.background ? `${option.thread}'s watchdog` : option.thread;
      for (const place of [stage.querySelector(`[data-next="${CSS.escape(option.thread)}"]`), list]) {
        if (option.background && !option.does) {
          continue;
        }
        const button = make("button", { type: "button", class: option.background ? "step small" : "step" }, `Step ${name}`);
        button.dataset.option = `${place === list}${name}`;
        button.disabled = !option.can;
        button.onclick = () => inTurn(() => step(option.thread, Boolean(option.background)));
        const text = [option.does, option.why, option.armed].filter(Boolean).join(" · ");
        if (option.can) {
          button.setAttribute("aria-label", `Step ${name}: ${text}`);
        }
        const entry = make(place === list ? "li" : "div", { class: "option" }, button, make("span", { class: "does" }, text));
        entry.classList.add(`t${threads.indexOf(option.thread) % 8}`);
        place.append(entry);
      }
    });
    if (focused) {
      const again = [...stage.querySelectorAll("[data-option]")].find((b) => b.dataset.option === focused);
      again?.focus();
    }
  }

  const nameOf = (b) => b.name;

  function drawBranches() {
    const box = byId("branches");
    const focused = document.activeElement?.id;
    const others = [...branches.values()].filter((b) => b.id !== current);
    const buttons = [...branches.values()].map((b) => {
      const row = b.positions[Math.min(b.fork, b.positions.length - 1)].row;
      const from = b.parent >= 0 ? ` from T${row}` : "";
      const button = make("button", { type: "button", id: `branch-${b.id}`, "aria-pressed": String(b.id === current) }, `${nameOf(b)}${from}`);
      button.onclick = () => {
        pause();
        current = b.id;
        at = Math.min(at, tip());
        show();
        say(`${nameOf(b)}, move ${at} of ${tip()}`);
      };
      return button;
    });
    if (others.length > 0) {
      const select = make("select", { id: "compare-with", "aria-label": "Branch to compare with" }, ...others.map((b) => make("option", { value: String(b.id) }, nameOf(b))));
      const compare = make("button", { type: "button", id: "compare" }, "Compare with");
      compare.onclick = () => inTurn(() => command({ do: "compare", branch: current, with: Number(select.value), names: [nameOf(branch()), nameOf(branches.get(Number(select.value)))] }));
      const drop = make("button", { type: "button", id: "drop", class: "quiet" }, `Drop ${nameOf(branch())}`);
      drop.onclick = () => inTurn(() => command({ do: "drop", branch: current }, () => byId(`branch-${current}`)?.focus()));
      buttons.push(compare, select, drop);
    } else {
      buttons.push(make("span", { class: "hint" }, "Step back and act: that makes a second one, and both stay."));
    }
    box.replaceChildren(...buttons);
    if (focused) {
      byId(focused)?.focus();
    }
  }

  /** Tells a screen reader what a step came to. */
  function announce(note = "") {
    const row = branch().rows[position().row - 1];
    if (!row) {
      say([note, `Move ${at} of ${tip()}, ${position().at}`].filter(Boolean).join(". "));
      return;
    }
    if (note && at > 0 && branch().positions[at - 1].row === position().row) {
      say(note); // nothing has happened yet
      return;
    }
    const words = [...row.querySelectorAll(".t, .acting .title, .acting .note, .event, .violation")].map((e) => e.textContent.trim());
    const thread = row.querySelector(".acting")?.dataset.thread;
    say([words[0], thread, ...words.slice(1)].filter(Boolean).join(". "));
  }

  // ---- links

  async function link() {
    return pack({ ...scenario, schedule: movesOf(branch()) }, at);
  }

  let writing = 0;
  function writeAddress() {
    clearTimeout(writing);
    writing = setTimeout(async () => {
      const text = await link();
      written = text.length <= LONGEST ? `#${text}` : "";
      history.replaceState(null, "", location.pathname + location.search + written);
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
      } catch (error) {
        if (!(error instanceof LinkError)) {
          throw error;
        }
        complain(`${error.message} Here is another scenario, at its start.`);
      }
    }
  }

  function openShare() {
    byId("share").showModal();
    link().then((text) => {
      byId("share-link").value = new URL(`/play#${text}`, location.href).href;
      byId("share-note").textContent =
        text.length > LONGEST
          ? `${text.length} characters: too long for many programs. Make it short: the server then keeps it.`
          : `${text.length} characters, and nothing is kept on the server.`;
    });
  }

  async function shorten() {
    const answer = await fetch("/s", { method: "POST", body: await link(), headers: { "Content-Type": "text/plain" } });
    if (!answer.ok) {
      byId("share-note").textContent = "The server could not keep it. Please try again in a moment.";
      return;
    }
    byId("share-link").value = new URL((await answer.json()).path, location.href).href;
    byId("share-note").textContent = "The server keeps it under this address.";
  }

  async function copy() {
    const input = byId("share-link");
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      byId("share-note").textContent = "Copied.";
    } catch {
      byId("share-note").textContent = "Press Ctrl+C to copy what is selected.";
    }
  }

  // ---- wiring

  for (const button of stage.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => {
      if (button.dataset.go !== "play") {
        pause();
      }
      inTurn(actions[button.dataset.go]);
    });
  }
  byId("scrubber").addEventListener("input", (event) => {
    pause();
    go(Number(event.target.value));
  });
  byId("example").addEventListener("change", (event) => {
    if (event.target.value) {
      location.href = event.target.value;
    }
  });
  for (const button of stage.querySelectorAll("[data-time]")) {
    button.addEventListener("click", () => inTurn(() => act({ do: "time", to: button.dataset.time })));
  }
  byId("by").addEventListener("submit", (event) => {
    event.preventDefault();
    inTurn(() => act({ do: "time", to: "by", by: byId("by-length").value.trim() }));
  });
  byId("outcome").addEventListener("submit", (event) => {
    event.preventDefault();
    const thread = byId("outcome-thread").value;
    inTurn(() => runTo((p) => p.outcomes?.includes(thread) ?? false, { to: "outcome", thread }, `${thread} asks for nothing from here to the end.`));
  });
  byId("strike").addEventListener("submit", (event) => {
    event.preventDefault();
    const kind = byId("fault-do").selectedOptions[0];
    const note = [kind.textContent, "thread" in kind.dataset ? byId("fault-thread").value : ""].filter(Boolean).join(": ");
    inTurn(() => act({ do: "strike", fault: struck() }, note));
  });
  byId("fault-do").addEventListener("change", drawFault);
  stage.querySelector("[data-dialog=locks]").addEventListener("click", () => {
    const own = scenario?.lock?.protocol ?? "reentrant";
    for (const box of stage.querySelectorAll("#locks-form [name=lock]")) {
      box.checked ||= box.value === own;
    }
    byId("locks").showModal();
  });
  byId("locks-form").addEventListener("submit", (event) => {
    if (event.submitter?.value === "compare") {
      const protocols = [...stage.querySelectorAll("#locks-form [name=lock]:checked")].map((box) => box.value);
      inTurn(() => command({ do: "locks", branch: current, protocols }));
    }
  });
  stage.querySelector("[data-dialog=share]").addEventListener("click", openShare);
  byId("copy").addEventListener("click", copy);
  byId("shorten").addEventListener("click", shorten);
  byId("save-trace").addEventListener("click", () => inTurn(() => command({ do: "trace", branch: current })));
  byId("save-scenario").addEventListener("click", () =>
    download("scenario.json", "application/json", `${JSON.stringify({ ...scenario, schedule: movesOf(branch()) }, null, 2)}\n`),
  );

  /** The fault that the form says. */
  function struck() {
    const kind = byId("fault-do").selectedOptions[0];
    const has = (part) => part in kind.dataset;
    const fault = { do: kind.value };
    if (has("thread")) {
      fault.thread = byId("fault-thread").value;
    }
    if (has("at")) {
      fault.at = byId("fault-at").value;
    }
    if (has("for")) {
      fault.for = byId("fault-for").value.trim();
    }
    if (has("by")) {
      fault.by = byId("fault-by").value.trim();
    }
    if (has("behind")) {
      fault.behind = Number(byId("fault-behind").value);
    }
    if (has("keep") && byId("fault-keep").checked) {
      fault.keep = true;
    }
    return fault;
  }

  function drawFault() {
    const kind = byId("fault-do").selectedOptions[0];
    for (const part of byId("strike").querySelectorAll("[data-part]")) {
      part.hidden = !(part.dataset.part in kind.dataset);
    }
  }

  const keys = {
    ArrowLeft: "back", ArrowRight: "forward", PageUp: "back", PageDown: "forward", Home: "first", End: "end", " ": "play", n: "violation",
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) {
      return;
    }
    if (event.key === " " && event.target.closest("button, a")) {
      return;
    }
    const digit = Number(event.key);
    if (digit >= 1 && digit <= threads.length) {
      inTurn(() => step(threads[digit - 1]));
      return;
    }
    const name = keys[event.key];
    if (name && branches.size > 0) {
      event.preventDefault();
      if (name !== "play") {
        pause();
      }
      inTurn(actions[name]);
    }
  });
  addEventListener("hashchange", async () => {
    if (location.hash !== written && LINK.test(fragmentOf())) {
      await readAddress();
      restoring = null;
      inTurn(() => command({ do: "open", ...opening }, finishOpening));
    }
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && timer) {
      pause();
    }
  });
  drawFault();
  readAddress().then(() => {
    line = connect(handlers);
  });
}

/** Makes an element. */
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

/** Hands a text to the person as a file. */
function download(name, type, text) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type }));
  a.download = name;
  a.click();
  URL.revokeObjectURL(a.href);
}
