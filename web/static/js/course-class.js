// For teachers: what several people have done becomes a table, here in the
// browser. Nothing is sent but the moves of a break, to be played again.
import { MADE, parse, scoreOf, unpacked } from "./course-progress.js";
import { byId, download, make } from "./dom.js";
import { say } from "./words.js";

/**
 * @typedef {import("./course-progress.js").Progress} Progress
 * @typedef {{name: string, progress: Progress, checked: number, wrong: string[]}} Learner
 */

const MOST = 1 << 20; // bytes of a file
const MANY = 200; // learners in a table

/**
 * The table's rows, the first its head: what a spreadsheet reads.
 * @param {Learner[]} learners
 * @param {{id: string, title: string, items: string[]}[]} chapters
 * @returns {string[][]}
 */
export function rowsOf(learners, chapters) {
  const score = (/** @type {Progress["check"]} */ check, /** @type {string} */ when) => {
    const { answered, right } = scoreOf(check?.[when]);
    return answered > 0 ? `${right}/${answered}` : "";
  };
  return [
    [say("Name"), say("Done"), ...chapters.map((c) => c.title), say("First try"), say("Breaks played again"), say("Own questions and breaks"), say("Before"), say("After")],
    ...learners.map(({ name, progress, checked, wrong }) => {
      const all = chapters.flatMap((c) => c.items).filter((path) => path in progress.items);
      const asked = all.filter((path) => progress.items[path].tries !== undefined);
      const first = asked.filter((path) => progress.items[path].tries === 1);
      const own = Object.keys(progress.items).filter((path) => path.startsWith(MADE));
      return [
        name,
        String(all.length),
        ...chapters.map((c) => `${c.items.filter((path) => path in progress.items).length}/${c.items.length}`),
        asked.length > 0 ? `${first.length}/${asked.length}` : "",
        wrong.length > 0 ? say("%d do not: %s", wrong.length, wrong.join(" ")) : String(checked),
        own.length > 0 ? String(own.length) : "",
        score(progress.check, "before"),
        score(progress.check, "after"),
      ];
    }),
  ];
}

const TALK = [0.35, 0.7]; // where so many are right at once, neighbours convince each other

/**
 * How many were right at the first try, for each question that somebody has
 * answered.
 * @param {Learner[]} learners
 * @param {{questions: {path: string, title: string}[]}[]} chapters
 * @returns {{path: string, title: string, first: number, answered: number, talk: boolean}[]}
 */
export function questionsOf(learners, chapters) {
  return chapters
    .flatMap((c) => c.questions)
    .map(({ path, title }) => {
      const tries = learners.map(({ progress }) => progress.items[path]?.tries).filter((n) => n !== undefined);
      const first = tries.filter((n) => n === 1).length;
      const share = first / tries.length;
      return { path, title, first, answered: tries.length, talk: share >= TALK[0] && share <= TALK[1] };
    })
    .filter(({ answered }) => answered > 0);
}

/** As a file of values; what begins like a formula does not become one. @param {string[][]} rows */
export const csvOf = (rows) =>
  rows.map((row) => row.map((cell) => `"${(/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell).replaceAll('"', '""')}"`).join(",")).join("\r\n") + "\r\n";

/** The progress that a text's links carry: their fragments. @param {string} text */
export const linksIn = (text) => text.match(/(?<=#)p1\.[\w-]+/g) ?? [];

/** @param {HTMLElement} page */
export function klass(page) {
  /** @type {Learner[]} */
  const learners = [];
  const chapters = JSON.parse(page.dataset.chapters ?? "[]");
  const note = (/** @type {string} */ text) => {
    byId("class-note").textContent = text;
  };

  /** @param {Progress} progress @param {string} name */
  async function add(progress, name) {
    if (learners.length >= MANY) {
      note(say("A table has room for %d.", MANY));
      return;
    }
    /** @type {Learner} */
    const one = { name: typeof progress.name === "string" && progress.name ? progress.name.slice(0, 60) : name, progress, checked: 0, wrong: [] };
    learners.push(one);
    draw();
    const known = chapters.flatMap((/** @type {{items: string[]}} */ c) => c.items);
    for (const [path, done] of Object.entries(progress.items)) {
      if (!Array.isArray(done.schedule) || !known.includes(path)) {
        continue;
      }
      try {
        const answer = await fetch(`/learn/${path}/judge`, { method: "POST", body: JSON.stringify({ schedule: done.schedule }), headers: { "Content-Type": "application/json" } });
        if (answer.ok && (await answer.json()).met) {
          one.checked++;
        } else {
          one.wrong.push(path);
        }
      } catch {
        note(say("The server does not answer. Please try again in a moment."));
        return;
      }
      draw();
    }
  }

  /** @param {string} id @param {(string | Node)[][]} rows the first is the head */
  function fill(id, [head, ...rows]) {
    byId(id).replaceChildren(
      make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, i) => make(i ? "td" : "th", i ? {} : { scope: "row" }, cell))))),
    );
  }

  function draw() {
    fill("class-table", rowsOf(learners, chapters));
    fill("class-questions", [
      [say("Question"), say("First try"), ""],
      ...questionsOf(learners, chapters).map(({ path, title, first, answered, talk }) => [
        make("a", { href: `/learn/${path}` }, title),
        `${first}/${answered}`,
        talk ? say("Talk about it, and answer again.") : "",
      ]),
    ]);
    byId("class-result").hidden = learners.length === 0;
  }

  /** @param {Iterable<File>} files */
  async function read(files) {
    for (const file of files) {
      const progress = file.size <= MOST ? parse(await file.text()) : null;
      if (progress) {
        await add(progress, file.name.replace(/\.json$/, ""));
      } else {
        note(say("%s is not a progress file.", file.name));
      }
    }
  }

  const input = /** @type {HTMLInputElement} */ (byId("class-files"));
  input.addEventListener("change", () => read(input.files ?? []));
  page.addEventListener("dragover", (event) => event.preventDefault());
  page.addEventListener("drop", (event) => {
    event.preventDefault();
    read(event.dataTransfer?.files ?? []);
  });
  byId("class-csv").addEventListener("click", () => {
    download("relock-class.csv", new Blob([`\uFEFF${csvOf(rowsOf(learners, chapters))}`], { type: "text/csv" }));
  });
  const links = /** @type {HTMLTextAreaElement} */ (byId("class-links"));
  /** @type {Set<string>} */
  const seen = new Set(); // fragments

  /** Adds each link of a text that was not added yet. @param {string} text */
  async function paste(text) {
    for (const link of linksIn(text)) {
      if (seen.has(link)) {
        continue;
      }
      seen.add(link);
      const progress = await unpacked(link);
      if (progress) {
        await add(progress, say("From the link"));
      } else {
        note(say("This link is incomplete; a part of it may have been cut off."));
      }
    }
  }
  byId("class-add").addEventListener("click", () => {
    paste(links.value);
    links.value = "";
  });
  const opened = () => paste(location.hash);
  addEventListener("hashchange", opened); // another link, in the same tab
  opened();
}
