// What a class has written, for its host, who can show one of the scripts to everybody.
import { byId, make } from "./dom.js";
import { Refused } from "./line.js";
import { say } from "./words.js";

/**
 * @param {string} code
 * @param {(command: object) => Promise<any>} ask rejected with Refused
 */
export function classScripts(code, ask) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("class-scripts"));
  const list = byId("class-scripts-list");
  const button = byId("scripts-open");

  /** @param {string} text */
  function complain(text) {
    byId("class-scripts-problem").textContent = text;
    byId("class-scripts-problem").hidden = text === "";
  }

  /** @param {string | undefined} member */
  async function show(member) {
    complain("");
    try {
      await ask({ do: "show", member });
      dialog.close();
    } catch (error) {
      if (!(error instanceof Refused)) {
        throw error;
      }
      complain(error.message);
    }
  }

  button.addEventListener("click", async () => {
    complain("");
    list.replaceChildren();
    dialog.showModal();
    const answer = await fetch(`/room/${code}/scripts`).catch(() => null);
    if (!answer?.ok) {
      complain(say("The server does not answer. Please try again in a moment."));
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll("[data-member]"))) {
      const name = item.querySelector("strong")?.textContent ?? "";
      const shows = make("button", { type: "button" }, say("Show it to the class"), make("span", { class: "hidden" }, `: ${name}`));
      shows.onclick = () => show(item.dataset.member);
      item.append(shows);
    }
    list.append(...(page.getElementById("scripts")?.querySelectorAll("h1 ~ *") ?? []));
  });

  return {
    /** @param {import("./room-state.js").Room} room */
    draw({ scripts = 0 }) {
      button.hidden = scripts === 0;
      /** @type {Element} */ (button.querySelector("span")).textContent = say("Scripts (%d)", scripts);
    },
  };
}
