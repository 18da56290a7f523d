import assert from "node:assert/strict";
import { test } from "node:test";
import { INITIAL, intents, isFolded, pixels, reduce, rowsBetween, whole } from "../js/table-state.js";
import { row } from "./films.js";

const rows = (n) => Array.from({ length: n }, (_, i) => row(i + 1));
const long = rows(1000);
const drawn = (state, list, step = 0, more = {}) => reduce(state, { type: "drawn", rows: list, step, moment: 0, follow: true, ...more });
const at = ({ placed }) => `${placed.first}-${placed.last}`;
/** What is to be done but for folds, which are looked at whenever you move. */
const kinds = (was, now) => intents(was, now).map((one) => one.kind).filter((kind) => kind !== "fold");
/** A long table whose rows 380 to 420 are seen. */
const scrolled = () => reduce(drawn(INITIAL, long), { type: "seen", a: 380, b: 420 });

test("a short table is in the page as a whole, and only marked afterwards", () => {
  const list = rows(500);
  const first = drawn(INITIAL, list);
  assert.deepEqual([whole(first), at(first), kinds(INITIAL, first)], [true, "0-500", ["others", "place"]]);
  const next = drawn(first, list, 3);
  assert.deepEqual(intents(first, next), [{ kind: "mark", from: -1, to: 3 }, { kind: "fold" }]);
  assert.deepEqual(kinds(next, drawn(next, list, 3)), []);
  const more = [...list];
  assert.deepEqual(kinds(next, drawn(next, more, 3)), ["place"], "it has grown");
  assert.deepEqual(kinds(next, drawn(next, rows(2), 1)), ["others", "place"], "it is of another run");
  assert.deepEqual(kinds(next, drawn(reduce(next, { type: "changed" }), list, 3)), ["place"]);
});

test("of a long one those are around where you are", () => {
  const first = drawn(INITIAL, long);
  assert.deepEqual([whole(first), at(first)], [false, "0-12"]);
  assert.deepEqual(kinds(first, drawn(first, long, 5)), ["mark"], "it is there");
  assert.equal(at(drawn(first, long, 500)), "487-511");
  assert.equal(at(drawn(first, long, 1000)), "987-1000");
  assert.equal(at(drawn(first, long, 500, { follow: false })), "0-12", "who looks elsewhere stays there");
});

test("and around what is seen, before its end is", () => {
  const state = scrolled();
  assert.equal(at(state), "368-432");
  const scroll = (a, b) => at(reduce(state, { type: "seen", a, b }));
  assert.equal(scroll(372, 428), "368-432");
  assert.equal(scroll(371, 411), "359-423");
  assert.equal(scroll(389, 429), "377-441");
  assert.equal(at(reduce(drawn(INITIAL, long), { type: "seen", a: 0, b: 8 })), "0-12", "nothing is before the first");
});

test("where rows change one stays where one has scrolled to", () => {
  const state = scrolled();
  const more = [...long, row(1001)];
  const grown = drawn(state, more, 1, { follow: false });
  assert.deepEqual([kinds(state, grown), at(grown)], [["settle"], "368-432"]);
  const settled = reduce(grown, { type: "seen", a: 400, b: 420 });
  assert.deepEqual([at(settled), settled.fresh], ["388-432", false]);
  assert.equal(at(drawn(state, more, 1001)), "988-1001", "unless it is followed");
});

test("the commands are shown of the row that you are inside of, until you leave it", () => {
  const first = drawn(INITIAL, long, 5);
  const inside = drawn(first, long, 5, { moment: 1 });
  assert.deepEqual([[...inside.open], kinds(first, inside)], [[5], ["place"]], "they are put into the page");
  const out = drawn(inside, long, 5);
  assert.deepEqual([[...out.open], kinds(inside, out)], [[5], ["place"]]);
  const on = drawn(out, long, 6);
  assert.deepEqual([[...on.open], kinds(out, on)], [[], ["place"]]);
  assert.deepEqual(kinds(on, drawn(on, long, 7)), ["mark"]);
});

test("the row that the address names is put into the page of a long table", () => {
  const name = (state, step) => at(reduce(state, { type: "named", step }));
  assert.equal(name(scrolled(), 700), "687-712");
  const short = drawn(INITIAL, rows(3));
  assert.equal(reduce(short, { type: "named", step: 2 }), short);
  assert.deepEqual([name(scrolled(), 1001), name(scrolled(), -1)], ["368-432", "368-432"]);
});

test("a table of which rows have not come is a long one", () => {
  const list = rows(40);
  list[20] = undefined;
  const state = drawn(INITIAL, list, 1);
  assert.deepEqual([whole(state), at(state)], [false, "0-12"]);
  const filled = list.map((r, i) => r ?? row(i + 1));
  assert.equal(whole(drawn(state, filled, 1)), false, "also once they have");
});

test("rows are as high as they were, others as those are on average", () => {
  const state = reduce(scrolled(), { type: "measured", heights: Array.from({ length: 64 }, (_, i) => (i % 2 ? 50 : 150)) });
  assert.equal(state.guess, 100);
  assert.deepEqual([pixels(state, 0, 368), pixels(state, 368, 371), pixels(state, 431, 433)], [36_800, 350, 150]);
  const narrow = reduce(state, { type: "narrowed" });
  assert.equal(pixels(narrow, 368, 371), 300);
  assert.equal(drawn(state, rows(900)).heights.length, 0, "of another run nothing is known");
});

/** Rows of 10, 20, 30, 40 px. */
const between = (top, bottom) => {
  const { a, b, before } = rowsBetween({ ...INITIAL, rows: rows(4), heights: [10, 20, 30, 40] }, top, bottom);
  return `${a}-${b} after ${before}`;
};

test("the rows on the screen are those of which some px are", () => {
  assert.equal(between(0, 100), "0-4 after 0");
  assert.equal(between(9, 11), "0-2 after 0");
  assert.equal(between(10, 30), "1-2 after 10");
  assert.equal(between(10, 31), "1-3 after 10");
  assert.equal(between(59, 61), "2-4 after 30");
});

test("there is always one: the first before all, the last after all", () => {
  assert.equal(between(-500, -400), "0-1 after 0");
  assert.equal(between(500, 600), "3-4 after 60");
  assert.equal(between(15, 15), "1-2 after 10");
});

test("of a long table those are found that are scrolled to", () => {
  const { a, b, before } = rowsBetween({ ...INITIAL, rows: new Array(20_000) }, 900_000, 900_700);
  assert.deepEqual([a, b, before], [10_000, 10_008, 900_000]);
});

test("rows with a fold are folded until you are inside, or open it, or name one of them", () => {
  const list = rows(6).map((one, i) => (i === 3 ? { ...one, fold: 2 } : one)); // T2 to T4
  const [folded, inside] = [drawn(INITIAL, list, 1), drawn(INITIAL, list, 3)];
  const [one] = folded.folds;
  assert.deepEqual(folded.folds, [{ first: 2, last: 4 }]);
  const pressed = reduce(folded, { type: "pressed", first: 2 });
  const named = reduce(folded, { type: "named", step: 4 });
  assert.deepEqual([folded, inside, pressed, named].map((state) => isFolded(state, one)), [true, false, false, false]);
  assert.deepEqual(intents(folded, pressed), [{ kind: "fold" }]);
  assert.ok(isFolded(reduce(pressed, { type: "pressed", first: 2 }), one), "a second press closes it");
});
