// A page without a page: its state, and a line to a server.
import { initial, reduce, toOpen } from "../js/board-state.js";

/** Nobody changes what a state has: it is frozen as deep as it goes. */
export function frozen(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of value instanceof Map ? value.values() : Object.values(value)) {
      frozen(part);
    }
  }
  return value;
}

export class Client {
  constructor(server, start = "start") {
    this.server = server;
    this.state = frozen(initial(start));
    this.last = 0;
  }

  event(event) {
    this.state = frozen(reduce(this.state, frozen(event)));
    return this;
  }

  /** Sends a command; the frames that answer it are under way. */
  send(command) {
    const id = ++this.last;
    this.event({ type: "sent", id, command });
    return this.server.answer(id, command);
  }

  /** Takes frames. */
  take(frames) {
    for (const frame of frames) {
      this.event({ type: "frame", frame });
    }
    return this;
  }

  ask(command) {
    return this.take(this.send(command));
  }

  /** Opens what is to be opened, as on a new connection. */
  connect() {
    this.event({ type: "line", lost: false }).event({ type: "opened" });
    return this.take(this.send(toOpen(this.state)));
  }

  /** The connection ends, and with it the server's session. */
  lose() {
    this.server.branches = null;
    return this.event({ type: "line", lost: true });
  }
}
