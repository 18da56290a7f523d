// What a stepping page knows: the branches, as far as the server has sent them, where you
// are, and what is under way. Alone you are where you look; with a class the board
// follows, and a host who looks elsewhere takes the class there. A frame or an act makes
// another state of it; nothing here knows a page, a server, or time.
import { START, stopAt, stopOf, toPosition, whole, within } from "./cursor.js";
import { grown, stopsOf } from "./film.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {import("./film.js").Pointless} Pointless
 * @typedef {import("./cursor.js").Cursor} Cursor
 *
 * @typedef {object} Own what a branch has beside its film
 * @property {number} id as the server counts; another one when it is opened again
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
 * @property {string} stage HTML
 * @property {string} rail HTML
 * @property {string} lua HTML
 * @property {string} setup its main settings as fields, HTML
 * @property {string} dropped which moves no longer fit, "" if all do
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
 * @property {number} [at] position to go to; without it, as the link says
 *
 * @typedef {object} Carried a branch as a command has it
 * @property {number} id
 * @property {number} parent
 * @property {number} fork
 * @property {any[]} moves
 *
 * @typedef {object} Standing where to go once it is open
 * @property {number} index of the branch
 * @property {number} at position
 * @property {number[]} numbers the names of the branches
 *
 * @typedef {object} Fresh what is being opened
 * @property {Session} session
 * @property {ReadonlyMap<number, Branch>} branches
 * @property {number} at where the link points
 *
 * @typedef {object} Command
 * @property {string} do
 * @property {number} [branch]
 * @property {number} [at] acts after so many moves
 *
 * @typedef {Command & {touched?: number}} Call a command under way; touched is the branch that it has changed
 *
 * @typedef {object} Place where a class stands
 * @property {number} branch
 * @property {number} at moves
 * @property {number} row 0: the last of the move
 * @property {number} moment
 *
 * @typedef {Place & {scene: number}} Stand and in which of its scenarios
 *
 * @typedef {object} State
 * @property {boolean} follows the class says where you are, and its server what is open
 * @property {boolean} leads you may go elsewhere, and act
 * @property {Stand | null} stand where the class stands
 * @property {Place | null} ahead where this page has gone, and the class should follow
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
 *   | {type: "opened"}
 *   | {type: "line", lost: boolean}
 *   | {type: "sent", id: number, command: Command}
 *   | {type: "frame", frame: any}
 *   | {type: "told", stand: Stand}
 *   | {type: "looked", cursor: Cursor}
 *   | {type: "onto", branch: number}
 *   | {type: "settled", to: Place}
 *   | {type: "closed"}} Event
 *   asked: something else is to be opened. opened: the line is there, and all
 *   comes again. line: the connection was lost, or is there. told: where the class
 *   stands; its rows have come before. looked and onto: one has gone there.
 *   settled: the room has answered the go to there. closed: the comparison was.
 *
 * @typedef {{kind: "go", to: Place}
 *   | {kind: "pause"}
 *   | {kind: "describe", session: Session}
 *   | {kind: "compare"}} Intent
 *   go: the class is to go there. pause: nothing goes on by itself, and what waits
 *   for its turn is forgotten. describe: this is open now. compare: another
 *   comparison is shown, or none.
 */

/**
 * @param {string} start
 * @param {{leads: boolean} | null} [follows] the class, and whether one leads it
 * @returns {State}
 */
export const initial = (start, follows = null) => ({
  follows: follows !== null,
  leads: follows?.leads ?? true,
  stand: null,
  ahead: null,
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
    case "opened":
      return state.follows ? { ...state, fresh: null } : state.opening ? state : { ...state, standing: here(state) };
    case "line":
      return event.lost ? { ...state, lost: true, fresh: null, under: new Map() } : { ...state, lost: false };
    case "sent":
      return { ...state, under: new Map(state.under).set(event.id, event.command) };
    case "frame":
      return framed(state, event.frame);
    case "told":
      return told(state, event.stand);
    case "looked":
      return looked(state, event.cursor);
    case "onto":
      return went(state, event.branch);
    case "settled":
      return state.ahead === event.to ? followed({ ...state, ahead: null }) : state;
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
  // To a class it comes unasked, and the next frames belong to it until it is whole.
  const opens = state.follows ? Boolean(frame.opened ?? state.fresh) : call?.do === "open";
  if (frame.opened && opens) {
    state = { ...state, fresh: { session: opened(state, frame.opened), branches: new Map(), at: frame.opened.at } };
  }
  const of = opens ? state.fresh : state;
  if (of && frame.branch) {
    state = put(state, of, merged(of.branches, of.session, frame));
    state = call ? { ...state, under: new Map(state.under).set(frame.re, { ...call, touched: frame.branch.id }) } : state;
  }
  if (frame.lanes !== undefined) {
    const now = opens ? state.fresh : state;
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
  stage: o.stage,
  rail: o.rail,
  lua: o.lua,
  setup: o.setup ?? "",
  dropped: o.dropped ?? "",
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
 * Opening is done.
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
  const same = state.follows && state.session?.scene === fresh.session.scene; // its branches are called what they were
  const now = { ...state, session: fresh.session, branches, fresh: null, opening: null, standing: null, compared: same ? state.compared : "" };
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

// ---- with a class

/**
 * The class has a place: the board goes there, too, unless this page has gone on already.
 * @param {State} state
 * @param {Stand} stand
 * @returns {State}
 */
function told(state, stand) {
  const { ahead } = state;
  const goes = ahead && state.stand?.scene === stand.scene && !isAt(stand, ahead);
  return followed({ ...state, stand, ahead: goes ? ahead : null });
}

/** @param {Place} stand @param {Place} to */
const isAt = (stand, to) => to.branch === stand.branch && to.at === stand.at && to.moment === stand.moment && (to.row === 0 || to.row === stand.row);

/**
 * The board at the class's place, as soon as that is here.
 * @param {State} state
 * @returns {State}
 */
function followed(state) {
  const { stand, ahead, fresh } = state;
  if (!stand || ahead) {
    return state;
  }
  const whole = fresh?.branches.has(stand.branch) ? installed(state) : state;
  const there = whole.current === stand.branch ? whole : onto(whole, stand.branch, positionAt(whole));
  const branch = shown(there);
  return branch && there.current === stand.branch ? { ...there, cursor: within(branch, cursorAt(branch, there.cursor, stand)) } : there;
}

/**
 * One looks somewhere. If the board follows a class, only a host can go there, and takes
 * the class along.
 * @param {State} state
 * @param {Cursor} cursor
 * @returns {State}
 */
function looked(state, cursor) {
  const film = state.branches.get(state.current);
  if (!film || !state.leads) {
    return state;
  }
  const now = { ...state, cursor: within(film, cursor) };
  const [was, to] = [state, now].map((one) => placeOf(film, one.current, one.cursor));
  return !state.follows || JSON.stringify(was) === JSON.stringify(to) ? now : { ...now, ahead: to };
}

/**
 * You go onto another branch, to the same move if it has that.
 * @param {State} state
 * @param {number} id
 * @returns {State}
 */
function went(state, id) {
  const at = positionAt(state);
  const last = (state.branches.get(id)?.positions.length ?? 0) - 1;
  const now = onto(state, id, at);
  return state.follows && last >= 0 ? { ...now, ahead: { branch: id, at: Math.min(at, last), row: 0, moment: 0 } } : now;
}

/**
 * @param {Film} film
 * @param {Cursor} cursor
 * @param {Place} place
 * @returns {Cursor}
 */
function cursorAt(film, cursor, { at, row, moment }) {
  const last = stopOf(film, at);
  const stop = row > 0 ? stopsOf(film).findLastIndex((s, i) => i <= last && s.row <= row) : last;
  return { ...cursor, stop: Math.max(0, stop), moment };
}

/**
 * Where you are, as the room hears it.
 * @param {Film} film
 * @param {number} branch
 * @param {Cursor} cursor
 * @returns {Place}
 */
function placeOf(film, branch, { stop, moment }) {
  const { position, row, whole } = stopsOf(film)[stop];
  return { branch, at: position, row: whole && moment === 0 ? 0 : row, moment };
}

// ---- what follows from a state

/**
 * The things to do on the way from one state to the next.
 * @param {State} was
 * @param {State} now
 * @returns {Intent[]}
 */
export function intents(was, now) {
  /** @type {Intent[]} */
  const all = [];
  if (now.ahead && now.ahead !== was.ahead) {
    all.push({ kind: "go", to: now.ahead });
  }
  if ((now.lost && !was.lost) || (was.stand && now.stand?.scene !== was.stand.scene)) {
    all.push({ kind: "pause" });
  }
  if (now.session && now.session !== was.session) {
    all.push({ kind: "describe", session: now.session });
  }
  if (now.compared !== was.compared) {
    all.push({ kind: "compare" });
  }
  return all;
}

/** The branch that is shown, or null while there is none. @param {State} state */
export const shown = (state) => (state.fresh ? null : (state.branches.get(state.current) ?? null));

/** The position that you are at, or whose move goes on there. @param {State} state */
export function positionAt(state) {
  const film = state.branches.get(state.current);
  return film ? stopAt(film, state.cursor).position : 0;
}

/** One can act where you are. @param {State} state */
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

/** Where you are, to stand there again. @param {State} state @returns {Standing} */
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
