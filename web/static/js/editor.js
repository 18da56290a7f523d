// The scenario editor: form and YAML show the same scenario. The server reads
// both; here is only when it is asked, and where its answer goes.
import { byId, make } from "./dom.js";
import { LinkError, unpack } from "./link.js";
import { morph } from "./morph.js";
import { say } from "./words.js";

const PAUSE = 250; // ms without a key before the server is asked
const MAX_SCENARIO = 64 * 1024;
const MAX_TRACE = 8 << 20;
const PROTOCOL = "f-lock-protocol"; // the id of the input that says which lock it is
const DRAFT = "relock-draft"; // what is written, on its way to the page in the other language

/**
 * @typedef {{line: number, key: string, given: string, allowed: string, sentence: string, input: string, script?: number}} Mistake
 * @typedef {{v: number, yaml: string, base: string, form: string, readable: boolean, mistakes: Mistake[],
 *   mistakes_by_line: string, status: string}} Converted
 */

/**
 * Brings the editor to life.
 * @param {HTMLElement} page
 */
export function editor(page) {
  const form = /** @type {HTMLFormElement} */ (document.getElementById("scenario"));
  const parts = /** @type {HTMLElement} */ (document.getElementById("editor-form"));
  const text = /** @type {HTMLTextAreaElement} */ (document.getElementById("yaml"));
  const base = /** @type {HTMLInputElement} */ (document.getElementById("base"));
  const lines = /** @type {HTMLElement} */ (document.getElementById("yaml-lines"));
  const wrong = /** @type {HTMLElement} */ (document.getElementById("yaml-mistakes"));
  const status = /** @type {HTMLElement} */ (document.getElementById("editor-status"));
  const file = /** @type {HTMLInputElement} */ (document.getElementById("file"));
  const opening = /** @type {HTMLFormElement} */ (document.getElementById("open-file"));

  page.classList.add("live");
  let paint = (/** @type {import("./lua-edit.js").Marks} */ _) => undefined;
  let dressed = false; // the scripts of the user's own lock are loaded, or on their way

  /** Brings the scripts of a lock of one's own to life, if there are any. */
  async function dress() {
    page.classList.toggle("own", parts.querySelector(".lua-edit") !== null);
    if (!dressed && page.classList.contains("own")) {
      dressed = true;
      const [{ scripts }, { judging }] = await Promise.all([import("./lua-edit.js"), import("./judge.js")]);
      const drawn = scripts(parts);
      paint = (marks) => void drawn.paint(marks);
      judging(page, () => text.value, paint, () => convert("fit"));
    }
    paint({ wrong: scriptLines(), unreached: {}, said: wrong.id });
  }

  /** Lines of the scripts with mistakes, by call. */
  function scriptLines() {
    /** @type {Record<string, number[]>} */
    const wrong = {};
    for (const m of mistakes) {
      const call = /^lock\.scripts\.(\w+)$/.exec(m.key)?.[1];
      if (call && m.script) {
        (wrong[call] ??= []).push(m.script);
      }
    }
    return wrong;
  }

  let timer = 0;
  /** @type {AbortController | null} */
  let asked = null;
  /** @type {Mistake[]} */
  let mistakes = [];

  /** @param {string} action @param {number} [pause] */
  function ask(action, pause = PAUSE) {
    clearTimeout(timer);
    asked?.abort();
    asked = null;
    timer = window.setTimeout(() => convert(action), pause);
  }

  /** All that is in the form, and what is to be done with it. @param {string} action */
  function written(action) {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      values.append(name, String(value));
    }
    values.set("action", action);
    return values;
  }

  /**
   * Sends form and text, and shows what has come of them. Where that cannot be, they are kept for
   * who comes back here.
   * @param {string} action
   * @param {URLSearchParams} [values]
   */
  async function convert(action, values = written(action)) {
    clearTimeout(timer);
    const mine = new AbortController();
    asked?.abort();
    asked = mine;
    try {
      const response = await fetch(String(page.dataset.convert), { method: "POST", body: values, signal: mine.signal });
      if (!response.ok) {
        throw new Error(String(response.status));
      }
      show(await response.json(), action);
    } catch (error) {
      if (!mine.signal.aborted) {
        announce(say("The server does not answer; what you wrote is still here. Try again in a moment."), true);
        history.replaceState({ draft: text.value, values: String(values) }, "");
      }
    } finally {
      if (asked === mine) {
        asked = null;
      }
    }
  }

  /** @param {Converted} answer @param {string} action */
  function show(answer, action) {
    if (text.value !== answer.yaml) {
      text.value = answer.yaml;
    }
    parts.inert = !answer.readable;
    if (answer.readable) {
      base.value = answer.base;
      const template = document.createElement("template");
      template.innerHTML = answer.form;
      const chosen = document.activeElement?.id === PROTOCOL;
      morph(parts, template.content);
      follow(action);
      if (chosen && document.activeElement?.id !== PROTOCOL) { // the form has another order
        /** @type {HTMLElement} */ (parts.querySelector("#group-scripts textarea") ?? byId(PROTOCOL)).focus();
      }
    }
    const list = document.createElement("template");
    list.innerHTML = answer.mistakes_by_line;
    morph(wrong, list.content);
    mistakes = answer.mistakes;
    if (mistakes.length > 0) {
      text.setAttribute("aria-invalid", "true");
    } else {
      text.removeAttribute("aria-invalid");
    }
    number();
    jumps();
    dress();
    announce(answer.status, mistakes.length > 0);
    if (!/^remove-/.test(action)) {
      undo?.remove();
    }
    history.replaceState({ draft: text.value }, ""); // for who comes back here
  }

  /** @param {string} sentence @param {boolean} bad */
  function announce(sentence, bad) {
    status.classList.toggle("wrong", bad);
    if (status.textContent !== sentence) {
      status.textContent = sentence;
    }
  }

  /** @type {HTMLElement | undefined} */
  let undo; // brings back what was removed

  /** Removes a part, beside a button that brings it back. @param {string} action */
  async function remove(action) {
    await convert("show"); // what was changed last is in it
    const before = text.value;
    await convert(action);
    if (text.value === before) {
      return;
    }
    undo?.remove();
    undo = make("button", { type: "button", class: "quiet" }, say("Undo"));
    undo.onclick = async () => {
      text.value = before;
      await replace();
      /** @type {HTMLElement} */ (parts.querySelector(`button[value="${action}"]`) ?? text).focus();
    };
    status.after(undo);
    undo.focus({ preventScroll: true });
  }

  /** Puts the focus where a button's work is. @param {string} action */
  function follow(action) {
    const kind = /^(?:add|duplicate)-.*(thread|fault)/.exec(action)?.[1];
    if (!kind) {
      return;
    }
    const copied = /^duplicate-.*-(\d+)$/.exec(action);
    const all = parts.querySelectorAll(`.${kind}-form`);
    const one = all[copied ? Number(copied[1]) + 1 : all.length - 1];
    one?.querySelector("input, select") instanceof HTMLElement && /** @type {HTMLElement} */ (one.querySelector("input, select")).focus();
  }

  /** Numbers the text's lines, and marks those with mistakes. */
  function number() {
    const count = text.value.split("\n").length;
    text.rows = count;
    while (lines.children.length > count) {
      lines.lastElementChild?.remove();
    }
    while (lines.children.length < count) {
      const line = document.createElement("li");
      line.textContent = String(lines.children.length + 1);
      lines.append(line);
    }
    const bad = new Set(mistakes.map((m) => m.line));
    [...lines.children].forEach((line, i) => line.classList.toggle("wrong", bad.has(i + 1)));
  }

  /** Shows the ways to the lines, which need this script. */
  function jumps() {
    for (const button of wrong.querySelectorAll("button")) {
      button.hidden = false;
    }
  }

  /**
   * Puts the caret on a line of the text.
   * @param {number} n
   */
  function go(n) {
    const all = text.value.split("\n");
    const start = all.slice(0, n - 1).reduce((sum, line) => sum + line.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (all[n - 1]?.length ?? 0));
    lines.children[n - 1]?.scrollIntoView({ block: "nearest" });
  }

  parts.addEventListener("input", (event) => {
    if (!(event.target instanceof HTMLElement) || "late" in event.target.dataset) {
      return;
    }
    ask("show");
  });
  parts.addEventListener("change", () => ask("show", 0));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target instanceof HTMLInputElement && event.target.type !== "radio") {
      event.preventDefault(); // it leads nowhere: the change is taken
      ask("show", 0);
    }
  });
  text.addEventListener("input", () => {
    number();
    ask("read");
  });
  form.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    const line = target.closest("[data-line]");
    if (line instanceof HTMLElement) {
      go(Number(line.dataset.line));
      return;
    }
    const link = target.closest('a[href^="#f-"]');
    if (link) {
      event.preventDefault();
      const input = document.getElementById(String(link.getAttribute("href")).slice(1));
      for (let fold = input?.closest("details"); fold; fold = fold.parentElement?.closest("details")) {
        fold.open = true;
      }
      input?.focus();
      return;
    }
    const button = target.closest("button[formaction='/edit']");
    if (button instanceof HTMLButtonElement && !("keepsPage" in button.dataset)) {
      event.preventDefault();
      (/^remove-/.test(button.value) ? remove : convert)(button.value);
    }
  });

  file.multiple = true; // the logs of several servers, which a form without JavaScript cannot send as one
  file.addEventListener("change", () => {
    if (file.files?.[0]) {
      openAll([...file.files]);
    }
  });
  page.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) {
      event.preventDefault();
      page.classList.add("over");
    }
  });
  page.addEventListener("dragleave", (event) => {
    if (!(event.relatedTarget instanceof Node && page.contains(event.relatedTarget))) {
      page.classList.remove("over");
    }
  });
  page.addEventListener("drop", (event) => {
    page.classList.remove("over");
    const files = event.dataTransfer?.files;
    if (files?.[0]) {
      event.preventDefault();
      file.files = files;
      openAll([...files]);
    }
  });

  /**
   * Opens a file, or the logs of several servers as one.
   * @param {File[]} chosen
   */
  async function openAll(chosen) {
    const { together } = await import("./log.js");
    const one = chosen.length > 1 ? await together(chosen) : chosen[0];
    if (one) {
      await open(one);
      return;
    }
    byId("of-log").hidden = true; // of a file before
    file.value = "";
    announce(say("Several files are read together only if each is a log of redis-cli monitor on one of a lock's servers."), true);
  }

  /**
   * Opens a scenario here. A trace goes to the server, as do spans and packed logs, and so does what is chosen of a log: they have a page.
   * @param {File} chosen
   */
  async function open(chosen) {
    const { chooseKey, formatOf, packed, textOf } = await import("./log.js"); // few need it
    const start = await textOf(chosen.slice(0, 64 * 1024));
    const log = formatOf(start);
    let wrong = "";
    if (packed.test(start) || /^\s*\{(?:[^\n]*"relock"\s*:|\s*"resource(?:Spans|Metrics|Logs)"\s*:)/.test(start)) {
      if (chosen.size <= MAX_TRACE) {
        opening.submit();
        return;
      }
      wrong = say("That file is too large: a trace may have %d MB.", MAX_TRACE >> 20);
    } else if (log) {
      wrong = await chooseKey(chosen, file);
      if (!wrong) {
        return;
      }
    } else if (chosen.size === 0) {
      wrong = say("That file is empty.");
    } else if (start.includes("\0") || !(/^\s*[{[]/.test(start) || /^[\w-]+:/m.test(start)) || /\.log$/i.test(chosen.name)) {
      wrong = say("That file cannot be read: it is neither a scenario, nor a trace, nor a log of MONITOR or of Redisson's TRACE. With any client, this beside it writes one: %s", "redis-cli monitor > monitor.log");
    } else if (chosen.size > MAX_SCENARIO) {
      wrong = say("That file is too large: a scenario may have 64 KiB.");
    }
    byId("of-log").hidden = true; // of a file before
    file.value = ""; // so that somebody can open the same file again
    if (wrong) {
      announce(wrong, true);
      return;
    }
    text.value = (await chosen.text()).replaceAll("\r\n", "\n");
    await replace();
  }

  /** Reads a text that has come from elsewhere. */
  async function replace() {
    base.value = "";
    number();
    await convert("open");
  }

  /** Opens the scenario of a link in the address. */
  async function linked() {
    const link = location.hash.slice(1);
    if (!link.startsWith("v")) {
      return;
    }
    try {
      const { scenario } = await unpack(link);
      text.value = JSON.stringify(scenario);
      await replace();
    } catch (error) {
      announce(error instanceof LinkError ? error.message : say("This link cannot be read."), true);
    }
  }

  const example = new URLSearchParams(location.search).get("example");
  document.addEventListener("click", (event) => {
    const preset = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest("#pick-list a"));
    if (preset) { // where it runs stays as chosen
      const to = new URL(preset.href);
      for (const name of ["store", "slow"]) {
        const on = /** @type {HTMLInputElement | null} */ (document.querySelector(`input[name=${name}]:checked, input[name=${name}]:not([type=radio]), select[name=${name}]`));
        if (on?.value) {
          to.searchParams.set(name, on.value);
        }
      }
      preset.href = to.href;
    }
    if (/** @type {Element} */ (event.target).closest("a[hreflang]") && text.value !== text.defaultValue) {
      sessionStorage.setItem(DRAFT, JSON.stringify({ example, yaml: text.value }));
    }
  });

  /** What was written here before the page was left, or "". */
  function draft() {
    const taken = JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}");
    sessionStorage.removeItem(DRAFT);
    return taken.example === example ? taken.yaml : (history.state?.draft ?? "");
  }

  addEventListener("hashchange", linked);
  number();
  dress();
  jumps();
  const left = draft();
  const unsent = history.state?.values;
  if (unsent) {
    text.value = left;
    convert("show", new URLSearchParams(unsent));
  } else if (left && left !== text.value) {
    text.value = left;
    replace();
  } else {
    linked();
  }
}
