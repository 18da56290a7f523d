from worker import me, redis, rounds


def take():
    both = redis.pipeline(transaction=True)
    both.setnx("report", me)
    both.expire("report", 60)  # also for whoever is refused
    return both.execute()[0]


rounds(take, give=lambda: redis.delete("report"))
