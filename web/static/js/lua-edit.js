// The scripts of your own lock, while you write them: colours behind the text, numbers
// beside it, and Tab, which indents.

/**
 * What we know about a script's lines.
 * @typedef {object} Marks
 * @property {Record<string, number[]>} wrong by call
 * @property {Record<string, number[]>} unreached by call
 * @property {string} [said] the id of what says what is wrong
 */

const TOKEN = /--\[\[[^]*?(?:\]\]|$)|--[^\n]*|\[\[[^]*?(?:\]\]|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?|\d[\w.]*|[A-Za-z_]\w*|\s+|[^]/g;
const KEYWORDS = new Set(
  "and break do else elseif end false for function if in local nil not or repeat return then true until while".split(" "),
);
const INDENT = "  ";

/**
 * The pieces of a script, each with the class of its colour as film.ScriptToken
 * has it.
 * @param {string} text
 * @returns {{kind: string, text: string}[]}
 */
export function pieces(text) {
  /** @type {{kind: string, text: string}[]} */
  const list = [];
  let before = "";
  for (const [word] of text.matchAll(TOKEN)) {
    let kind = "";
    if (word.startsWith("--")) {
      kind = "c";
    } else if (/^(?:["']|\[\[)/.test(word)) {
      kind = /redis\.p?call\($/.test(before) ? "r" : "s";
    } else if (/^\d/.test(word)) {
      kind = "m";
    } else if (KEYWORDS.has(word)) {
      kind = "k";
    } else if (word === "KEYS" || word === "ARGV") {
      kind = "v";
    }
    list.push({ kind, text: word });
    before = (before + word.trim()).slice(-16);
  }
  for (const [i, one] of list.entries()) {
    if (!one.kind && /^[A-Za-z_]/.test(one.text) && (list[i + 1]?.text === "(" || (list[i + 1]?.text === "." && list[i + 3]?.text === "("))) {
      one.kind = "f";
    }
  }
  return list;
}

/**
 * What Tab makes of a text: its selected lines further in, or with Shift further
 * out.
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {boolean} out
 * @returns {{from: number, to: number, text: string}} what takes the place of which part
 */
export function indented(text, from, to, out) {
  if (from === to && !out) {
    return { from, to, text: INDENT };
  }
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const end = text.indexOf("\n", Math.max(to - 1, from));
  const stop = end < 0 ? text.length : end;
  const lines = text.slice(start, stop).split("\n");
  return { from: start, to: stop, text: lines.map((l) => (out ? l.replace(/^ {1,2}|^\t/, "") : l && INDENT + l)).join("\n") };
}

/**
 * Brings the scripts of the editor's form to life. They are drawn again by paint.
 * @param {HTMLElement} parts
 * @returns {{paint: (marks: Marks) => void}}
 */
export function scripts(parts) {
  /** @type {Marks} */
  let marks = { wrong: {}, unreached: {} };
  let leaving = false; // Esc was pressed: Tab goes on to what follows

  /** @param {EventTarget | null} target */
  const script = (target) => (target instanceof HTMLTextAreaElement && target.closest(".lua-edit") ? target : null);

  parts.addEventListener("input", (event) => {
    const text = script(event.target);
    if (text) {
      draw(text, { wrong: {}, unreached: {} });
    }
  });
  parts.addEventListener("keydown", (event) => {
    const text = script(event.target);
    if (!text) {
      return;
    }
    const leaves = leaving;
    leaving = event.key === "Escape" || (leaving && event.key === "Shift");
    if (event.key !== "Tab" || leaves || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    const to = indented(text.value, text.selectionStart, text.selectionEnd, event.shiftKey);
    const lines = to.from !== to.to;
    text.setSelectionRange(to.from, to.to);
    // Unlike an assignment, this can be undone by the browser's own key.
    if (!(to.text ? document.execCommand("insertText", false, to.text) : document.execCommand("delete"))) {
      text.setRangeText(to.text, to.from, to.to, "end");
      text.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (lines) {
      text.setSelectionRange(to.from, to.from + to.text.length);
    }
  });
  parts.addEventListener("focusout", () => (leaving = false));
  parts.addEventListener(
    "scroll",
    (event) => {
      const text = script(event.target);
      if (text?.previousElementSibling) {
        text.previousElementSibling.scrollLeft = text.scrollLeft;
      }
    },
    true,
  );

  return {
    paint(known) {
      marks = known;
      for (const one of parts.querySelectorAll(".lua-edit textarea")) {
        draw(/** @type {HTMLTextAreaElement} */ (one), marks);
      }
    },
  };
}

/**
 * @param {HTMLTextAreaElement} text
 * @param {Marks} marks
 */
function draw(text, marks) {
  const call = text.name.replace("lock.scripts.", "");
  const box = /** @type {HTMLElement} */ (text.closest(".lua-edit"));
  const colours = /** @type {HTMLElement} */ (box.querySelector("pre"));
  const numbers = /** @type {HTMLElement} */ (box.querySelector("ol"));
  /** @type {HTMLElement[]} */
  const lines = [document.createElement("span")];
  for (const piece of pieces(text.value)) {
    piece.text.split("\n").forEach((part, i) => {
      if (i > 0) {
        lines.push(document.createElement("span"));
      }
      if (part) {
        const span = document.createElement("span");
        span.className = piece.kind;
        span.textContent = part;
        lines.at(-1)?.append(span);
      }
    });
  }
  colours.replaceChildren(...lines.flatMap((line) => [line, "\n"]));
  text.rows = lines.length;
  numbers.replaceChildren(
    ...lines.map((line, i) => {
      const number = document.createElement("li");
      number.textContent = String(i + 1);
      number.classList.toggle("wrong", marks.wrong[call]?.includes(i + 1) ?? false);
      const never = marks.unreached[call]?.includes(i + 1) ?? false;
      number.classList.toggle("unreached", never);
      line.classList.toggle("unreached", never);
      return number;
    }),
  );
  if (marks.said && marks.wrong[call]?.length) {
    text.setAttribute("aria-invalid", "true");
    text.setAttribute("aria-errormessage", marks.said);
  } else {
    text.removeAttribute("aria-invalid");
    text.removeAttribute("aria-errormessage");
  }
  box.classList.add("coloured");
}
