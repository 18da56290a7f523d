from worker import me, redis, rounds

rounds(take=lambda: redis.get("invoice:7") is None and redis.set("invoice:7", me, px=2000), give=lambda: redis.delete("invoice:7"))
