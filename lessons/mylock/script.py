from worker import me, redis, rounds

release = redis.register_script("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
rounds(take=lambda: redis.set("invoice:7", me, nx=True, px=2000), give=lambda: release(["invoice:7"], [me]))
