// playground lab -nodes 3 -- node worker.js        (needs: npm install redlock@4 ioredis@5)
const Redis = require("ioredis"), Redlock = require("redlock");
const nodes = [];
for (let i = 1; process.env["REDIS_URL_" + i]; i++)
  nodes.push(new Redis(process.env["REDIS_URL_" + i], { maxRetriesPerRequest: 0, retryStrategy: () => 1 }));
const locks = new Redlock(nodes, { retryCount: 0 });
for (const c of nodes) c.on("error", () => {});
locks.on("clientError", () => {});
const mark = (text) => nodes[0].echo(text).catch(() => mark(text)); // after a lost reply, once connected again

(async () => {
  while (await mark("relock:round")) {
    const lock = await locks.lock("invoice:7", 2000).catch(() => null);
    if (!lock) continue;
    await mark("relock:enter");
    await mark("relock:leave");
    await lock.unlock().catch(() => {});
  }
})();
