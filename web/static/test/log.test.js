import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { about, formatOf, lockKeys, packed, readLog, textOf } from "../js/log.js";

const monitor = `OK
1700000000.000000 [0 1.1.1.1:1] "AUTH" "lock"
1700000000.000001 [0 1.1.1.1:1] "client" "setname" "w1"
1700000000.000002 [0 1.1.1.1:2] "client" "setname" "w2"
1700000000.000003 [0 1.1.1.1:1] "SET" "lock" "v1" "NX" "PX" "300"
1700000000.000004 [0 1.1.1.1:2] "SET" "other \\"x\\"" "v1" "NX"
1700000000.000005 [0 1.1.1.1:1] "EVALSHA" "abc" "1" "lock" "v1"
1700000000.000006 [0 lua] "get" "lock"
1700000000.000007 [0 lua] "publish" "c" "m"
1700000000.000008 [0 unix:/tmp/redis.sock] "GET" "private"
1700000000.000009 [0 1.1.1.1:3] "SET" "n\\xc3\\xa9" "v" "NX"
1700000000.000010 [0 1.1.1.1:3] "CONFIG" "SET" "requirepass" "lock"
nonsense
`;

/** @param {string} text @param {string[]} keys */
const kept = (text, ...keys) => about(readLog(text), keys).text.split("\n").flatMap((l, i) => (l === "" ? [] : [i + 1]));

test("the keys that could be locks: those with an expiry first, then the busiest", () => {
  assert.deepEqual(lockKeys(readLog(monitor)), [
    { key: "lock", commands: 2 },
    { key: 'other "x"', commands: 1 },
    { key: "n\u00e9", commands: 1 },
  ]);
});

test("of MONITOR only what names the key is sent, each line where it was, and no password", () => {
  assert.deepEqual(kept(monitor, "lock"), [3, 5, 7, 8, 9]);
  assert.deepEqual(kept(monitor, 'other "x"'), [4, 6]);
  assert.deepEqual(kept(monitor, "lock", "n\u00e9"), [3, 5, 7, 8, 9, 11]);
  assert.deepEqual([about(readLog(monitor), ["lock"]).kept, about(readLog(monitor), ["lock"]).of, readLog(monitor).unread], [5, 13, 1]);
});

test("a mark goes with the lock that its connection has named last, or else names next", () => {
  const log = [
    '1 "ECHO" "relock:enter"', '1 "SET" "a" "v" "NX"', '2 "SET" "b" "v" "NX"', '2 "ECHO" "relock:enter"', '1 "SET" "b" "v" "NX"', '1 "ECHO" "relock:enter"',
    '1 "GET" "a"', '1 "ECHO" "relock:leave"', '2 "ECHO" "relock:leave"', '3 "ECHO" "relock:enter"',
  ].map((l, n) => `1700000000.00000${n} [0 1.1.1.1:${l.replace(" ", "] ")}`).join("\n");
  assert.deepEqual(kept(log, "a"), [1, 2, 7]);
  assert.deepEqual(kept(log, "b"), [3, 4, 5, 6, 8, 9]);
});

/** @param {string} ch @param {string[]} args */
const sends = (ch, ...args) => `2026-11-22 10:00:00.001 TRACE 1 : channel: [id: ${ch}, L:/1 - R:r/2:6379] message: *${args.length}\r\n${args.map((a) => `$${Buffer.byteLength(a)}\r\n${a}\r\n`).join("")}\n`;
/** @param {string} ch @param {string} raw */
const answers = (ch, raw) => `2026-11-22 10:00:00.002 TRACE 1 : reply: ${raw}, channel: [id: ${ch}, L:/1 - R:r/2:6379], command: CommandData [params=[secret]]\n`;

test("of Redisson's TRACE: each command with its own answer, of a buffer with several too", () => {
  const script = "if (redis.call('exists', KEYS[1]) == 0) then\nredis.call('hincrby', KEYS[1], ARGV[2], 1); end -- \u00e9";
  const buffer = ":5\r\n$7\r\nprivate\r\n*2\r\n:1\r\n$-1\r\n";
  const log = [
    "2026-11-22 10:00:00.000 INFO started with secret\n",
    sends("0x01", "AUTH", "(password masked)").replace("$17", "$9"),
    answers("0x01", "+OK\r\n"),
    sends("0x01", "EVAL", script, "1", "lock", "30000", "w:1"),
    answers("0x01", "$-1\r\n"),
    sends("0x01", "EVAL", script, "1", "lock", "30000", "w:1"),
    sends("0x01", "GET", "other"),
    sends("0x01", "HGETALL", "lock"),
    answers("0x01", buffer),
    answers("0x01", buffer),
    answers("0x01", buffer),
  ].join("");
  assert.equal(formatOf(log), "redisson");
  assert.deepEqual(lockKeys(readLog(log)), [{ key: "lock", commands: 3 }]);
  const { text } = about(readLog(log), ["lock"]);
  assert.ok(!/private|secret|password|other/.test(text), text);
  assert.deepEqual([...text.matchAll(/reply: ([^,]*?),/g)].map((m) => m[1].replaceAll("\n", "|")), ["$-1|", ":5|", "*2|:1|$-1|"]);
  assert.equal(text.split("HGETALL")[0].split("\n").length, log.split("HGETALL")[0].split("\n").length); // its lines are where they were
});

test("UTF-16 is read, as a shell of Windows writes it", async () => {
  const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(monitor, "utf16le")]);
  assert.equal(await textOf(new Blob([wide])), monitor);
});

test("gzip is unpacked, though its end is missing", async () => {
  const zipped = gzipSync(monitor);
  assert.equal(await textOf(new Blob([zipped])), monitor);
  assert.equal(await textOf(new Blob([zipped.subarray(0, -8)])), monitor);
});

test("what only the server unpacks is known, and what is read here is not taken for it", () => {
  const line = monitor.split("\n")[4];
  for (const text of [
    JSON.stringify({ log: `${line}\n` }), `t,m\n1,"${line.replaceAll('"', '""')}"\n`,
    JSON.stringify({ message: "channel: [id: 0x01, L:/1:2 - R:r/3:4] message: *1\r\n$4\r\nPING\r\n" }),
    "[pod/a/b] x channel: [id: 0x01, L:/1:2 - R:r/3:4] message: *1\n[pod/a/b] $4\n[pod/a/b] PING\n",
  ]) {
    assert.ok(packed.test(text), text);
  }
  for (const text of [monitor, "x channel: [id: 0x01, L:/1:2 - R:r/3:4] message: *1\n$4\nPING\n"]) {
    assert.ok(!packed.test(text), text);
  }
  assert.deepEqual(readLog(monitor.replace(/^(?=1)/gm, "  7\t")).commands.map((c) => c.client), readLog(monitor).commands.map((c) => c.client));
  assert.equal(formatOf(`Why?\n\n${monitor}`), "monitor");
});

test("the recorded logs are known, and what is not a log is not", () => {
  const file = (/** @type {string} */ name) => readFileSync(new URL(`../../../engine/outside/logs/testdata/${name}`, import.meta.url), "utf8");
  for (const [name, key, commands] of /** @type {[string, string, number][]} */ ([
    ["redis-py-4.3.4.log", "invoice:7", 11], ["redis-py-4.3.4-lease-over.log", "invoice:7", 13], ["redis-semaphore-5.8.0.log", "mutex:order:9", 38],
    ["ioredis-6.0.0-same-value.log", "report", 11], ["redsync-4.18.1.log", "invoice:7", 21], ["redislock-0.9.4-lease-over.log", "invoice:7", 22],
    ["relock.log", "invoice:7", 20],
  ])) {
    assert.deepEqual(lockKeys(readLog(file(name)))[0], { key, commands }, name);
  }
  for (const text of [`ck" "v1" "NX"\n${monitor}`, `\n08 [0 1.1.1.1:1] "SET" "lock" "v1"\n${monitor}`]) { // cut at its beginning
    assert.deepEqual([formatOf(text), lockKeys(readLog(text))[0].key, readLog(text).unread], ["monitor", "lock", 2]);
  }
  for (const text of ["", "title: x\n", "{}", "hello\n", "\0\x01", "127.0.0.1:6379> GET lock\n\"v\"\n"]) {
    assert.equal(formatOf(text), "", text);
  }
});

// Processor time, so that a busy machine changes little: what reads a line again for each
// that follows would take 64 times as much.
test("a log eight times as long takes about eight times the work", () => {
  const one = monitor.split("\n").slice(1, -2).join("\n") + "\n";
  const work = (/** @type {number} */ bytes) => {
    const times = Math.ceil(bytes / one.length);
    const log = one.repeat(times);
    const start = process.cpuUsage();
    const read = readLog(log);
    assert.equal(lockKeys(read).length, 3);
    assert.equal(about(read, ["lock"]).kept % times, 0);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  work(1 << 18); // compiled from here on
  const short = Math.min(work(1 << 18), work(1 << 18), work(1 << 18));
  const long = work(8 << 18);
  assert.ok(long < 24 * short, `${long} µs of work, ${short} µs for an eighth`);
});
