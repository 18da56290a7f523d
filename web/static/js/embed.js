// A run that was stepped elsewhere, to read inside another page: one request brings all
// of it, and no socket stays open.
import { byId } from "./dom.js";
import { recorded } from "./film.js";
import { keysOf } from "./keys.js";
import { viewer } from "./viewer.js";
import { say } from "./words.js";

/** @param {HTMLElement} stage */
export async function embed(stage) {
  const fragment = location.hash.slice(1);
  const text = /^v\d+\./.test(fragment) ? fragment : (stage.dataset.open ?? "");
  /** @type {HTMLAnchorElement} */ (byId("whole")).href = `/play#${text}`;
  const asked = (/** @type {Record<string, string>} */ also = {}) => {
    const query = new URLSearchParams(location.search);
    query.set("lang", document.documentElement.lang); // whatever another frame has switched meanwhile
    Object.entries(also).forEach(([name, value]) => query.set(name, value));
    return fetch(`/replay?${query}`, { method: "POST", body: text, headers: { "Content-Type": "text/plain" } });
  };
  const answer = await asked();
  if (!answer.ok) {
    stage.classList.remove("unopened");
    byId("problem").textContent = say("This cannot be shown; the link may be incomplete.");
    byId("problem").hidden = false;
    return;
  }
  const view = show(stage, await answer.json(), async (row) => {
    const lanes = await asked({ row: String(row) });
    return lanes.ok ? lanes.text() : "";
  });
  const tell = () => parent.postMessage({ type: "relock:height", v: 1, px: document.documentElement.scrollHeight }, "*");
  new ResizeObserver(tell).observe(document.body);
  addEventListener("message", (event) => {
    if (event.source === parent && event.data?.type === "relock:seek" && Number.isInteger(event.data.step)) {
      view.go(event.data.step);
    }
  });
}

/**
 * Shows a film of which all is here but the lanes of a long one.
 * @param {HTMLElement} stage
 * @param {any} shown runs.Replay
 * @param {(row: number) => Promise<string>} lanesAt
 */
export function show(stage, shown, lanesAt) {
  byId("title").textContent = shown.title;
  byId("head").innerHTML = shown.head;
  byId("timeline").style.setProperty("--threads", String(shown.film.threads.length));
  byId("lua").innerHTML = shown.lua;
  byId("stage-box").innerHTML = shown.stage;
  const film = recorded(shown.film);
  const view = viewer({ film: () => film, lanesAt });
  view.lanes(shown.lanes);
  view.go(shown.at, "box"); // the page around it stays where it is
  stage.classList.remove("unopened");
  // Keys act once one is inside; a page around it keeps its own until then.
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    const action = /** @type {Record<string, () => void>} */ (keysOf(view))[event.key];
    if (action && !event.ctrlKey && !event.metaKey && !event.altKey && !target.closest("input, select")) {
      event.preventDefault();
      action();
    }
  });
  return view;
}
