// What a timeline's table knows: its rows, where you are, and which rows are in
// the page. Of a long run only those are that are seen, and some around them. A draw
// or a scroll makes another state of it; nothing here knows a page.

/**
 * @typedef {import("./film.js").Row} Row
 *
 * @typedef {object} State
 * @property {Row[]} rows undefined where they have not come yet
 * @property {number} lists how many other runs were shown before; one that grows stays the same
 * @property {boolean} partly some rows have not come yet, or had not at first
 * @property {boolean} fresh the rows have changed since some were put into the page
 * @property {number} current step
 * @property {number} moment the command inside of it, 0 outside
 * @property {ReadonlySet<number>} open steps whose commands are shown
 * @property {{first: number, last: number}} placed indexes of the rows in the page, and after them: another one each time
 * @property {object | null} unsettled rows are to be put into the page where it is scrolled to: another one each time
 * @property {readonly Fold[]} folds rows that one row can stand for
 * @property {ReadonlySet<number>} unfolded steps of the first rows of folds that a person has opened
 * @property {readonly number[]} heights in px, of rows that were in the page
 * @property {number} guess px of any other
 *
 * @typedef {{type: "drawn", rows: Row[], step: number, moment: number, follow: boolean}
 *   | {type: "changed"}
 *   | {type: "named", step: number}
 *   | {type: "pressed", first: number}
 *   | {type: "seen", a: number, b: number}
 *   | {type: "measured", heights: number[]}
 *   | {type: "narrowed"}} Event
 *   drawn: these rows are shown, standing at a step and at a command inside of it.
 *   changed: they are other ones, though the list is the same. named: the address
 *   names one. seen: those between two indexes are on the screen. measured: so high
 *   are those in the page. narrowed: they have other heights now. pressed: the row
 *   that stands for a fold, which begins with that step.
 *
 * @typedef {{first: number, last: number}} Fold steps
 *
 * @typedef {{kind: "others"} | {kind: "place"} | {kind: "settle"} | {kind: "mark", from: number, to: number} | {kind: "fold"}} Intent
 *   others: nothing that was in the page is of this list. place: other rows are to be
 *   in the page. settle: it is to be said which are seen. mark: from one index to
 *   before another it has changed whether a row is over. fold: others are open.
 */

const MOST = 500; // rows that are all in the page
const AROUND = 12; // rows in the page before and after those that are seen, of more
const NEAR = 4; // when fewer are left there, others are put into the page
const GUESS = 90; // px of a row while none was seen

/** @type {State} */
export const INITIAL = Object.freeze({
  rows: [],
  lists: 0,
  partly: false,
  fresh: false,
  current: 0,
  moment: 0,
  open: new Set(),
  placed: { first: 0, last: 0 },
  unsettled: null,
  folds: [],
  unfolded: new Set(),
  heights: [],
  guess: GUESS,
});

/**
 * @param {State} state
 * @param {Event} event
 * @returns {State}
 */
export function reduce(state, event) {
  switch (event.type) {
    case "drawn":
      return drawn(state, event);
    case "changed":
      return { ...state, fresh: true };
    case "named":
      return named(state, event.step);
    case "pressed":
      return { ...state, unfolded: toggled(state.unfolded, event.first) };
    case "seen":
      return seen(state, event.a, event.b);
    case "measured":
      return measured(state, event.heights);
    case "narrowed":
      return { ...state, heights: [] };
  }
}

/**
 * The things to do on the way from one state to the next.
 * @param {State} was
 * @param {State} now
 * @returns {Intent[]}
 */
export function intents(was, now) {
  /** @type {Intent[]} */
  const all = [];
  if (now.lists !== was.lists) {
    all.push({ kind: "others" });
  }
  if (now.placed !== was.placed) {
    all.push({ kind: "place" });
  } else if (now.unsettled !== was.unsettled) {
    all.push({ kind: "settle" });
  } else if (now.current !== was.current || now.moment !== was.moment || now.open !== was.open) {
    all.push({ kind: "mark", from: Math.min(was.current, now.current) - 1, to: Math.max(was.current, now.current) });
  }
  if (now.placed !== was.placed || now.current !== was.current || now.unfolded !== was.unfolded) {
    all.push({ kind: "fold" });
  }
  return all;
}

/** @param {State} state @param {Extract<Event, {type: "drawn"}>} event @returns {State} */
function drawn(state, { rows, step, moment, follow }) {
  const others = rows !== state.rows && rows[0] !== state.rows[0]; // else they have grown
  const open = opened(state, step, moment);
  const now = {
    ...state, rows, open, moment,
    current: step,
    fresh: state.fresh || rows !== state.rows,
    ...(others ? { lists: state.lists + 1, partly: rows.includes(/** @type {any} */ (undefined)), heights: [], unfolded: new Set() } : {}),
  };
  if (now.fresh) {
    now.folds = whole(now) ? foldsOf(rows) : [];
  }
  const i = Math.max(step - 1, 0);
  const { first, last } = state.placed;
  if (whole(now) ? now.fresh : follow && (now.fresh || i < first || i >= last)) {
    return placed(now, i - AROUND, i + AROUND);
  }
  if (!whole(now) && now.fresh) {
    return { ...now, unsettled: {} };
  }
  return !whole(now) && (state.open.size > 0 || moment > 0) ? placed(now, first, last) : now;
}

/** The longest folds; the last row is in none. @param {Row[]} rows @returns {Fold[]} */
function foldsOf(rows) {
  const folds = [];
  for (let last = rows.length - 1; last > 0; last--) {
    const first = rows[last - 1].fold;
    if (first) {
      folds.unshift({ first, last });
      last = first;
    }
  }
  return folds;
}

/** The address names a row: it is in the page, and its fold is open. @param {State} state @param {number} step @returns {State} */
function named(state, step) {
  if (step <= 0 || step > state.rows.length) {
    return state;
  }
  const fold = state.folds.find(({ first, last }) => first <= step && step <= last);
  if (fold) {
    return { ...state, unfolded: new Set(state.unfolded).add(fold.first) };
  }
  return whole(state) ? state : placed(state, step - 1 - AROUND, step + AROUND);
}

/** @param {ReadonlySet<number>} set @param {number} one */
const toggled = (set, one) => (set.has(one) ? new Set([...set].filter((n) => n !== one)) : new Set(set).add(one));

/** The steps whose commands are shown: those of the one that you are inside of, until you leave it.
 *  @param {State} state @param {number} step @param {number} moment */
function opened({ open, current }, step, moment) {
  if (moment > 0) {
    return open.has(step) ? open : new Set(open).add(step);
  }
  return step !== current && open.size > 0 ? new Set() : open;
}

/** The rows from a up to b are in the page, and no others. @param {State} state @param {number} a @param {number} b @returns {State} */
function placed(state, a, b) {
  const { length } = state.rows;
  const all = whole(state);
  return { ...state, fresh: false, placed: { first: all ? 0 : Math.max(0, a), last: all ? length : Math.min(length, b) } };
}

/** @param {State} state @param {number} a @param {number} b */
function seen(state, a, b) {
  const { first, last } = state.placed;
  const near = (a - NEAR < first && first > 0) || (b + NEAR > last && last < state.rows.length);
  return near || state.fresh ? placed(state, a - AROUND, b + AROUND) : state;
}

/** @param {State} state @param {number[]} some @returns {State} */
function measured(state, some) {
  const heights = state.heights.slice();
  some.forEach((px, i) => {
    heights[state.placed.first + i] = px;
  });
  const known = Object.values(heights);
  return { ...state, heights, guess: known.reduce((px, h) => px + h, 0) / known.length };
}

// ---- what follows from a state

/** All rows are in the page. @param {State} state */
export const whole = ({ partly, rows }) => !partly && rows.length <= MOST;

/** One row stands for a fold: nobody has opened it, nor stands inside. @param {State} state @param {Fold} fold */
export const isFolded = ({ unfolded, current }, { first, last }) => !unfolded.has(first) && (current < first || current > last);

/** The px of the rows from one index to before another. @param {State} state @param {number} from @param {number} to */
export function pixels({ heights, guess }, from, to) {
  let px = 0;
  for (let i = from; i < to; i++) {
    px += heights[i] ?? guess;
  }
  return px;
}

/**
 * The rows between two edges, which are in px from the start of the first row.
 * @param {State} state with at least one row
 * @param {number} top
 * @param {number} bottom
 * @returns {{a: number, b: number, before: number}} from the first one up to the one after the last, at least one; and the px before them
 */
export function rowsBetween({ rows, heights, guess }, top, bottom) {
  const height = (/** @type {number} */ i) => heights[i] ?? guess;
  let a = 0;
  let px = height(0);
  while (a < rows.length - 1 && px <= top) {
    a++;
    px += height(a);
  }
  const before = px - height(a);
  let b = a + 1;
  while (b < rows.length && px < bottom) {
    px += height(b);
    b++;
  }
  return { a, b, before };
}
