// playground learn -ladder .        (needs: npm install ioredis@5)
const Redis = require("ioredis");
const r = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => 1 });
const me = process.env.RELOCK_THREAD;
const lease = Number(process.env.LEASE_MS ?? 2000), work = Number(process.env.WORK_MS ?? 0);
r.on("error", () => {});
const mark = (text) => r.echo(text).catch(() => mark(text)); // after a lost reply, once connected again

async function take() {
  if (await r.get("invoice:7")) return false;
  await r.set("invoice:7", "locked");
  return true;
}

async function give() {
  await r.del("invoice:7");
}

async function change() {
  const stock = Number((await r.get("stock:7")) ?? 10);
  await new Promise((done) => setTimeout(done, work));
  await r.set("stock:7", stock - 1);
}

(async () => {
  while (await mark("relock:round")) {
    try {
      if (!(await take())) continue; // one try is enough: the lab tries every order
      await mark("relock:enter");
      await change();
      await mark("relock:leave");
      await give();
    } catch {
      // the reply is lost, or the stock refuses: the round is over
    }
  }
})();
