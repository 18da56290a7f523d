import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { growing, nearby } from "../js/lanes.js";

const TAGS = [
  `<svg class="lanes-run" width="@wide" height="200">`, `<rect class="old" x="@20" width="=80"/>`, `<rect class="bar" x="@100" width="=~100"/>`, `<line x1="@103" x2="@~3"/>`,
  `<g data-drain="100 50 0.5 100"><svg viewBox="@span"></svg></g>`, `<rect data-step="2" x="@60" width="=~60"/></svg>`,
];

/** A picture whose last row is at 100, and in which a millisecond is half a unit wide. */
function picture(more = {}) {
  const g = growing();
  g.change({ whole: true, left: 0, right: 124, width: 640, scale: 0.5, edits: [{ keep: 0, add: TAGS }], ...more });
  return g;
}

const shown = (html, name) => Number(new RegExp(`class="${name}"[^>]*width="([\\d.]+)%"`).exec(html)?.[1]);

test("a state lasts as long as time goes by, and others stay", () => {
  const g = picture();
  assert.equal(shown(g.html(), "bar"), 3.75); // to the end of the last state: 24 of 640
  assert.equal(shown(g.html(100), "bar"), 7.813); // 50 units
  assert.equal(shown(g.html(100), "old"), 12.5);
  assert.match(g.html(100), /<line x1="16.094%" x2="22.969%" data-open="x2@3"/); // 3 units before the clock at 150
  assert.match(g.html(100), /viewBox="0 0 640 200"/);
});

test("a picture fills its box, and has room for what comes", () => {
  const g = picture();
  assert.equal(/width="(\d+)"/.exec(g.html(0, 1000))?.[1], "1000");
  assert.equal(/width="(\d+)"/.exec(g.html(1200, 0))?.[1], String(700 + 4 + 120));
  assert.equal(g.goes(), true);
  assert.equal(picture({ scale: 0 }).goes(), false);
});

test("a wait is no longer than what is folded", () => {
  assert.equal(picture().html(100_000), picture().html(1280)); // 640 units
});

/** What html has made, as far as goOn looks at it. */
function page() {
  const element = (attributes, kind = "", inside = []) => ({
    attributes,
    classList: { contains: (name) => name === kind },
    getAttribute: (name) => attributes[name],
    setAttribute(name, value) {
      attributes[name] = value;
    },
    querySelectorAll: () => inside,
  });
  const bar = element({ "data-open": "width=100" });
  const wait = element({ "data-open": "x2@3" });
  const [area, edge] = [element({}), element({}, "lane-edge")];
  const lease = element({ "data-drain": "100 50 0.5 100" }, "", [area, edge]);
  return { bar, wait, area, edge, box: { querySelectorAll: (what) => (what === "[data-open]" ? [bar, wait] : [lease]) } };
}

test("time goes on in what is there already", () => {
  const g = picture();
  g.html(0);
  const { bar, wait, area, edge, box } = page();
  assert.equal(g.goOn(box, 100), 23.438); // the clock is at 150 of 640
  assert.equal(bar.attributes.width, "7.813%");
  assert.equal(wait.attributes.x2, "22.969%");
  assert.equal(edge.attributes.d, "M100 50L150 75");
  assert.equal(area.attributes.d, "M100 50L150 75V100H100Z");
  g.goOn(box, 400);
  assert.equal(edge.attributes.d, "M100 50L200 100"); // nothing is left of it then
});

test("what has no room, or was drawn by others, is made again", () => {
  const g = picture();
  g.html(0);
  assert.equal(g.goOn(page().box, 1200), null);
  g.html(1200);
  assert.notEqual(g.goOn(page().box, 1200), null);
  assert.equal(g.goOn({ querySelectorAll: () => [] }, 100), null);
});

// ---- a part of a long picture

/** Lanes of which those around some rows are there, and what is asked for. */
function part(...there) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  globalThis.window = { setTimeout: (act, ms) => setTimeout(act, ms) };
  const p = { there, asked: [], drawn: [] };
  p.lanes = nearby({ there: (row) => p.there.includes(row), bring: async (row) => p.asked.push(row) && `lanes at ${row}`, draw: (html) => p.drawn.push(html) });
  return p;
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("lanes are asked for where they end, once, and now and then only", async () => {
  const p = part(1, 2);
  for (const row of [1, 2, 3]) {
    p.lanes.at(row);
  }
  mock.timers.tick(0);
  assert.deepEqual(p.asked, [3]);
  for (const row of [3, 4, 5]) {
    p.lanes.at(row); // a held key
    mock.timers.tick(20);
  }
  assert.deepEqual(p.asked, [3]);
  mock.timers.tick(100);
  assert.deepEqual(p.asked, [3, 5]);
  await settled();
  assert.deepEqual(p.drawn, ["lanes at 5"], "the others come too late");
});

test("lanes that have come meanwhile are not asked for, and those of other rows again", () => {
  const p = part(1);
  p.lanes.at(3);
  p.there = [3];
  mock.timers.tick(0);
  assert.deepEqual(p.asked, []);
  p.there = [];
  p.lanes.at(3);
  mock.timers.tick(0);
  p.lanes.at(3);
  mock.timers.tick(500);
  assert.deepEqual(p.asked, [3], "they are under way");
  p.lanes.changed();
  p.lanes.at(3);
  mock.timers.tick(0);
  assert.deepEqual(p.asked, [3, 3]);
});

test("lanes that nobody could be asked for are asked for again, once", async () => {
  const p = part();
  const answers = [undefined, ""];
  p.lanes = nearby({ there: () => false, bring: async (row) => (p.asked.push(row), answers.shift()), draw: (html) => p.drawn.push(html) });
  for (const asked of [[7], [7, 7], [7, 7]]) {
    p.lanes.at(7);
    mock.timers.tick(1000);
    await settled();
    assert.deepEqual(p.asked, asked);
  }
  assert.deepEqual(p.drawn, []);
});
