from worker import me, redis, rounds

rounds(take=lambda: redis.set("invoice:7", me, nx=True, px=2000), give=lambda: redis.delete("invoice:7"))
