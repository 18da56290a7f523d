// The way through the course: what is done, what returns today, and the learner's
// progress as a file or a link.
import { asked, due, goesOn, load, merged, packed, parse, save, scoreOf } from "./course-progress.js";
import { byId, copied, download, make } from "./dom.js";
import { say } from "./words.js";

const MOST = 1 << 20; // bytes of a file that is read: a thousand times the usual size

/** @param {HTMLElement} page */
export function way(page) {
  show(page);
  const note = (/** @type {string} */ text) => {
    byId("progress-note").textContent = text;
  };
  const named = () => {
    const name = /** @type {HTMLInputElement} */ (byId("progress-name")).value.trim();
    const { name: _, ...rest } = load();
    return { ...rest, ...(name ? { name } : {}) };
  };
  const keep = (/** @type {import("./course-progress.js").Progress} */ progress) => {
    note(save(progress) ? say("It is kept in this browser.") : say("This browser keeps nothing: save a file."));
    show(page);
  };
  byId("progress-export").addEventListener("click", () => {
    download("relock-progress.json", new Blob([`${JSON.stringify(named(), null, 1)}\n`], { type: "application/json" }));
    note(say("Saved as a file."));
  });
  for (const how of ["import", "merge"]) {
    const input = /** @type {HTMLInputElement} */ (byId(`progress-${how}-file`));
    byId(`progress-${how}`).addEventListener("click", () => input.click());
    input.addEventListener("change", async () => {
      const file = input.files?.[0];
      input.value = "";
      const other = file && file.size <= MOST ? parse(await file.text()) : null;
      if (!other) {
        note(say("That is not a progress file; nothing has changed."));
        return;
      }
      keep(how === "merge" ? merged(load(), other) : other);
    });
  }
  page.addEventListener("click", async (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-copy]"));
    if (button) {
      const text = byId(button.dataset.copy ?? "");
      getSelection()?.selectAllChildren(text); // if a script may not copy, the keys do
      const says = (await copied(text.textContent ?? "")) ? say("Copied.") : say("Press Ctrl+C to copy what is selected.");
      note(says); // which is far below
      button.childNodes[0].nodeValue = says;
    }
  });
  byId("progress-link").addEventListener("click", async () => {
    const url = new URL(`/learn/class#${await packed(named())}`, document.documentElement.dataset.site ?? location.href).href;
    note((await copied(url)) ? say("The link is copied. It shows what you have done and plays each break again.") : url);
  });
}

/** @param {HTMLElement} page */
function show(page) {
  const progress = load();
  const links = /** @type {HTMLAnchorElement[]} */ ([...page.querySelectorAll(".items [data-item]")]);
  let done = 0;
  for (const link of links) {
    const is = (link.dataset.item ?? "") in progress.items;
    done += Number(is);
    link.classList.toggle("done", is);
    /** @type {HTMLElement} */ (link.querySelector("[data-done]")).textContent = is ? say("this one is done") : "";
  }
  byId("way-done").textContent = done > 0 ? say("%d of %d done", done, links.length) : "";
  const next = links.find((link) => !link.classList.contains("done"));
  if (done > 0 && next) {
    const on = /** @type {HTMLAnchorElement} */ (byId("go-on"));
    on.href = next.href;
    /** @type {HTMLElement} */ (on.querySelector("span")).textContent = say("Go on");
  }
  const back = due(progress, new Date())
    .map((path) => links.find((link) => link.dataset.item === path))
    .filter((link) => link !== undefined);
  const again = document.getElementById("due"); // the ladder has none
  again?.toggleAttribute("hidden", back.length === 0);
  again?.querySelector("ul")?.replaceChildren(
    ...back.map((link) => make("li", {}, make("a", { href: link.dataset.again ? `/learn/${link.dataset.again}` : link.href }, link.querySelector("span:nth-child(2)")?.textContent ?? ""))),
  );
  const card = /** @type {HTMLElement | null} */ (page.querySelector(".check-card"));
  for (const when of card ? /** @type {const} */ (["before", "after"]) : []) {
    const paths = card?.dataset[when]?.split(" ") ?? [];
    const { answered, right } = scoreOf(asked(progress.check?.[when], paths));
    byId(`check-${when}`).textContent =
      answered === 0 ? "" : answered < paths.length ? say("%d of %d answered", answered, paths.length) : say("%d of %d right", right, answered);
    /** @type {HTMLAnchorElement} */ (card?.querySelector(`[data-half="${when}"]`)).href = goesOn(progress, when, paths);
  }
}
