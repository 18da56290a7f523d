// A server as the page sees it: branches that only grow, a fork for each act
// in the past, frames in portions, refusals.
import { row } from "./films.js";

const PORTION = 2; // positions in a frame

/** The branch that moves make, no matter who makes them. */
function played(moves) {
  const rows = [];
  const positions = [{ row: 0, at: "0 ms" }];
  moves.forEach((move, n) => {
    const brings = typeof move === "number" ? [1, 2, 0][move % 3] : 0;
    for (let i = 0; i < brings; i++) {
      const inside = move % 2 === 0 ? [{}, {}] : undefined;
      rows.push(row(rows.length + 1, { why: JSON.stringify(moves.slice(0, n + 1)), inside }));
    }
    positions.push({ move, row: rows.length, at: `${rows.length} ms`, over: moves[n] === "end" });
  });
  return { rows, positions };
}

export class Server {
  constructor(scenario = { name: "two" }) {
    this.linked = scenario;
    this.branches = null;
    this.made = 0;
  }

  /** The frames that answer a command. */
  answer(id, c) {
    const refuse = (refused) => [{ v: 1, re: id, from: 0, lanesOf: 0, refused }];
    const done = (...frames) => [...frames, { v: 1, re: id, from: 0, lanesOf: 0, done: true }];
    if (c.do === "open") {
      return this.open(id, c, refuse, done);
    }
    const b = this.branches?.get(c.branch);
    if (!b) {
      return refuse("There is no such branch.");
    }
    switch (c.do) {
      case "step": case "strike": case "time": {
        const move = c.move ?? 0;
        const at = c.at ?? b.moves.length;
        if (c.refuse || at > b.moves.length || b.moves.at(-1) === "end") {
          return refuse("That cannot be done here.");
        }
        if (JSON.stringify(b.moves[at]) === JSON.stringify(move)) {
          return done(...this.show(id, b)); // that is what was done there
        }
        const on = at < b.moves.length ? this.fork(b, at) : b;
        on.moves.push(move);
        return done(...this.show(id, on));
      }
      case "run":
        b.moves.push(0, 1, 2, 0, "end");
        return done(...this.show(id, b));
      case "cut":
        return done(...this.show(id, this.fork(b, c.at)));
      case "drop":
        if (this.branches.size === 1) {
          return refuse("The only branch must stay.");
        }
        this.branches.delete(c.branch);
        return done({ v: 1, re: id, from: 0, lanesOf: 0, dropped: c.branch });
      case "lanes":
        return done({ v: 1, re: id, from: 0, lanes: `lanes at ${c.row}`, lanesOf: c.branch });
      case "compare":
        return done({ v: 1, re: id, from: 0, lanesOf: 0, compared: "<p>compared</p>" });
    }
    throw new Error(c.do);
  }

  open(id, c, refuse, done) {
    if (c.link === "bad" || c.scenario?.includes("bad") || c.branches?.some((b) => b.moves.includes("bad"))) {
      return refuse("This cannot be opened.");
    }
    const scenario = c.scenario ? JSON.parse(c.scenario) : this.linked;
    this.branches = new Map();
    this.made = 0;
    for (const { parent, fork, moves } of c.branches ?? [{ parent: -1, fork: 0, moves: scenario.schedule ?? [] }]) {
      this.branches.set(this.made, { id: this.made++, parent, fork, moves: [...moves], has: 0 });
    }
    const opened = { scenario: { name: scenario.name }, title: scenario.name, threads: ["A", "B"], leaseMillis: 200, at: 1, head: "", rail: "", lua: "", key: "k" };
    return done({ v: 1, re: id, from: 0, lanesOf: 0, opened }, ...[...this.branches.values()].flatMap((b) => this.show(id, b)));
  }

  fork(b, at) {
    const on = { id: this.made, parent: b.id, fork: at, moves: b.moves.slice(0, at), has: 0 };
    this.branches.set(this.made++, on);
    return on;
  }

  /** The frames of what the page does not have of a branch. */
  show(id, b) {
    const { rows, positions } = played(b.moves);
    const branch = { id: b.id, parent: b.parent, fork: b.fork };
    if (b.has === 0 && this.branches.has(b.parent)) {
      b.has = b.fork + 1;
    }
    const frames = [];
    for (let from = b.has, first = true; first || from < positions.length; from += PORTION, first = false) {
      const some = positions.slice(from, from + PORTION);
      const of = from === 0 ? 0 : positions[Math.min(from, positions.length) - 1].row;
      frames.push({ v: 1, re: id, branch, from, positions: some, rows: rows.slice(of, some.at(-1)?.row ?? of), lanesOf: 0 });
    }
    Object.assign(frames.at(-1), { lanes: `lanes of ${b.moves.length}`, lanesOf: b.id });
    b.has = positions.length;
    return frames;
  }

  /** What a page that has all of it has, by branch. */
  truth() {
    return new Map([...this.branches.values()].map((b) => [b.id, played(b.moves)]));
  }
}
