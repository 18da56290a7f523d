# playground learn -ladder .        (needs redis-py: pip install redis)
import os
import time

import redis

r = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
me = os.environ["RELOCK_THREAD"]
lease = int(os.environ.get("LEASE_MS", 2000))
work = int(os.environ.get("WORK_MS", 0))


def take():
    if r.get("invoice:7"):
        return False
    r.set("invoice:7", "locked")
    return True


def give():
    r.delete("invoice:7")


def change():
    stock = int(r.get("stock:7") or 10)
    time.sleep(work / 1000)
    r.set("stock:7", stock - 1)


while r.echo("relock:round"):
    try:
        if take():  # one try is enough: the lab tries every order
            r.echo("relock:enter")
            change()
            r.echo("relock:leave")
            give()
    except redis.RedisError:
        pass  # the reply is lost, or the stock refuses: the round is over
