// playground lab -- node worker.js        (needs: npm install @sesamecare-oss/redlock ioredis@5)
const { Redis } = require("ioredis"), { Redlock } = require("@sesamecare-oss/redlock");
const c = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => 1 });
const locks = new Redlock([c], { retryCount: 2, retryDelay: 1, retryJitter: 0 });
c.on("error", () => {});
locks.on("error", () => {});
const mark = (text) => c.echo(text).catch(() => mark(text)); // after a lost reply, once connected again

(async () => {
  while (await mark("relock:round")) {
    const lock = await locks.acquire(["invoice:7"], 2000).catch(() => null);
    if (!lock) continue;
    await mark("relock:enter");
    await mark("relock:leave");
    await lock.release().catch(() => {});
  }
})();
