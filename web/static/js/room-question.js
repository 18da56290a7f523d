// The question that a class is asked: its options, and once it is revealed, what
// was voted.
import { byId, make } from "./dom.js";
import { bars, covers } from "./room-state.js";
import { votes } from "./room-says.js";
import { say } from "./words.js";

/**
 * @typedef {import("./room-state.js").Question} Question
 * @typedef {import("./room-state.js").Room} Room
 */

/**
 * @param {((option: number) => void) | null} vote null where one cannot
 */
export function questionBox(vote) {
  const box = byId("asked");
  const list = byId("question-options");
  let drawn = ""; // what the options were drawn of
  // The table has what the question leaves of its half.
  new ResizeObserver(() => box.parentElement?.style.setProperty("--question", `${box.offsetHeight}px`)).observe(box);

  /**
   * @param {Question | null} question
   * @param {number | null} mine the option that the member has voted for
   * @param {boolean} open members can vote
   */
  return function draw(question, mine, open) {
    box.hidden = question === null;
    if (!question) {
      drawn = "";
      return;
    }
    box.dataset.state = question.counts ? "revealed" : "open";
    const writes = question.kind === "write";
    list.hidden = writes && !question.counts;
    setText(byId("question-text"), question.text);
    setText(byId("question-votes"), [votes(question), mine !== null && !question.counts && !writes ? say("you have voted") : ""].filter(Boolean).join(" · "));
    setText(byId("question-advice"), question.advice ?? "");
    byId("question-key").hidden = !(question.counts && question.before);
    const now = JSON.stringify([question.id, question.round, question.options, question.counts, question.before, question.right, question.talk, mine, open]);
    if (now === drawn) {
      return;
    }
    drawn = now;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.vote;
    const results = bars(question);
    list.replaceChildren(
      ...question.options.map((option, i) => {
        const result = results?.[i];
        const item = make("li", {});
        item.classList.toggle("right", Boolean(result?.right));
        item.classList.toggle("mine", mine === i);
        if (result) {
          item.append(...resultOf(result, i, mine === i));
        } else if (vote) {
          item.append(buttonOf(option, i, mine === i, open, vote));
        } else {
          item.append(numeral(i), make("span", { class: "text" }, option));
        }
        return item;
      }),
    );
    if (focused) {
      /** @type {HTMLElement | null} */ (list.querySelector(`[data-vote="${focused}"]`))?.focus({ preventScroll: true });
    }
  };
}

/** What an item of the course has beside its question. */
export function sheetBox() {
  const [before, after] = [byId("sheet"), byId("sheet-after")];
  let of = 0; // the question that it is of
  return {
    /** @param {import("./room-state.js").Sheet} sheet */
    take(sheet) {
      of = sheet.question;
      before.innerHTML = sheet.html;
      after.innerHTML = sheet.after;
      for (const link of document.querySelectorAll(".sheet a")) {
        link.setAttribute("target", "_blank"); // one stays in the room
      }
    },
    /** @param {Room} room @param {Question | null} question */
    draw(room, question) {
      before.hidden = question?.id !== of || before.childElementCount === 0;
      after.hidden = question?.id !== of || after.childElementCount === 0;
      document.body.classList.toggle("asking", Boolean(room.awaits) || covers(question)); // rows after its place would give it away
      document.body.classList.toggle("apart", Boolean(room.apart));
    },
  };
}

/** Shows what is left of the time that a vote is given; tells whether there is any.
 *  @param {Question | null} question @param {number} since seconds since it came */
export function drawClock(question, since) {
  const left = Math.ceil(Math.max(0, (question?.left ?? 0) - since));
  setText(byId("question-clock"), left > 0 ? `· ${say("%d s", left)}` : "");
  return left > 0;
}

/** @param {number} i */
const numeral = (i) => make("span", { class: "numeral", "aria-hidden": "true" }, String(i + 1));

/**
 * @param {string} option
 * @param {number} i
 * @param {boolean} mine
 * @param {boolean} open
 * @param {(option: number) => void} vote
 */
function buttonOf(option, i, mine, open, vote) {
  const button = make("button", { type: "button", class: "option", "data-vote": String(i), "aria-pressed": String(mine) }, numeral(i), make("span", { class: "text" }, option));
  button.setAttribute("aria-disabled", String(!open));
  button.onclick = () => open && vote(i);
  return button;
}

/**
 * @param {import("./room-state.js").Bar} bar
 * @param {number} i
 * @param {boolean} mine
 */
function resultOf({ option, count, before, share, shareBefore, right }, i, mine) {
  const text = make("span", { class: "text" }, option);
  if (right) {
    text.append(make("span", { class: "is-right" }, make("span", { "aria-hidden": "true" }, " ✓"), make("span", { class: "hidden" }, ` ${say("right")}`)));
  }
  if (mine) {
    text.append(make("span", { class: "yours" }, ` ${say("your vote")}`));
  }
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, length(share, "now"));
  if (before !== null) {
    bar.append(length(shareBefore, "before"));
  }
  const number = make("span", { class: "count" }, String(count));
  if (before !== null) {
    number.append(make("span", { class: "hidden" }, ` ${say("first %d", before)}`));
  }
  return [numeral(i), text, bar, number];
}

/** @param {number} share @param {string} kind */
function length(share, kind) {
  const e = make("i", { class: kind });
  e.style.width = `${share * 100}%`;
  return e;
}

/** Only what changes is read out. @param {Element} e @param {string} text */
export function setText(e, text) {
  if (e.textContent !== text) {
    e.textContent = text;
  }
}
