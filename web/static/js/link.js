// Writes what is stepped through into a link, and reads it back: see the Go
// package web/link, which does the same.

import { say } from "./words.js";

const PREFIX = "v1.z.";
// Words of a scenario's JSON, each of which a link has as one control character.
const WORDS = [
  '"threads":[{"name":"',
  '"retry":{"times":',
  '{"thread":"',
  '"interval":"',
  '"schedule":[',
  '{"until":"',
  '"jitter":"',
  '"watchdog":"',
  '"lock":{"key":"',
  '"lease":"',
  '{"name":"',
  '"start":"',
  '"work":"',
  '"depth":',
  '"repeat":',
  '"on-lost":"stop"',
  '"faults":[',
  '"level":',
  '"round":1',
  '"do":"',
  '"at":"',
  '"for":"',
  '"seed":',
  '{"title":"',
  '"policy":"random"',
  '{"time":"',
  'ms"',
  '},{',
];
const CODES = Array.from({ length: 32 }, (_, code) => code).filter((code) => code > 0 && ![9, 10, 13].includes(code));

const shorten = (/** @type {string} */ text) => WORDS.reduce((t, word, i) => t.replaceAll(word, String.fromCharCode(CODES[i])), text);
const lengthen = (/** @type {string} */ text) => WORDS.reduce((t, word, i) => t.replaceAll(String.fromCharCode(CODES[i]), word), text);

const MAX_PACKED = 64 * 1024;
const MAX_PLAIN = 64 * 1024;

export const LONGEST = 1900; // characters that every program takes as a link

/** A link that cannot be read; its message is for people. */
export class LinkError extends Error {}

/**
 * Packs a scenario with its schedule, and the number of moves to go to.
 * @param {Record<string, any>} scenario
 * @param {number} at
 * @returns {Promise<string>}
 */
export async function pack(scenario, at) {
  const { expect, ...rest } = scenario;
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(shorten(JSON.stringify(rest))));
  let text = "";
  for (const byte of bytes) {
    text += String.fromCharCode(byte);
  }
  return `${PREFIX}${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}~${at}`;
}

/**
 * Unpacks a link.
 * @param {string} link
 * @returns {Promise<{scenario: object, at: number}>}
 */
export async function unpack(link) {
  if (!link.startsWith(PREFIX)) {
    throw new LinkError(say("Unknown link format: the link may come from a newer version."));
  }
  if (link.length > MAX_PACKED) {
    throw new LinkError(say("This link holds more than a scenario may have (64 KiB)."));
  }
  const [body, position = ""] = link.slice(PREFIX.length).split("~");
  try {
    if (!/^\d{1,6}$/.test(position)) {
      throw new Error("no position");
    }
    const text = atob(body.replaceAll("-", "+").replaceAll("_", "/"));
    const plain = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, (c) => c.charCodeAt(0)), MAX_PLAIN);
    return { scenario: JSON.parse(lengthen(new TextDecoder("utf-8", { fatal: true }).decode(plain))), at: Number(position) };
  } catch (error) {
    if (error instanceof LinkError) {
      throw error;
    }
    throw new LinkError(say("This link is incomplete; a part of it may have been cut off."));
  }
}

/**
 * @param {GenericTransformStream} stream
 * @param {Uint8Array} bytes
 * @param {number} [limit]
 */
async function through(stream, bytes, limit = Infinity) {
  const writer = stream.writable.getWriter();
  writer.write(bytes).catch(() => {}); // the reader sees the same error
  writer.close().catch(() => {});
  const reader = stream.readable.getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new LinkError(say("This link holds more than a scenario may have (64 KiB)."));
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
