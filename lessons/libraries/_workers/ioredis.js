// playground lab -- node worker.js        (needs: npm install ioredis@5; the lock is made by hand)
const Redis = require("ioredis"), { randomUUID } = require("crypto");
const c = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => 1 });
const unlock = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
c.on("error", () => {});
const mark = (text) => c.echo(text).catch(() => mark(text)); // after a lost reply, once connected again

(async () => {
  while (await mark("relock:round")) {
    const token = randomUUID();
    for (let tries = 0; tries < 3; tries++) {
      if ((await c.set("invoice:7", token, "PX", 2000, "NX").catch(() => null)) !== "OK") continue;
      await mark("relock:enter");
      await mark("relock:leave");
      await c.eval(unlock, 1, "invoice:7", token).catch(() => {});
      break;
    }
  }
})();
