// The dialog with links and files of what is seen.
import { byId, download } from "./dom.js";
import { LONGEST } from "./link.js";
import { say } from "./words.js";

/**
 * @typedef {object} Shown
 * @property {() => Promise<string>} packed the link's text, as in link.js
 * @property {() => object} scenario with its schedule
 * @property {() => string} title
 * @property {() => number} step
 */

/** @param {Shown} shown */
export function share(shown) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("share"));
  const input = /** @type {HTMLInputElement} */ (byId("share-link"));
  const embed = /** @type {HTMLTextAreaElement} */ (byId("embed-code"));
  const code = /** @type {HTMLImageElement} */ (byId("qr-code"));
  const fill = byId("qr-fill");
  const reach = document.getElementById("qr-reach"); // where a link opens here alone
  const note = (/** @type {string} */ text) => {
    byId("share-note").textContent = text;
  };

  /** Where others reach this site, as far as is known here. */
  let site = document.documentElement.dataset.site ?? location.href;

  const here = /** @type {HTMLInputElement} */ (byId("share-here"));
  /** The link's text, at this step or at the start. */
  const packed = async () => (here.checked ? shown.packed() : (await shown.packed()).replace(/~\d+$/, "~0"));

  async function open() {
    dialog.showModal();
    await show();
  }

  async function show() {
    code.hidden = true;
    fill.hidden = true;
    if (reach) {
      reach.hidden = true;
    }
    const text = await packed();
    offer(new URL(`/play#${text}`, site));
    note(
      text.length > LONGEST
        ? say("%d characters: too long for many programs. Make it short: the server then keeps it.", text.length)
        : say("%d characters, and nothing is kept on the server.", text.length),
    );
  }

  /** @param {URL} url */
  function offer(url) {
    input.value = url.href;
    const inside = new URL(url.href);
    inside.pathname = `/embed${url.pathname}`;
    const title = `${shown.title()}, T${shown.step()}`.replace(/[&"<>]/g, (c) => `&#${c.charCodeAt(0)};`);
    embed.value =
      `<iframe src="${inside.href}" title="${title}" loading="lazy" width="100%" height="480" ` +
      `sandbox="allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"></iframe>`;
  }

  /** Asks the server, and says so where it does not answer.
   *  @param {string} path
   *  @param {RequestInit} [request] */
  async function ask(path, request) {
    try {
      return await fetch(path, request);
    } catch {
      note(say("The server does not answer. Please try again in a moment."));
      return null;
    }
  }

  async function shorten() {
    const answer = await ask("/s", { method: "POST", body: await packed(), headers: { "Content-Type": "text/plain" } });
    if (!answer?.ok) {
      if (answer) {
        note(say("The server could not keep it. Please try again in a moment."));
      }
      return;
    }
    offer(new URL((await answer.json()).path, site));
    note(say("The server keeps it under this address."));
  }

  /** @param {HTMLInputElement | HTMLTextAreaElement} from */
  async function copy(from) {
    from.select();
    try {
      await navigator.clipboard.writeText(from.value);
      note(say("Copied."));
    } catch {
      note(say("Press Ctrl+C to copy what is selected."));
    }
  }

  async function qr() {
    const path = `/qr?text=${encodeURIComponent(input.value)}`;
    const answer = await ask(path);
    if (!answer?.ok) {
      if (answer) {
        note(say("That link is too long for a QR code. Make it short first."));
      }
      return;
    }
    code.src = path;
    code.hidden = false;
    fill.hidden = false;
    if (reach) {
      reach.hidden = false;
    }
  }

  /** Makes the link, and its QR code, one of another address of this site.
   *  @param {string} origin */
  async function from(origin) {
    const url = new URL(input.value);
    site = origin;
    offer(new URL(url.pathname + url.search + url.hash, site));
    await qr();
  }

  /** @param {string} format */
  async function save(format) {
    const answer = await ask(`/export?format=${format}`, { method: "POST", body: await shown.packed(), headers: { "Content-Type": "text/plain" } });
    if (!answer?.ok) {
      if (answer) {
        note(say("The server could not make that file. Please try again in a moment."));
      }
      return;
    }
    const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
    download(name ?? `relock.${format}`, await answer.blob());
  }

  /** Makes the link one to a question about what is seen. @param {string} kind */
  async function question(kind) {
    const url = new URL(`/learn/made?${new URLSearchParams({ from: await shown.packed(), kind })}`, site);
    const own = /** @type {HTMLAnchorElement} */ (byId("question"));
    own.href = url.pathname + url.search;
    own.hidden = false;
    input.value = url.href;
    note(url.href.length > LONGEST ? say("%d characters: too long for many programs.", url.href.length) : say("The link is a question now: copy it, or try it."));
  }

  document.querySelector("[data-dialog=share]")?.addEventListener("click", open);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (dialog.querySelectorAll("[data-question]"))) {
    button.addEventListener("click", () => question(button.dataset.question ?? ""));
  }
  here.addEventListener("change", show);
  byId("copy").addEventListener("click", () => copy(input));
  byId("copy-embed").addEventListener("click", () => copy(embed));
  byId("shorten").addEventListener("click", shorten);
  byId("qr").addEventListener("click", qr);
  for (const large of [fill, code]) {
    large.addEventListener("click", () => {
      const screen = /** @type {HTMLDialogElement} */ (byId("qr-screen"));
      /** @type {HTMLImageElement} */ (screen.querySelector("img")).src = code.src;
      /** @type {HTMLElement} */ (screen.querySelector("p")).textContent = input.value.length <= 90 ? input.value : "";
      screen.showModal();
    });
  }
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (dialog.querySelectorAll("[data-origin]"))) {
    button.addEventListener("click", () => from(/** @type {string} */ (button.dataset.origin)));
  }
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (dialog.querySelectorAll("[data-export]"))) {
    button.addEventListener("click", () => save(/** @type {string} */ (button.dataset.export)));
  }
  byId("save-scenario").addEventListener("click", () =>
    download("scenario.json", new Blob([`${JSON.stringify(shown.scenario(), null, 2)}\n`], { type: "application/json" })),
  );
  byId("print").addEventListener("click", () => {
    dialog.close();
    print();
  });
  return { open };
}
