// Brings the rows of a long run when they are needed: the current one, those in sight,
// and those that are likely to be next.
/**
 * @typedef {import("./film.js").Film} Film
 *
 * @typedef {object} Portions
 * @property {(row: number) => void} stand you are at a row
 * @property {(row: number) => void} look you look at a row
 * @property {(from: number, to: number) => void} see the rows from one to
 *   before another are on the screen, or near it
 * @property {(row: number) => boolean} failed a row could not be brought
 * @property {() => void} retry asks again for what could not be brought
 * @property {(changed: () => void) => void} listen what to do when rows have
 *   come, or could not be brought
 */

const AT_ONCE = 3; // requests
const LONGEST = 20_000; // ms that one may take
const AGAIN = 1000; // ms until what has failed is asked for by going there once more

/**
 * @param {Film} film whose rows they are: one that is not here is undefined
 * @param {string} address ready for which rows
 * @param {number} size rows of a portion
 * @returns {Portions}
 */
export function portions(film, address, size) {
  /** @type {Set<number>} */
  const coming = new Set();
  /** @type {Map<number, number>} */
  const failures = new Map(); // when
  let standing = 0; // portion
  let looking = 0; // portion
  let direction = 1; // in which you went last
  let [firstSeen, lastSeen] = [0, -1]; // portions
  let changed = () => {};

  const of = (/** @type {number} */ row) => Math.floor((row - 1) / size);
  const count = () => Math.ceil(film.rows.length / size);
  const firstOf = (/** @type {number} */ n) => n * size; // index
  const endOf = (/** @type {number} */ n) => Math.min(firstOf(n) + size, film.rows.length);

  /** @param {number} n */
  function here(n) {
    for (let i = firstOf(n); i < endOf(n); i++) {
      if (!film.rows[i]) {
        return false;
      }
    }
    return true;
  }

  /** What to have, the most urgent first. */
  function wanted() {
    const seen = Array.from({ length: lastSeen - firstSeen + 1 }, (_, i) => firstSeen + i);
    const next = [standing + direction, standing - direction, standing + 2 * direction, lastSeen + 1, firstSeen - 1];
    return [standing, looking, ...seen, ...next].filter((n) => n >= 0 && n < count());
  }

  function ask() {
    for (const n of wanted()) {
      if (coming.size >= AT_ONCE) {
        return;
      }
      if (!coming.has(n) && !failures.has(n) && !here(n)) {
        bring(n);
      }
    }
  }

  /** @param {number} n */
  async function bring(n) {
    coming.add(n);
    try {
      const answer = await fetch(`${address}from=${firstOf(n) + 1}&count=${size}`, { signal: AbortSignal.timeout(LONGEST) });
      if (!answer.ok) {
        throw new Error(String(answer.status));
      }
      take(n, await answer.json());
    } catch {
      failures.set(n, Date.now());
    }
    coming.delete(n);
    changed();
    ask();
  }

  /** @param {number} n
   *  @param {{from: number, rows: import("./film.js").Row[]}} portion */
  function take(n, portion) {
    const first = firstOf(n);
    portion.rows.forEach((row, i) => {
      if (row.step !== first + i + 1) {
        throw new Error("other rows than were asked for");
      }
    });
    portion.rows.forEach((row, i) => {
      film.rows[first + i] ??= row; // else a newer one has come on the socket
    });
    if (!here(n)) {
      throw new Error("fewer rows than were asked for");
    }
  }

  addEventListener("online", retry);
  function retry() {
    failures.clear();
    changed();
    ask();
  }

  return {
    stand(row) {
      const n = Math.max(of(row), 0);
      direction = n === standing ? direction : Math.sign(n - standing);
      standing = n;
      if (Date.now() - (failures.get(n) ?? Infinity) > AGAIN) {
        failures.delete(n);
      }
      ask();
    },
    look(row) {
      looking = of(row);
      ask();
    },
    see(from, to) {
      [firstSeen, lastSeen] = [Math.max(of(from), 0), of(to - 1)];
      ask();
    },
    failed: (row) => failures.has(of(row)),
    retry,
    listen(act) {
      changed = act;
    },
  };
}
