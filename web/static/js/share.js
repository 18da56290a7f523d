// The dialogs with links of what is seen: of what is stepped through, with its
// files; and of a run.
import { byId, copied, download } from "./dom.js";
import { LONGEST } from "./link.js";
import { say } from "./words.js";

/**
 * @typedef {object} Shown
 * @property {() => Promise<string>} packed the link's text, as in link.js
 * @property {() => object} scenario with its schedule
 * @property {() => string} title
 * @property {() => number} step
 */

const note = (/** @type {string} */ text) => {
  byId("share-note").textContent = text;
};

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

/** @param {HTMLInputElement | HTMLTextAreaElement} from */
async function copy(from) {
  from.select();
  note((await copied(from.value)) ? say("Copied.") : say("Press Ctrl+C to copy what is selected."));
}

/**
 * What every such dialog has: a link, to be copied or shown as a QR code.
 * @param {(here: boolean) => Promise<{path: string, says: string}>} link to what
 *   is seen, at this step or not, and what there is to say of it
 * @param {(url: URL) => void} [offered] another link is in the dialog
 */
function linkDialog(link, offered) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("share"));
  const input = /** @type {HTMLInputElement} */ (byId("share-link"));
  const code = /** @type {HTMLImageElement} */ (byId("qr-code"));
  const fill = byId("qr-fill");
  const reach = document.getElementById("qr-reach"); // where a link opens here alone
  const here = /** @type {HTMLInputElement} */ (byId("share-here"));

  /** Where others reach this site, as far as is known here. */
  let site = document.documentElement.dataset.site ?? location.href;

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
    const { path, says } = await link(here.checked);
    offer(path);
    note(says);
  }

  /** @param {string} path on this site */
  function offer(path) {
    const url = new URL(path, site);
    input.value = url.href;
    offered?.(url);
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
    offer(url.pathname + url.search + url.hash);
    await qr();
  }

  for (const button of document.querySelectorAll("button[data-dialog=share]")) {
    button.addEventListener("click", open);
  }
  here.addEventListener("change", show);
  byId("copy").addEventListener("click", () => copy(input));
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
  byId("print").addEventListener("click", () => {
    dialog.close();
    print();
  });
  return { dialog, input, open, offer, site: () => site, here: () => here.checked };
}

/**
 * The dialog of a run, which the server keeps.
 * @param {() => number} row the one that you are at, or 0 at the end
 */
export function shareRun(row) {
  const says = say("It shows this run, as long as the server keeps it.");
  return linkDialog(async (here) => ({ path: `${location.pathname}${here && row() > 0 ? `#row-${row()}` : ""}`, says }));
}

/** @param {Shown} shown */
export function share(shown) {
  const embed = /** @type {HTMLTextAreaElement} */ (byId("embed-code"));
  /** The link's text, at this step or at the start. @param {boolean} here */
  const packed = async (here) => (here ? shown.packed() : (await shown.packed()).replace(/~\d+$/, "~0"));

  const link = linkDialog(
    async (here) => {
      const text = await packed(here);
      const says =
        text.length > LONGEST
          ? say("%d characters: too long for many programs. Make it short: the server then keeps it.", text.length)
          : say("%d characters; the server keeps nothing.", text.length);
      return { path: `/play#${text}`, says };
    },
    (url) => {
      const inside = new URL(url.href);
      inside.pathname = `/embed${url.pathname}`;
      const title = `${shown.title()}, T${shown.step()}`.replace(/[&"<>]/g, (c) => `&#${c.charCodeAt(0)};`);
      embed.value =
        `<iframe src="${inside.href}" title="${title}" loading="lazy" width="100%" height="480" ` +
        `sandbox="allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"></iframe>`;
    },
  );

  async function shorten() {
    const answer = await ask("/s", { method: "POST", body: await packed(link.here()), headers: { "Content-Type": "text/plain" } });
    if (!answer?.ok) {
      if (answer) {
        note(say("The server could not keep it. Please try again in a moment."));
      }
      return;
    }
    link.offer((await answer.json()).path);
    note(say("The server keeps it under this address."));
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
    const url = new URL(`/learn/made?${new URLSearchParams({ from: await shown.packed(), kind })}`, link.site());
    const own = /** @type {HTMLAnchorElement} */ (byId("question"));
    own.href = url.pathname + url.search;
    own.hidden = false;
    link.input.value = url.href;
    note(url.href.length > LONGEST ? say("%d characters: too long for many programs.", url.href.length) : say("The link is a question now: copy it, or try it."));
  }

  for (const button of /** @type {NodeListOf<HTMLElement>} */ (link.dialog.querySelectorAll("[data-question]"))) {
    button.addEventListener("click", () => question(button.dataset.question ?? ""));
  }
  byId("copy-embed").addEventListener("click", () => copy(embed));
  byId("shorten").addEventListener("click", shorten);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (link.dialog.querySelectorAll("[data-export]"))) {
    button.addEventListener("click", () => save(/** @type {string} */ (button.dataset.export)));
  }
  byId("save-scenario").addEventListener("click", () =>
    download("scenario.json", new Blob([`${JSON.stringify(shown.scenario(), null, 2)}\n`], { type: "application/json" })),
  );
  return { open: link.open };
}
