// A log of Redis in the browser: which keys could be locks, and the lines that name one. The server reads
// those alone. engine/outside/logs says what a log is, and it is the same here.
import { byId, make } from "./dom.js";
import { say } from "./words.js";

const MB = 1 << 20;
const MAX_READ = 64 * MB;
const MAX_SENT = 8 * MB;

const monitored = /^(.{0,1000}?(?:[ \t|>)\]]|\x1b\[[0-9;]*m))??\+?\d{1,11}\.\d{6} \[\d+ (\S+)\] (".*")$/; // maybe behind a prefix
const clocks = /\x1b\[[0-9;]*m|\b\d{4}-\d\d-\d\d[T ]?|\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b[A-Z][a-z]{2} [ \d]\d\b|[ \t|]+/g; // of a prefix
const idle = /^\s*(?:\+?OK\s*)?$/;
const comment = /^\s*#/;
const sent = /channel: \[id: (0x[0-9a-f]+)[^\]]*\] message: \*(\d+)$/;
const replied = /^(.*?\breply: )([-+:$*].*)$/;
const channel = /, channel: \[id: (0x[0-9a-f]+)/;

// A line in an object of JSON or in CSV, or Redisson's whose text goes on behind a prefix: only the server unpacks it.
export const packed = /\[\d+ [^\]\n]+\] (?:\\"|"")\w|\] message: \*\d+(?:\\r\\n|\r?\n[^\n]*[\s|>)\]]\$\d)/;

// Commands that name no lock: their arguments can be secrets, and never leave the browser.
const secret = /^(?:AUTH|HELLO|CONFIG|ACL|MIGRATE|SENTINEL)$/;
const runs = /^(?:EVAL|EVALSHA|FCALL)(?:_RO)?$/;

/**
 * @typedef {{from: number, to: number, verb: string, args: string[], client: string, group: number,
 *   reply?: {line: number, text: string}}} Command a command: its lines, what it says, the script that it is of, and its answer
 *   if that stands elsewhere
 * @typedef {{format: string, lines: string[], commands: Command[], unread: number}} Log
 */

/**
 * Reads a file's text, UTF-8 or UTF-16, maybe packed with gzip.
 * @param {Blob} file
 * @returns {Promise<string>}
 */
export async function textOf(file) {
  const [a, b] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (a === 0x1f && b === 0x8b) {
    return unzipped(file);
  }
  const wide = a === 0xff && b === 0xfe ? "utf-16le" : a === 0xfe && b === 0xff ? "utf-16be" : "";
  return wide ? new TextDecoder(wide).decode(await file.arrayBuffer()) : file.text();
}

/**
 * @param {Blob} file packed with gzip, of which the end may be missing
 * @returns {Promise<string>} as much as is read of a log, and a bit more
 */
async function unzipped(file) {
  const parts = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const read = [];
  try {
    for (let size = 0; size <= MAX_READ; ) {
      const { value } = await parts.read();
      if (!value) {
        break;
      }
      read.push(value);
      size += value.length;
    }
  } catch {
    // what came before is read
  }
  return new Blob(read).text();
}

/**
 * @param {string} text a log's beginning
 * @returns {string} its format, or ""
 */
export function formatOf(text) {
  if (/^\s*\+?OK\s*$/.test(text)) {
    return "monitor";
  }
  const lines = text.split("\n").map((l) => l.trimEnd());
  const first = lines.findIndex((l) => l.trim() !== "" && !comment.test(l));
  return formatOfLines(lines) || formatOfLines(lines.slice(first + 1)); // a log that was cut begins anywhere
}

/**
 * @param {string[]} lines
 * @returns {string} their format, or ""
 */
function formatOfLines(lines) {
  if (monitored.test(lines.find((l, n) => !idle.test(l) && !comment.test(l) && (n < lines.length - 1 || n === 0)) ?? "")) {
    return "monitor";
  }
  if (lines.some((l) => sent.test(l))) {
    return "redisson";
  }
  return lines.some((l) => monitored.test(l)) ? "monitor" : ""; // among other lines
}

/**
 * Puts the logs of several servers into one, as the logs of several containers are: each line says whose it is.
 * @param {File[]} files
 * @returns {Promise<File | null>} null if one is no log of MONITOR
 */
export async function together(files) {
  const texts = await Promise.all(files.map(textOf));
  if (texts.some((text) => formatOf(text.slice(0, 64 * 1024)) !== "monitor")) {
    return null;
  }
  const lines = texts.flatMap((text, n) => text.split("\n").filter((l) => l.trim() !== "").map((l) => `${n + 1}:${files[n].name} | ${l}`));
  return new File([lines.join("\n"), "\n"], files.map((f) => f.name).join(", "), { type: "text/plain" });
}

/** @param {string} text in bytes of UTF-8 */
function size(text) {
  return /[^\0-\x7f]/.test(text) ? new TextEncoder().encode(text).length : text.length;
}

/**
 * @param {string} word between quotes
 * @returns {string}
 */
function unescaped(word) {
  if (!word.includes("\\")) {
    return word;
  }
  /** @type {Record<string, string>} */
  const short = { n: "\n", r: "\r", t: "\t", a: "\x07", b: "\b" };
  const bytes = [];
  const encoder = new TextEncoder();
  for (const m of word.matchAll(/\\x([0-9a-f]{2})|\\(.)|([^\\]+)/gi)) {
    if (m[1]) {
      bytes.push(Number.parseInt(m[1], 16));
    } else {
      for (const b of encoder.encode(m[3] ?? short[m[2]] ?? m[2])) {
        bytes.push(b);
      }
    }
  }
  try {
    return readable(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes)));
  } catch {
    return readable(String.fromCharCode(...bytes.slice(0, 4096)), true);
  }
}

/**
 * @param {string} text
 * @param {boolean} [all] what is no ASCII, too
 * @returns {string} with what the server does not take for text written as MONITOR writes it
 */
function readable(text, all = false) {
  return text.replace(all ? /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\xff]/g : /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** @param {string} text words as MONITOR prints them */
function words(text) {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map((m) => (m[1] === undefined ? m[2] : unescaped(m[1])));
}

/**
 * @param {string} text
 * @returns {Log}
 */
export function readLog(text) {
  const lines = text.split("\n").map((l) => l.replace(/\r$/, ""));
  /** @type {Log} */
  const log = { format: formatOf(text.slice(0, 64 * 1024)), lines, commands: [], unread: 0 };
  /** @type {Record<string, (log: Log) => void>} */
  const readers = { monitor: readMonitor, redisson: readRedisson };
  readers[log.format]?.(log);
  return log;
}

/**
 * @param {Log} log
 * @param {number} from
 * @param {number} to
 * @param {string[]} args
 * @param {string} client
 * @param {number} group
 */
function add(log, from, to, args, client, group) {
  const command = { from, to, args, verb: (args[0] ?? "").toUpperCase(), client, group };
  log.commands.push(command);
  return /** @type {Command} */ (command);
}

/** @param {Log} log */
function readMonitor(log) {
  /** @type {Map<string, number>} */
  const scripts = new Map(); // by server
  log.lines.forEach((l, i) => {
    const m = monitored.exec(l);
    if (!m) {
      log.unread += idle.test(l) || comment.test(l) ? 0 : 1;
      return;
    }
    const server = (m[1] ?? "").replace(clocks, "").replace(/^\d+[:.)]?$/, ""); // a line's number is no server's name
    const lua = m[2] === "lua";
    const { verb } = add(log, i, i + 1, words(m[3]), lua ? "lua" : server + m[2], lua ? (scripts.get(server) ?? i) : i);
    if (!lua && runs.test(verb)) {
      scripts.set(server, i);
    }
  });
}

/**
 * @param {string} text RESP
 * @param {number} at where an answer begins
 * @returns {number} where it ends
 */
function answerEnd(text, at) {
  let end = text.indexOf("\n", at);
  end = end < 0 ? text.length : end + 1;
  const n = Number(text.slice(at + 1, end));
  if (text[at] === "$" && n >= 0) {
    for (let left = n; left > 0 && end < text.length; ) {
      const c = /** @type {number} */ (text.codePointAt(end));
      left -= c < 128 ? 1 : c < 2048 ? 2 : c < 65536 ? 3 : 4;
      end += c < 65536 ? 1 : 2;
    }
    return text[end] === "\n" ? end + 1 : end;
  }
  for (let left = text[at] === "*" ? n : 0; left > 0 && end < text.length; left--) {
    end = answerEnd(text, end);
  }
  return end;
}

/** @param {Log} log */
function readRedisson(log) {
  const { lines } = log;
  /** @type {Map<string, (Command | null)[]>} */
  const waiting = new Map(); // of a channel, the commands without an answer
  /** @type {Map<string, {text: string, nth: number}>} */
  const before = new Map(); // its last answers: a buffer with several is printed for each
  for (let i = 0; i < lines.length; i++) {
    const head = sent.exec(lines[i]);
    if (head) {
      const list = waiting.get(head[1]) ?? [];
      waiting.set(head[1], list);
      let at = i + 1;
      const args = [];
      for (let left = Number(head[2]); left > 0; left--) {
        const n = Number(/^\$(\d+)$/.exec(lines[at] ?? "")?.[1] ?? -1);
        let word = lines[++at] ?? "";
        for (at++; size(word) < n && at < lines.length && !sent.test(lines[at]); at++) {
          word += `\n${lines[at]}`;
        }
        if (size(word) !== n) {
          break;
        }
        args.push(word);
      }
      if (args.length === Number(head[2])) {
        list.push(add(log, i, at, args, head[1], i));
      } else {
        list.push(null); // masked, or cut
        log.unread++;
      }
      continue;
    }
    const m = replied.exec(lines[i]);
    if (!m) {
      continue;
    }
    let raw = m[2];
    for (let n = i + 1; !channel.test(raw) && n < Math.min(lines.length, i + 400) && !sent.test(lines[n]) && !replied.test(lines[n]); n++) {
      raw += `\n${lines[n]}`;
    }
    const c = channel.exec(raw);
    const one = c && waiting.get(c[1])?.shift();
    if (!c) {
      continue;
    }
    const text = raw.slice(0, c.index);
    const was = before.get(c[1]);
    const nth = was?.text === text ? was.nth + 1 : 0;
    let at = 0;
    let end = answerEnd(text, 0);
    for (let n = 0; n < nth && end < text.length; n++) {
      at = end;
      end = answerEnd(text, at);
    }
    before.set(c[1], { text: answerEnd(text, 0) < text.length ? text : "", nth });
    if (one) {
      one.reply = { line: i, text: m[1] + text.slice(at, end) + c[0] + "]" };
    }
  }
}

/**
 * @param {Command} c
 * @param {string[]} scripted the keys of the script that it is of
 * @returns {string} the key that it may take as a lock, or ""
 */
function takes(c, scripted) {
  const [, first = "", count, third = ""] = c.args;
  switch (c.verb) {
    case "SET":
      return scripted[0] === first || c.args.slice(3).some((a) => a.toUpperCase() === "NX") ? first : "";
    case "SETNX":
    case "HSETNX":
    case "HINCRBY":
      return first;
    case "HSET":
      return scripted[0] === first ? first : "";
    case "EVAL":
      return Number(count) > 0 && /set|hincrby/i.test(first) ? third : "";
  }
  return "";
}

/** @param {Command} c */
function expires(c) {
  switch (c.verb) {
    case "SET":
      return c.args.slice(3).some((a) => /^(?:PX|EX|PXAT|EXAT)$/i.test(a));
    case "EVAL":
      return /expire|px|ex'/i.test(c.args[1] ?? "");
  }
  return /^(?:P?EXPIRE(?:AT)?|P?SETEX)$/.test(c.verb);
}

/**
 * @param {Log} log
 * @returns {{key: string, commands: number}[]} keys that could be locks: those with an expiry first, then the busiest
 */
export function lockKeys(log) {
  /** @type {Map<string, {key: string, commands: number, expires: boolean}>} */
  const found = new Map();
  const inside = new Set(log.commands.filter((c) => c.client === "lua").map((c) => c.group)); // scripts whose commands are told
  /** @type {string[]} */
  let scripted = [];
  for (const c of log.commands) {
    const own = c.client === "lua" ? scripted : [];
    if (runs.test(c.verb)) {
      scripted = c.args.slice(3, 3 + Number(c.args[2]));
    }
    const key = c.verb === "EVAL" && inside.has(c.group) ? "" : takes(c, own);
    if (key && !found.has(key)) {
      found.set(key, { key, commands: 0, expires: false });
    }
  }
  for (const c of log.commands) {
    for (const a of new Set(c.args.slice(1))) {
      const one = secret.test(c.verb) ? undefined : found.get(a);
      if (one) {
        one.commands += c.client === "lua" && c.group !== c.from ? 0 : 1;
        one.expires ||= expires(c);
      }
    }
  }
  return [...found.values()].sort((a, b) => Number(b.expires) - Number(a.expires) || b.commands - a.commands).map(({ key, commands }) => ({ key, commands }));
}

/**
 * @param {Log} log
 * @param {Set<string>} asked
 * @returns {Set<Command>} the marks of these locks: each belongs to the one that its connection has
 * named last, or else names next
 */
function marked(log, asked) {
  const locks = new Set([...asked, ...lockKeys(log).map((k) => k.key)]);
  /** @type {Set<Command>} */
  const ours = new Set();
  /** @type {Map<string, {ours?: boolean, early: Command[], inside: boolean[]}>} */
  const clients = new Map();
  for (const c of log.commands) {
    const at = clients.get(c.client) ?? { early: [], inside: [] };
    clients.set(c.client, at);
    const mark = c.verb === "ECHO" ? /^relock:(enter|leave)(?=\s|$)/.exec(c.args[1])?.[1] : "";
    if (mark) {
      const is = mark === "leave" ? (at.inside.pop() ?? at.ours) : at.ours;
      if (is === undefined) {
        at.early.push(c);
      } else if (is) {
        ours.add(c);
      }
      if (mark === "enter" && is !== undefined) {
        at.inside.push(is);
      }
    } else if (!secret.test(c.verb) && c.args.slice(1).some((a) => locks.has(a))) {
      at.ours = c.args.some((a) => asked.has(a));
      for (const one of at.ours ? at.early : []) {
        ours.add(one);
      }
      at.early = [];
    }
  }
  return ours;
}

/**
 * @param {Log} log
 * @param {string[]} keys
 * @returns {{text: string, kept: number, of: number}} the log with the lines that name a key, those of their scripts and
 *   answers, and what tells threads apart, each at its line; how many there are
 */
export function about(log, keys) {
  const asked = new Set(keys);
  const groups = new Set();
  const clients = new Set();
  const ours = marked(log, asked);
  for (const c of log.commands) {
    const wipes = c.verb === "FLUSHALL" || c.verb === "FLUSHDB";
    if (wipes || ours.has(c) || (!secret.test(c.verb) && c.args.slice(1).some((a) => asked.has(a)))) {
      groups.add(c.group);
      clients.add(c.client);
    }
  }
  const out = log.lines.map(() => "");
  for (const c of log.commands) {
    const names = c.verb === "CLIENT" && /^setname$/i.test(c.args[1]) && clients.has(c.client);
    if (!names && (!groups.has(c.group) || secret.test(c.verb))) {
      continue;
    }
    for (let n = c.from; n < c.to; n++) {
      out[n] = log.lines[n];
    }
    c.reply?.text.split("\n").forEach((l, n) => {
      out[/** @type {{line: number}} */ (c.reply).line + n] = l;
    });
  }
  const said = (/** @type {string[]} */ list) => list.filter((l) => l.trim() !== "").length;
  return { text: out.join("\n").replace(/\n*$/, "\n"), kept: said(out), of: said(log.lines) };
}

/** @param {string} text */
function kilobytes(text) {
  return Math.ceil(size(text) / 1024);
}

/**
 * Asks for the key of a log, says what would be sent, and sends it: the rest stays here.
 * @param {File} chosen
 * @param {HTMLInputElement} file of the form by which it is sent
 * @returns {Promise<string>} what is wrong with it, or ""
 */
export async function chooseKey(chosen, file) {
  if (chosen.size > MAX_READ) {
    return say("This log is too large: it may have %d MB here. The command line takes more: playground import.", MAX_READ / MB);
  }
  const whole = await textOf(chosen);
  const log = readLog(whole);
  const keys = lockKeys(log);
  if (keys.length === 0) {
    return say("No command of this log takes a lock.");
  }
  const box = byId("of-log");
  const select = /** @type {HTMLSelectElement} */ (make("select", { id: "log-key" }, ...keys.slice(0, 50).map((k) => make("option", { value: k.key }, say("%s: %d commands", k.key, k.commands)))));
  const others = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", id: "log-others" }));
  const told = make("p", { id: "log-told", role: "status" });
  const send = /** @type {HTMLButtonElement} */ (make("button", { type: "button", class: "primary", "aria-describedby": "log-told" }, say("Send these lines")));
  const stop = make("button", { type: "button" }, say("Cancel"));
  const tell = () => {
    const part = about(log, others.checked ? keys.map((k) => k.key) : [select.value]);
    send.disabled = size(part.text) > MAX_SENT;
    told.textContent = [
      say("This sends %d of %d lines, %d of %d KB: those that name the key, with their scripts and answers. The rest stays in your browser, also AUTH, HELLO, CONFIG and ACL with their passwords.",
        part.kept, part.of, kilobytes(part.text), kilobytes(whole)),
      log.unread ? say("Lines left out because they are incomplete or unreadable: %d.", log.unread) : "",
      send.disabled ? say("That is too much: at most %d MB can be sent. The command line takes more: playground import.", MAX_SENT / MB) : "",
    ].join(" ");
    return part.text;
  };
  const close = () => {
    box.hidden = true;
    file.value = "";
    file.focus();
  };
  select.onchange = tell;
  others.onchange = tell;
  stop.onclick = close;
  box.onkeydown = (event) => {
    if (event.key === "Escape") {
      close();
    }
  };
  send.onclick = () => {
    const files = new DataTransfer();
    files.items.add(new File([tell()], chosen.name, { type: "text/plain" }));
    file.files = files.files;
    const form = /** @type {HTMLFormElement} */ (file.form);
    form.action = `/edit/file?key=${encodeURIComponent(select.value)}`;
    form.submit();
  };
  box.replaceChildren(
    make("h2", { id: "log-name" }, chosen.name),
    make("label", { for: "log-key" }, say("Key of the lock"), select),
    ...(keys.length > 1 ? [make("label", { for: "log-others" }, others, say("Also send the lines of the other keys, to look at those locks too"))] : []),
    told,
    make("p", {}, send, stop),
  );
  box.hidden = false;
  tell();
  select.focus();
  box.scrollIntoView({ block: "nearest" });
  return "";
}
