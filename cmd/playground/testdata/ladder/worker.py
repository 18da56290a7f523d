# Climbs all levels of the ladder; tests take one thing away.
import os
import threading
import time

import redis

r = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
me = os.environ["RELOCK_THREAD"]
lease = int(os.environ.get("LEASE_MS", 2000))
work = int(os.environ.get("WORK_MS", 0))

# One step each: take it and draw a number; give it back, or renew it, if it is ours.
TAKE = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return 0"""
GIVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"

# What the stock does: it refuses a number smaller than the greatest it has seen.
REFUSES = """
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then
  return redis.error_reply('late')
end
redis.call('SET', KEYS[2], ARGV[1])
"""
READ = REFUSES + "return tonumber(redis.call('GET', KEYS[1]) or 10)"
WRITE = REFUSES + "return redis.call('SET', KEYS[1], ARGV[2])"


def renew(stop):
    while not stop.wait(lease / 3000):
        r.eval(RENEW, 1, "invoice:7", me, lease)


def change(number):
    stock = r.eval(READ, 2, "stock:7", "seen:7", number)
    time.sleep(work / 1000)
    r.eval(WRITE, 2, "stock:7", "seen:7", number, stock - 1)


def once():
    number = r.eval(TAKE, 2, "invoice:7", "number:7", me, lease)
    if not number:
        return
    r.echo("relock:enter")
    stop = threading.Event()
    renewing = threading.Thread(target=renew, args=(stop,), daemon=True)
    renewing.start()
    try:
        change(number)
    finally:
        stop.set()
        renewing.join()
    r.echo("relock:leave")
    r.eval(GIVE, 1, "invoice:7", me)


while r.echo("relock:round"):
    try:
        once()
    except redis.RedisError:
        pass
