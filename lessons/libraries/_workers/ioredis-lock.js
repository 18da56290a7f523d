// playground lab -- node worker.js        (needs: npm install ioredis-lock ioredis@5 --legacy-peer-deps)
const Redis = require("ioredis"), { createLock } = require("ioredis-lock");
const c = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: Number(process.env.RETRIES || 0), retryStrategy: () => 1 });
c.on("error", () => {});
const mark = (text) => c.echo(text).catch(() => mark(text)); // after a lost reply, once connected again

(async () => {
  while (await mark("relock:round")) {
    const lock = createLock(c, { timeout: 2000, retries: 2, delay: 1 });
    if (!(await lock.acquire("invoice:7").then(() => true, () => false))) continue;
    await mark("relock:enter");
    await mark("relock:leave");
    await lock.release().catch(() => {});
  }
})();
