import time

from worker import redis, rounds


def take():
    """A deadline as the value, and no expiry: whose deadline is over is replaced."""
    mine, now = int(time.time() * 1000) + 2000, int(time.time() * 1000)
    if redis.setnx("invoice:7", mine):
        return True
    old = redis.get("invoice:7")
    return old is not None and int(old) < now and redis.getset("invoice:7", mine) == old


rounds(take, give=lambda: redis.delete("invoice:7"))
