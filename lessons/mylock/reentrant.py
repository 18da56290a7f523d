from worker import me, redis, rounds

lock = redis.register_script("""
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
return redis.call('PEXPIRE', KEYS[1], 2000)""")
unlock = redis.register_script("""
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) == 0 then redis.call('DEL', KEYS[1]) end
return 1""")
rounds(take=lambda: lock(["invoice:7"], [me]) and lock(["invoice:7"], [me]),
       give=lambda: unlock(["invoice:7"], [me]) and unlock(["invoice:7"], [me]))
