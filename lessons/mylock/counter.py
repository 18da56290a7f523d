from worker import redis, rounds

rounds(take=lambda: redis.incr("invoice:7") == 1 and redis.expire("invoice:7", 2), give=lambda: redis.delete("invoice:7"))
