// What the page on which a scenario is stepped knows: the branches, as far as
// the server has sent them, where one stands, and what is under way. A frame or
// an act makes another state of it; nothing here knows a page, a server, or time.
import { START, stopAt, toPosition, whole, within } from "./cursor.js";
import { grown } from "./film.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Pointless} Pointless
 * @typedef {import("./cursor.js").Cursor} Cursor
 *
 * @typedef {object} Own what a branch has beside its film
 * @property {number} id as the server counts; anew when it is opened again
 * @property {number} parent -1: none
 * @property {number} fork after so many moves
 * @property {number} number what it is called by
 * @property {string} lanes HTML
 *
 * @typedef {Film & Own} Branch
 *
 * @typedef {object} Session what is open
 * @property {any} scenario compact, without a schedule
 * @property {string} title
 * @property {string[]} threads
 * @property {number} lease in ms
 * @property {Pointless[]} never faults that cannot strike anywhere in it
 * @property {string} key
 * @property {string} head HTML
 * @property {string} rail HTML
 * @property {string} lua HTML
 * @property {string} shows what is seen in it, of one that comes with the playground
 * @property {string} ways where to go on at its end, HTML
 * @property {boolean} asServed it is what the page was made for
 * @property {number} [scene] of a room: how many scenarios its class has gone through before
 * @property {number} [first] of a room: the id from which on its branches are counted
 * @property {string} [cast] of a room: who plays what, HTML
 * @property {string} [lanes] of a branch without rows, HTML
 *
 * @typedef {object} Opening what is to be opened when the server can be reached
 * @property {string} [link] this
 * @property {string} [scenario] or this, as JSON
 * @property {Carried[]} [branches] with these branches
 * @property {number} [at] position to stand at; without it, as the link says
 *
 * @typedef {object} Carried a branch as a command has it
 * @property {number} id
 * @property {number} parent
 * @property {number} fork
 * @property {any[]} moves
 *
 * @typedef {object} Standing where to stand once it is open
 * @property {number} index of the branch
 * @property {number} at position
 * @property {number[]} numbers what the branches are called by
 *
 * @typedef {object} Fresh what is being opened
 * @property {Session} session
 * @property {ReadonlyMap<number, Branch>} branches
 * @property {number} at where the link stands
 *
 * @typedef {object} Command
 * @property {string} do
 * @property {number} [branch]
 * @property {number} [at] acts after so many moves
 *
 * @typedef {Command & {touched?: number}} Call a command under way; touched is the branch that it has changed
 *
 * @typedef {object} State
 * @property {string} start the link that is opened where nothing else can be
 * @property {Opening | null} opening null: what is open is to stay
 * @property {Standing | null} standing
 * @property {Fresh | null} fresh
 * @property {Session | null} session
 * @property {ReadonlyMap<number, Branch>} branches
 * @property {number} current the branch that is shown
 * @property {Cursor} cursor
 * @property {ReadonlyMap<number, Call>} under by the command's id
 * @property {boolean} lost there is no connection
 * @property {string} compared HTML of a comparison, "" where none is shown
 *
 * @typedef {{type: "asked", opening: Opening, standing?: Standing}
 *   | {type: "connected"}
 *   | {type: "line", lost: boolean}
 *   | {type: "sent", id: number, command: Command}
 *   | {type: "frame", frame: any}
 *   | {type: "stand", cursor: Cursor}
 *   | {type: "onto", branch: number}
 *   | {type: "closed"}} Event
 *   asked: something else is to be opened. connected: the server can be asked
 *   to open it. line: the connection was lost, or is there. stand and onto: one
 *   has gone there. closed: the comparison was.
 */

/**
 * @param {string} start
 * @returns {State}
 */
export const initial = (start) => ({
  start,
  opening: { link: start },
  standing: null,
  fresh: null,
  session: null,
  branches: new Map(),
  current: 0,
  cursor: START,
  under: new Map(),
  lost: false,
  compared: "",
});

/**
 * @param {State} state
 * @param {Event} event
 * @returns {State}
 */
export function reduce(state, event) {
  switch (event.type) {
    case "asked":
      return { ...state, opening: event.opening, standing: event.standing ?? null };
    case "connected":
      return state.opening ? state : { ...state, standing: here(state) };
    case "line":
      return event.lost ? { ...state, lost: true, fresh: null, under: new Map() } : { ...state, lost: false };
    case "sent":
      return { ...state, under: new Map(state.under).set(event.id, event.command) };
    case "frame":
      return framed(state, event.frame);
    case "stand": {
      const film = state.branches.get(state.current);
      return film ? { ...state, cursor: within(film, event.cursor) } : state;
    }
    case "onto":
      return onto(state, event.branch, positionAt(state));
    case "closed":
      return { ...state, compared: "" };
  }
}

/**
 * @param {State} state
 * @param {any} frame
 * @returns {State}
 */
function framed(state, frame) {
  const call = state.under.get(frame.re);
  if (frame.opened && call?.do === "open") {
    state = { ...state, fresh: { session: opened(state, frame.opened), branches: new Map(), at: frame.opened.at } };
  }
  const of = call?.do === "open" ? state.fresh : state;
  if (of && frame.branch) {
    state = put(state, of, merged(of.branches, of.session, frame));
    state = call ? { ...state, under: new Map(state.under).set(frame.re, { ...call, touched: frame.branch.id }) } : state;
  }
  if (frame.lanes !== undefined) {
    const now = call?.do === "open" ? state.fresh : state;
    const branch = now?.branches.get(frame.lanesOf);
    state = now && branch ? put(state, now, new Map(now.branches).set(branch.id, { ...branch, lanes: frame.lanes })) : state;
  }
  if (frame.dropped !== undefined) {
    state = dropped(state, frame.dropped);
  }
  if (frame.went) {
    state = onto(state, frame.went.branch, frame.went.at);
  }
  if (frame.compared) {
    state = { ...state, compared: frame.compared };
  }
  return frame.refused ? refused(state, frame.re) : frame.done ? done(state, frame.re) : state;
}

/**
 * The state with other branches of what is being opened, or of what is open.
 * @param {State} state
 * @param {State | Fresh} of
 * @param {ReadonlyMap<number, Branch>} branches
 * @returns {State}
 */
const put = (state, of, branches) => (of === state.fresh ? { ...state, fresh: { ...state.fresh, branches } } : { ...state, branches });

/**
 * @param {State} state
 * @param {any} o
 * @returns {Session}
 */
const opened = (state, o) => ({
  scenario: o.scenario,
  title: o.title,
  threads: o.threads,
  lease: o.leaseMillis,
  never: o.never ?? [],
  key: o.key,
  head: o.head,
  rail: o.rail,
  lua: o.lua,
  shows: o.shows ?? "",
  ways: o.ways ?? "",
  scene: o.scene ?? 0,
  first: o.first ?? 0,
  cast: o.cast ?? "",
  lanes: o.lanes ?? "",
  asServed: state.opening ? state.opening.link === state.start : (state.session?.asServed ?? false),
});

/**
 * Branches with what a frame has of one. A branch is new where it begins: at
 * the start, or where it leaves its parent.
 * @param {ReadonlyMap<number, Branch>} branches
 * @param {Session | null} session
 * @param {any} frame
 * @returns {ReadonlyMap<number, Branch>}
 */
function merged(branches, session, frame) {
  const { id, parent, fork } = frame.branch;
  let branch = branches.get(id);
  if (!branch) {
    const from = branches.get(parent);
    if (!session || (frame.from > 0 && (!from || frame.from !== fork + 1))) {
      return branches;
    }
    const { threads, lease, first = 0, lanes = "" } = session;
    const number = Math.max(id - first, ...[...branches.values()].map((b) => b.number + 1));
    const positions = from?.positions.slice(0, frame.from) ?? [];
    const rows = from && positions.length > 0 ? from.rows.slice(0, positions[positions.length - 1].row) : [];
    branch = { id, parent, fork, number, lanes: from ? "" : lanes, threads, lease, positions, rows: rows.map((row) => ({ ...row, made: undefined })) };
  }
  const now = grown(branch, frame.from, frame.positions ?? [], frame.rows ?? []);
  return now.positions.length > 0 ? new Map(branches).set(id, now) : branches;
}

/**
 * @param {State} state
 * @param {number} id
 * @returns {State}
 */
function dropped(state, id) {
  const branches = new Map(state.branches);
  branches.delete(id);
  const now = { ...state, branches, compared: "" };
  const last = [...branches.keys()].at(-1);
  return id === state.current && last !== undefined ? onto(now, last, positionAt(state)) : now;
}

/**
 * A command that is refused leaves everything as it was: of several things
 * that could be opened, the next is to be.
 * @param {State} state
 * @param {number} id
 * @returns {State}
 */
function refused(state, id) {
  const { call, rest } = without(state, id);
  if (call?.do !== "open") {
    return rest;
  }
  let opening = state.opening;
  if (state.session) {
    opening = null;
  } else if (opening?.branches) {
    opening = { scenario: opening.scenario, at: opening.at };
  } else if (opening?.link !== state.start) {
    opening = { link: state.start };
  }
  return { ...rest, opening, fresh: null, standing: null };
}

/**
 * @param {State} state
 * @param {number} id
 * @returns {State}
 */
function done(state, id) {
  const { call, rest } = without(state, id);
  if (call?.do === "open") {
    return installed(rest);
  }
  if (call?.at === undefined || call.branch === undefined) {
    return rest;
  }
  // In the past it made a branch, or it was done there before.
  return onto(rest, call.touched ?? call.branch, call.at + 1);
}

/**
 * @param {State} state
 * @param {number} id
 * @returns {{call: Call | undefined, rest: State}}
 */
function without(state, id) {
  const under = new Map(state.under);
  under.delete(id);
  return { call: state.under.get(id), rest: { ...state, under } };
}

/**
 * What was being opened is open.
 * @param {State} state
 * @returns {State}
 */
function installed(state) {
  const { fresh, standing, opening } = state;
  if (!fresh || fresh.branches.size === 0) {
    return { ...state, fresh: null };
  }
  /** @type {Map<number, Branch>} */
  const branches = new Map([...fresh.branches].map(([id, b], i) => [id, { ...b, number: standing?.numbers[i] ?? b.number }]));
  const ids = [...branches.keys()];
  const current = ids[Math.max(standing?.index ?? 0, 0)] ?? ids[0];
  const now = { ...state, session: fresh.session, branches, fresh: null, opening: null, standing: null, compared: "" };
  return onto(now, current, standing?.at ?? opening?.at ?? fresh.at);
}

/**
 * @param {State} state
 * @param {number} branch
 * @param {number} at position
 * @returns {State}
 */
function onto(state, branch, at) {
  const film = state.branches.get(branch);
  return film ? { ...state, current: branch, cursor: toPosition(film, state.cursor, at) } : state;
}

// ---- what follows from a state

/** The branch that is shown, or null while there is none. @param {State} state */
export const shown = (state) => (state.fresh ? null : (state.branches.get(state.current) ?? null));

/** The position at which one stands, or whose move goes on there. @param {State} state */
export function positionAt(state) {
  const film = state.branches.get(state.current);
  return film ? stopAt(film, state.cursor).position : 0;
}

/** One can act where one stands. @param {State} state */
export function canAct(state) {
  const film = shown(state);
  return film !== null && whole(film, state.cursor);
}

/** The moves that led to the end of a branch. @param {Branch} branch */
export const movesOf = (branch) => branch.positions.slice(1).map((p) => p.move);

/** All branches as the server takes them. @param {State} state @returns {Carried[]} */
export const carried = (state) =>
  [...state.branches.values()].map((b, i, all) => {
    const parent = all.findIndex((o) => o.id === b.parent);
    return { id: i, parent, fork: parent < 0 ? 0 : b.fork, moves: movesOf(b) };
  });

/** Where one stands, to stand there again. @param {State} state @returns {Standing} */
export const here = (state) => ({
  index: [...state.branches.keys()].indexOf(state.current),
  at: positionAt(state),
  numbers: [...state.branches.values()].map((b) => b.number),
});

/** The command that opens what is to be open. @param {State} state */
export function toOpen(state) {
  const { link, scenario, branches } = state.opening ?? { scenario: JSON.stringify(state.session?.scenario), branches: carried(state) };
  return { do: "open", link, scenario, branches };
}
