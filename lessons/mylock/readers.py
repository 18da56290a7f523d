from worker import me, redis, rounds

# A reads and B writes; a field says who is in, as in Redisson's read-write lock.
enter = redis.register_script("""
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode and (mode == 'write' or ARGV[2] == 'write') then return 0 end
redis.call('HSET', KEYS[1], 'mode', ARGV[2])
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
return redis.call('PEXPIRE', KEYS[1], 2000)""")
leave = redis.register_script("""
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
if redis.call('HLEN', KEYS[1]) == 1 then redis.call('DEL', KEYS[1]) end
return 1""")
mode = {"A": "read", "B": "write"}.get(me, "read")
rounds(take=lambda: enter(["catalogue"], [me, mode]), give=lambda: leave(["catalogue"], [me]))
