// playground lab -- node worker.js        (needs: npm install redis-semaphore ioredis@5)
const Redis = require("ioredis"), { Mutex } = require("redis-semaphore");
const c = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: Number(process.env.RETRIES || 0), retryStrategy: () => 1 });
c.on("error", () => {});
const mark = (text) => c.echo(text).catch(() => mark(text)); // after a lost reply, once connected again

(async () => {
  while (await mark("relock:round")) {
    const lock = new Mutex(c, "invoice:7", { lockTimeout: 2000, retryInterval: 1, acquireAttemptsLimit: 3, onLockLost: () => {} });
    if (!(await lock.tryAcquire().catch(() => false))) continue;
    await mark("relock:enter");
    await mark("relock:leave");
    await lock.release().catch(() => {});
  }
})();
