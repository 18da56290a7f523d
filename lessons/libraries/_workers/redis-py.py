# playground lab -- python3 worker.py        (needs redis-py: pip install redis)
import os
import redis

r = redis.Redis(host=os.environ["REDIS_HOST"], port=int(os.environ["REDIS_PORT"]))
while r.echo("relock:round"):
    lock = r.lock("invoice:7", timeout=2)
    try:
        for tries in range(3):  # blocking_timeout would read the clock
            if lock.acquire(blocking=False):
                r.echo("relock:enter")
                r.echo("relock:leave")
                lock.release()
                break
    except redis.exceptions.RedisError:
        pass  # a lost reply, or a lock that is no longer ours
