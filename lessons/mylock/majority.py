import os

from redis import Redis

from worker import me, redis, rounds

nodes = [Redis.from_url(os.environ[f"REDIS_URL_{n}"], decode_responses=True) for n in (1, 2, 3)]
release = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def give():
    for node in nodes:
        node.eval(release, 1, "invoice:7", me)


def take():
    if sum(bool(node.set("invoice:7", me, nx=True, px=60000)) for node in nodes) > 1:
        return True
    give()
    return False


rounds(take, give, tries=1)
