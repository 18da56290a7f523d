import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";

// app.js is the page's beginning: it alone looks at the page at once.
const modules = (await readdir(new URL("../js/", import.meta.url))).filter((name) => name.endsWith(".js") && name !== "app.js");

test("no module needs a page to be imported", async (t) => {
  assert.ok(modules.length > 20, `${modules.length} modules`);
  for (const name of modules) {
    await t.test(name, () => import(`../js/${name}`));
  }
});
