// The panels that a host opens beside the run: how to join, the people, and the room.
import { byId, copied, make } from "./dom.js";
import { listBranches } from "./room-links.js";
import { setText } from "./room-question.js";
import { playedBy } from "./room-says.js";
import { say, unparted } from "./words.js";

/**
 * @typedef {import("./room-state.js").Room} Room
 * @typedef {import("./room-state.js").Person} Person
 * @typedef {(command: object) => void} Ask
 */

/** Who somebody in the list of people is, if no player.
 *  @param {Person} person */
export const whoIs = ({ removed, part, here: present }) =>
  removed ? say("sent away") : part === "host" ? say("host") : part === "stage" ? say("a screen, not a person") : present ? "" : say("away");

/** What a host can give somebody: each thread, in the place of who plays it (over) or with them.
 *  @param {Room} room @param {Person} person */
export const gifts = ({ threads }, person) =>
  Object.entries(threads).flatMap(([thread, { by, members }]) => {
    const others = by.filter((_, i) => members[i] !== person.member);
    if (others.length === 0) {
      return person.threads.includes(thread) ? [] : [{ thread, over: false, label: thread }];
    }
    const names = playedBy({ by: others });
    const over = { thread, over: true, label: say("%s, from %s", thread, names) };
    return person.threads.includes(thread) ? [over] : [over, { thread, over: false, label: say("%s, with %s", thread, names) }];
  });

/** How to join, as large as the screen. @param {string} code */
export function joining(code) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("join"));
  const open = () => dialog.open || dialog.showModal();
  for (const button of document.querySelectorAll("[data-dialog=join]")) {
    button.addEventListener("click", open);
  }
  const origins = /** @type {HTMLButtonElement[]} */ ([...dialog.querySelectorAll("[data-origin]")]);

  /** Shows another address of this computer. @param {HTMLButtonElement} chosen */
  function choose(chosen) {
    const origin = chosen.dataset.origin ?? "";
    for (const button of origins) {
      button.setAttribute("aria-pressed", String(button === chosen));
    }
    for (const image of /** @type {NodeListOf<HTMLImageElement>} */ (document.querySelectorAll("#join-code, #join-small"))) {
      image.src = `/qr?text=${encodeURIComponent(`${origin}/room/${code}`)}`;
    }
    for (const text of document.querySelectorAll("#join-short, [data-join-short]")) {
      text.textContent = `${origin.replace(/^https?:\/\//, "")}/room`;
    }
  }
  for (const button of origins) {
    button.addEventListener("click", () => choose(button));
  }
  if (origins.length > 0) {
    choose(origins[0]);
  }
  return { open, close: () => dialog.close() };
}

/**
 * Who is here, who plays what, and who is sent away.
 * @param {Ask} ask
 * @param {() => string[]} threads
 */
export function people(ask, threads) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("people"));
  const list = byId("people-list");
  /** @type {Room | null} */
  let room = null;
  const open = () => {
    dialog.showModal();
    show();
  };
  document.querySelector("[data-dialog=people]")?.addEventListener("click", open);
  const tables = /** @type {HTMLInputElement} */ (byId("deal-tables"));
  const deal = () => tables.reportValidity() && ask({ do: "deal", tables: tables.valueAsNumber || 1 });
  byId("deal").addEventListener("click", deal);
  tables.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault(); // it would close the dialog
      deal();
    }
  });

  function show() {
    if (!room || !dialog.open) {
      return;
    }
    const all = [...(room.people ?? [])].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.key;
    setText(byId("people-note"), all.every(leadsOrShows) ? say("Nobody has joined yet.") : "");
    list.replaceChildren(...threads().map(freeing), ...all.map(entry));
    if (focused) {
      /** @type {HTMLElement | null} */ (list.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
    }
  }

  const leadsOrShows = (/** @type {Person} */ { part }) => part === "host" || part === "stage";
  const rank = (/** @type {Person} */ p) => (p.removed ? 4 : p.part === "stage" ? 3 : p.threads.length > 0 ? 0 : p.here ? 1 : 2);

  /** A thread, and who plays it. @param {string} name @param {number} i */
  function freeing(name, i) {
    const thread = room?.threads[name];
    const item = make("li", { class: `t${i % 8} of-thread` }, make("strong", { class: "name" }, name), make("span", {}, thread ? playedBy(thread) : ""));
    if (thread && thread.members.length > 0) {
      item.append(button(`free ${name}`, say("Free %s", name), () => ask({ do: "give", thread: name, member: "" })));
    }
    return item;
  }

  /** @param {Person} person */
  function entry(person) {
    const screen = person.part === "stage";
    const name = screen ? say("A stage") : person.name;
    const item = make("li", { class: person.removed ? "removed" : "" }, make("span", { class: "person" }, name, person.threads.length > 0 ? ` · ${person.threads.join(say(", "))}` : ""), make("span", { class: "hint" }, whoIs(person)));
    if (person.part === "host") {
      return item;
    }
    if (person.removed) {
      item.append(button(`restore ${person.member}`, say("Let in again"), () => ask({ do: "restore", member: person.member }), name));
      return item;
    }
    const offers = room && !screen ? gifts(room, person) : [];
    if (offers.length > 0) {
      const select = /** @type {HTMLSelectElement} */ (
        make(
          "select",
          { "aria-label": say("Give %s a thread", person.name), "data-key": `give ${person.member}` },
          make("option", { value: "" }, say("give …")),
          ...offers.map(({ label }) => make("option", { value: label }, label)),
        )
      );
      select.onchange = () => {
        const offer = offers.find(({ label }) => label === select.value);
        if (offer) {
          ask({ do: "give", thread: offer.thread, member: person.member, over: offer.over });
        }
      };
      item.append(select);
    }
    item.append(button(`remove ${person.member}`, say("Send away"), () => ask({ do: "remove", member: person.member }), name));
    return item;
  }

  /** @param {string} key @param {string} label @param {() => void} act @param {string} [about] */
  function button(key, label, act, about = "") {
    const e = make("button", { type: "button", "data-key": key }, label);
    if (about) {
      e.append(make("span", { class: "hidden" }, `: ${about}`));
    }
    e.onclick = act;
    return e;
  }

  return {
    open,
    /** @param {Room} now */
    draw(now) {
      room = now;
      show();
    },
  };
}

/**
 * What players may do, who else leads, what people take home, and the end.
 * @param {string} code
 * @param {Ask} ask
 */
export function roomSettings(code, ask) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("room"));
  // Links that come later would move the buttons below from under the pointer.
  const open = async () => {
    await Promise.race([listBranches(code, byId("branch-links")), new Promise((done) => setTimeout(done, 1000))]);
    if (!dialog.open) {
      dialog.showModal();
    }
  };
  document.querySelector("[data-dialog=room]")?.addEventListener("click", open);
  const allows = /** @type {HTMLInputElement[]} */ ([...dialog.querySelectorAll("[data-allow]")]);
  for (const box of allows) {
    box.addEventListener("change", () => ask({ do: "allow", faults: allows.filter((b) => b.checked).map((b) => b.dataset.allow) }));
  }
  const switches = /** @type {HTMLInputElement[]} */ ([...dialog.querySelectorAll("[data-switch]")]);
  for (const box of switches) {
    box.addEventListener("change", () => ask({ do: box.dataset.switch, on: box.checked }));
  }
  const locked = /** @type {HTMLInputElement} */ (byId("locked"));
  locked.addEventListener("change", () => ask({ do: "lock", locked: locked.checked }));
  /** @param {string} text @param {string} otherwise what is told where it cannot be copied */
  const copy = async (text, otherwise) => {
    byId("room-note").textContent = (await copied(text)) ? say("Copied.") : otherwise;
  };
  byId("copy-co-host").addEventListener("click", () => {
    const input = /** @type {HTMLInputElement} */ (byId("co-host"));
    input.select();
    copy(input.value, say("Press Ctrl+C to copy what is selected."));
  });
  byId("copy-lesson").addEventListener("click", async () => {
    const answer = await fetch(`/room/${code}/lesson.yaml`, { headers: { Accept: "application/json" } }).catch(() => null);
    const said = await answer?.json().catch(() => null);
    if (answer?.ok) {
      const address = new URL(said.link, location.href).href;
      copy(address, address);
    } else {
      byId("room-note").textContent = unparted(said?.error ?? "") || say("The server does not answer. Please try again in a moment.");
    }
  });
  const sure = (/** @type {boolean} */ is) => {
    byId("end-sure").hidden = !is;
    byId(is ? "end-not" : "end").focus();
  };
  byId("end").addEventListener("click", () => sure(true));
  byId("end-not").addEventListener("click", () => sure(false));
  byId("end-now").addEventListener("click", () => {
    dialog.close();
    ask({ do: "end" });
  });
  return {
    open,
    /** @param {Room} room */
    draw(room) {
      for (const box of allows) {
        box.checked = room.allowed.includes(box.dataset.allow ?? "");
      }
      for (const box of switches) {
        box.checked = Boolean(room[/** @type {"veiled" | "reserved"} */ (box.dataset.rule)]);
      }
      locked.checked = room.locked;
    },
  };
}
