// A websocket that comes back by itself.

const FIRST_PAUSE = 250; // ms before the first new attempt
const LONGEST_PAUSE = 10000;

/**
 * @typedef {object} Handlers
 * @property {() => string} path where to connect, asked at each attempt
 * @property {() => void} [opened]
 * @property {(frame: any) => void} received
 * @property {(event: CloseEvent) => boolean | number} [closed] false: stay away; 0: at once; true: after a pause
 * @property {(lost: boolean) => void} changed the connection was lost, or is there again
 */

/**
 * Connects, and connects again, until told to stay away.
 * @param {Handlers} handlers
 */
export function connect(handlers) {
  /** @type {WebSocket} */
  let socket;
  let pause = FIRST_PAUSE;

  function attempt() {
    const url = new URL(handlers.path(), location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(url);
    socket.onopen = () => {
      pause = FIRST_PAUSE;
      handlers.changed(false);
      handlers.opened?.();
    };
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      if (frame.v !== 1) {
        location.reload(); // the server is newer than this page
        return;
      }
      handlers.received(frame);
    };
    socket.onclose = (event) => {
      const again = handlers.closed?.(event) ?? true;
      if (again === false) {
        handlers.changed(false);
        return;
      }
      handlers.changed(true);
      setTimeout(attempt, again === 0 ? 0 : pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    };
  }

  attempt();
  return {
    /** @param {object} frame */
    send(frame) {
      if (socket.readyState !== WebSocket.OPEN) {
        return false;
      }
      socket.send(JSON.stringify(frame));
      return true;
    },
  };
}
