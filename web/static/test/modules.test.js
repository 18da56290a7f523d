import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";

// These are the beginnings of pages: they alone look at the page at once.
const beginnings = ["app.js", "room.js", "room-phone.js"];
const modules = (await readdir(new URL("../js/", import.meta.url))).filter((name) => name.endsWith(".js") && !beginnings.includes(name));

test("no module needs a page to be imported", async (t) => {
  assert.ok(modules.length > 20, `${modules.length} modules`);
  for (const name of modules) {
    await t.test(name, () => import(`../js/${name}`));
  }
});
