// Reads a packed stream: what the server compressed once for all who look on.
// The Go package web/runs/pack says what it is like.

const WINDOW = 32768; // bytes of each column that came before, at first
const FLUSHED = new Uint8Array([0, 0, 0xff, 0xff]); // left out of every column of every record
const END = new Uint8Array([3, 0]); // of what was only flushed

/** The browser can read one. */
export const canUnpack = (() => {
  try {
    return Boolean(new DecompressionStream("deflate-raw"));
  } catch {
    return false;
  }
})();

/**
 * @param {number} count columns of a record
 * @param {(texts: string[]) => void} received a record
 */
export function unpacker(count, received) {
  const columns = Array.from({ length: count }, () => column(WINDOW, deliver));

  function deliver() {
    while (columns.every((c) => c.lines.length > 0)) {
      received(columns.map((c) => /** @type {string} */ (c.lines.shift())));
    }
  }

  return {
    /** Takes a part of the stream. @param {ArrayBuffer} part */
    add(part) {
      const bytes = new Uint8Array(part);
      let at = 0;
      for (const c of columns) {
        let length = 0;
        for (let shift = 0; ; shift += 7) {
          const b = bytes[at++];
          length |= (b & 127) << shift;
          if (b < 128) {
            break;
          }
        }
        c.write(bytes.subarray(at, at + length));
        c.write(FLUSHED);
        at += length;
      }
    },
    /** Resolves when all that was added has been received. */
    async end() {
      await Promise.all(columns.map((c) => c.end()));
    },
  };
}

/**
 * @param {number} skip bytes at the beginning
 * @param {() => void} grown called when lines has one more
 */
function column(skip, grown) {
  const inflated = new DecompressionStream("deflate-raw");
  const writer = inflated.writable.getWriter();
  const text = new TextDecoder();
  /** @type {string[]} */
  const lines = [];
  let open = ""; // the line that is not over yet

  async function read() {
    const reader = inflated.readable.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) {
        return;
      }
      const skipped = Math.min(skip, value.length);
      skip -= skipped;
      const parts = text.decode(value.subarray(skipped), { stream: true }).split("\n");
      parts[0] = open + parts[0];
      open = /** @type {string} */ (parts.pop());
      lines.push(...parts);
      grown();
    }
  }
  const over = read().catch(() => {}); // what is no stream ends here

  return {
    lines,
    /** @param {Uint8Array<ArrayBuffer>} bytes */
    write(bytes) {
      writer.write(bytes).catch(() => {});
    },
    async end() {
      writer.write(END).catch(() => {});
      writer.close().catch(() => {});
      await over;
    },
  };
}
