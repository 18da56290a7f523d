import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { createDeflateRaw, createInflateRaw } from "node:zlib";

// Before 20.12 Node does not know deflate-raw, which browsers do.
try {
  new CompressionStream("deflate-raw");
} catch {
  globalThis.CompressionStream = class { constructor() { return Duplex.toWeb(createDeflateRaw()); } };
  globalThis.DecompressionStream = class { constructor() { return Duplex.toWeb(createInflateRaw()); } };
}
const { LinkError, pack, unpack } = await import("../js/link.js");

const scenario = {
  title: "Größe 锁 \"x\"",
  lock: { key: "k", lease: "200ms" },
  threads: [{ name: "A", work: "50ms" }, { name: "B", start: "10ms" }],
  schedule: [0, 1, { do: "pause", thread: "A", for: "300ms" }, { until: "200ms" }],
};

test("a link says again what was put into it, but for what is expected", async () => {
  assert.deepEqual(await unpack(await pack({ ...scenario, expect: { rows: 3 } }, 4)), { scenario, at: 4 });
});

test("a link needs no escaping in an address", async () => {
  for (let seed = 0; seed < 50; seed++) {
    const link = await pack({ ...scenario, seed }, seed);
    assert.match(link, /^v1\.z\.[A-Za-z0-9_-]+~\d+$/);
    assert.equal((await unpack(link)).scenario.seed, seed);
  }
});

test("the page reads what the server writes", async () => {
  // link.Encode of what link_test.go calls three, after 17 moves.
  const { scenario: sc, at } = await unpack(
    "v1.z.RI1JS8NQFIXROoFCneMAt-GuT-XmpWltd626ForbIM_maYJpUpLYLOT9d0lb7OYOB77v3L_FhTFuFRdGR6Wrs8itY125tckqty7y7Itx_Dp9fpm-DxgnKhDC0aMQdvvY6wnhUOZl1xOyFjtjxpmPU7-J-kIdzvTc8IgnjHawfZ8Y7SHhXOHChrhsjRk3dV58M64UruEs9E9pGLe-CIHLWb5oKJ2m3OEqWSk8JQTnUydpN1-agsEfJk6yiEeeDXHXU9gXeFAQNFugVvPA8wcPAdlN3Jrwtm0oZP-BNbK-fx2zTGYV241KQvsXAAD__w~17",
  );
  assert.equal(at, 17);
  assert.deepEqual(sc.threads.map((t) => t.name), ["A", "B", "C"]);
  assert.equal(sc.lock.lease, "250ms");
  assert.deepEqual(sc.schedule.at(-5), { do: "evict" });
  assert.equal(sc.schedule.length, 30);
});

test("what is no whole link is refused with a sentence", async () => {
  const link = await pack(scenario, 3);
  const [body] = link.split("~");
  for (const [bad, want] of [
    [`v2${link.slice(2)}`, /newer version/],
    [body, /incomplete/],
    [`${body.slice(0, 60)}~3`, /incomplete/],
    [`${link}x`, /incomplete/],
    ["v1.z.%%%~1", /incomplete/],
    [`v1.z.${"A".repeat(64 * 1024)}~1`, /more than a scenario may have/],
  ]) {
    await assert.rejects(unpack(bad), (error) => error instanceof LinkError && want.test(error.message), bad.slice(0, 70));
  }
});

test("a small link that unpacks to much is refused before it is read", async () => {
  const bomb = await pack({ title: "x".repeat(1 << 20) }, 0);
  assert.ok(bomb.length < 3000);
  await assert.rejects(unpack(bomb), /more than a scenario may have/);
});
