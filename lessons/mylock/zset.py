import time

from worker import me, redis, rounds

lock = redis.register_script("""
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) > 0 and not redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1] + 2000, ARGV[2])
return redis.call('PEXPIRE', KEYS[1], 2000)""")
rounds(take=lambda: lock(["invoice:7"], [int(time.time() * 1000), me]), give=lambda: redis.zrem("invoice:7", me))
