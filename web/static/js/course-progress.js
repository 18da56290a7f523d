// What a learner has done, kept only in the browser: as versioned JSON, which learners
// can take along, bring back and merge.

/**
 * @typedef {object} Done an item that was solved, or looked at
 * @property {string} at the day, "2026-11-22"
 * @property {number} [tries] answers until the right one
 * @property {number} [moves] of a break, the fewest so far
 * @property {any[]} [schedule] that did it
 * @property {number} [review] how often it was answered again, in a row
 * @property {string} [due] the day on which it returns
 *
 * @typedef {boolean | {right: boolean, pick: number | string}} Answer whether it was right, and
 * what it was if that is known: an option's number, lines like "3-7", "none"
 *
 * @typedef {object} Progress
 * @property {1} relock_progress the version
 * @property {Record<string, Done>} items by address
 * @property {Record<string, Record<string, Answer>>} [check] of the concept check, before and after: question to its answer
 * @property {string} [name] of who did it, in a file or a link only
 */

/** What the addresses begin with of questions and breaks that were made of a run. */
export const MADE = "made/";

/** The address of what was made of a run: the same for the same. @param {string} query */
export function madePath(query) {
  const asked = new URLSearchParams(query);
  let hash = 0;
  for (const c of `${asked.get("kind") ?? ""} ${asked.get("from") ?? ""}`) {
    hash = (Math.imul(hash, 31) + (c.codePointAt(0) ?? 0)) >>> 0;
  }
  return MADE + hash.toString(36);
}

const KEY = "relock-progress";
const DAYS = [1, 3, 8, 20]; // after which a question returns

/** @returns {Progress} */
export const nothing = () => ({ relock_progress: 1, items: {} });

/** @param {Date} date @param {number} [later] days */
export function dayOf(date, later = 0) {
  const day = new Date(date.getFullYear(), date.getMonth(), date.getDate() + later, 12);
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
}

/**
 * Reads an export, or null if it is none.
 * @param {string} text
 * @returns {Progress | null}
 */
export function parse(text) {
  try {
    const one = JSON.parse(text);
    const fits = one?.relock_progress === 1 && one.items !== null && typeof one.items === "object" && !Array.isArray(one.items);
    if (!fits || Object.values(one.items).some((d) => typeof (/** @type {any} */ (d)?.at) !== "string")) {
      return null;
    }
    return one;
  } catch {
    return null;
  }
}

/**
 * Puts two together: what is done in either is done, by the better of the two.
 * @param {Progress} a
 * @param {Progress} b
 * @returns {Progress}
 */
export function merged(a, b) {
  const items = { ...a.items };
  for (const [path, other] of Object.entries(b.items)) {
    const own = items[path];
    items[path] = own ? better(own, other) : other;
  }
  /** @type {Record<string, Record<string, Answer>>} */
  const check = {};
  for (const when of new Set([...Object.keys(a.check ?? {}), ...Object.keys(b.check ?? {})])) {
    check[when] = { ...b.check?.[when], ...a.check?.[when] };
  }
  return { relock_progress: 1, items, ...(Object.keys(check).length > 0 ? { check } : {}) };
}

/** @param {Done} a @param {Done} b @returns {Done} */
function better(a, b) {
  const fewer = (b.moves ?? Infinity) < (a.moves ?? Infinity) ? b : a;
  const further = (b.review ?? 0) > (a.review ?? 0) ? b : a;
  /** @type {Done} */
  const one = { at: a.at < b.at ? a.at : b.at };
  const tries = Math.min(a.tries ?? Infinity, b.tries ?? Infinity);
  if (tries < Infinity) {
    one.tries = tries;
  }
  if (fewer.moves !== undefined) {
    one.moves = fewer.moves;
    one.schedule = fewer.schedule;
  }
  if (further.due !== undefined) {
    one.review = further.review;
    one.due = further.due;
  }
  return one;
}

/**
 * An item was solved. A question returns after a day, and each time it is
 * answered at once after longer; one that was answered wrong first, after a day.
 * @param {Progress} progress
 * @param {string} path
 * @param {{asked?: boolean, tries?: number, moves?: number, schedule?: any[]}} how
 * @param {Date} now
 * @returns {Progress}
 */
export function solved(progress, path, how, now) {
  const own = progress.items[path];
  const today = dayOf(now);
  /** @type {Done} */
  const done = { ...own, at: own?.at ?? today };
  if (how.tries !== undefined) {
    done.tries = Math.min(own?.tries ?? Infinity, how.tries);
  }
  if (how.moves !== undefined && how.moves <= (own?.moves ?? Infinity)) {
    done.moves = how.moves;
    done.schedule = how.schedule;
  }
  if (how.asked && (!own?.due || own.due <= today)) {
    const known = own?.due !== undefined && how.tries === 1;
    const review = known ? (own.review ?? 0) + 1 : 0;
    done.review = review;
    done.due = review < DAYS.length ? dayOf(now, DAYS[review]) : "9999-12-31";
  }
  return { ...progress, items: { ...progress.items, [path]: done } };
}

/** The questions that return now, the longest due first. @param {Progress} progress @param {Date} now */
export const due = (progress, now) =>
  Object.entries(progress.items)
    .filter(([, d]) => d.due !== undefined && d.due <= dayOf(now))
    .sort(([, a], [, b]) => ((a.due ?? "") < (b.due ?? "") ? -1 : 1))
    .map(([path]) => path);

/** @returns {Progress} */
export function load() {
  try {
    return parse(localStorage.getItem(KEY) ?? "") ?? nothing();
  } catch {
    return nothing(); // no storage: what is done is known on this page alone
  }
}

/** Keeps it, and tells whether there was room. @param {Progress} progress */
export function save(progress) {
  try {
    localStorage.setItem(KEY, JSON.stringify(progress));
    return true;
  } catch {
    return false;
  }
}

const PREFIX = "p1.";

/** As a link's fragment. @param {Progress} progress */
export async function packed(progress) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(progress)));
  let text = "";
  for (const byte of bytes) {
    text += String.fromCharCode(byte);
  }
  return PREFIX + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Reads a fragment, or null where it is none. @param {string} text @returns {Promise<Progress | null>} */
export async function unpacked(text) {
  if (!text.startsWith(PREFIX)) {
    return null;
  }
  try {
    const plain = atob(text.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(plain, (c) => c.charCodeAt(0)));
    return parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

/** @param {CompressionStream | DecompressionStream} stream @param {Uint8Array} bytes */
async function through(stream, bytes) {
  const out = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(/** @type {any} */ (stream));
  return new Uint8Array(await new Response(out).arrayBuffer());
}

/** The question of the concept check at an address: the same one in both halves. @param {string} path */
export const questionAt = (path) => path.replace(/^.*\//, "").replace(/-again$/, "");

/**
 * An answer of the concept check was given. It can change until all are answered: from
 * then on the learner can know what is right.
 * @param {Progress} progress
 * @param {"before" | "after"} when
 * @param {string} path
 * @param {{right: boolean, pick: string}} answer
 * @param {string[]} paths of the questions that are asked
 * @returns {Progress}
 */
export function answered(progress, when, path, answer, paths) {
  const own = asked(progress.check?.[when], paths);
  return Object.keys(own).length >= paths.length ? progress : { ...progress, check: { ...progress.check, [when]: { ...own, [questionAt(path)]: answer } } };
}

/**
 * The answers to questions that are asked: an earlier version may have asked others.
 * @param {Record<string, Answer> | undefined} answers
 * @param {string[]} paths
 * @returns {Record<string, Answer>}
 */
export function asked(answers, paths) {
  const ids = paths.map(questionAt);
  return Object.fromEntries(Object.entries(answers ?? {}).filter(([id]) => ids.includes(id)));
}

/** How many answers there are, and how many are right. @param {Record<string, Answer> | undefined} answers */
export function scoreOf(answers) {
  const list = Object.values(answers ?? {});
  return { answered: list.length, right: list.filter((a) => a === true || (typeof a === "object" && a?.right === true)).length };
}

/**
 * The answers of a half as its addresses carry them, with dots between them: 0 for none and
 * for one that is not known.
 * @param {Progress} progress
 * @param {"before" | "after"} when
 * @param {string[]} paths of its questions
 */
export const carried = (progress, when, paths) =>
  paths
    .map((path) => {
      const answer = progress.check?.[when]?.[questionAt(path)];
      const pick = typeof answer === "object" ? String(answer?.pick) : NONE;
      return /^(none|[1-9]\d?(-[1-9]\d?)*)$/.test(pick) ? pick : NONE;
    })
    .join(".");

const NONE = "0"; // no answer

/** Whether all of what an address carries is answered. @param {string} so */
const whole = (so) => !so.split(".").includes(NONE);

/**
 * Where a half of the concept check goes on: at its first question without an answer, and
 * once all are answered, at the result, beside the other half if that is done.
 * @param {Progress} progress
 * @param {"before" | "after"} when
 * @param {string[]} paths of its questions
 */
export function goesOn(progress, when, paths) {
  const so = carried(progress, when, paths);
  const other = carried(progress, when === "after" ? "before" : "after", paths);
  const query = new URLSearchParams({ ...(/[^0.]/.test(so) ? { so } : {}), ...(whole(other) ? { other } : {}), ...(whole(so) ? { half: when } : {}) });
  return `/learn/${whole(so) ? "check" : paths[so.split(".").indexOf(NONE)]}${query.size > 0 ? "?" : ""}${query}`;
}
