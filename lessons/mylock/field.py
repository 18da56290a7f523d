from worker import me, redis, rounds


def take():
    return redis.hsetnx("locks", "invoice:7", me) and redis.execute_command("HPEXPIRE", "locks", 2000, "FIELDS", 1, "invoice:7")


rounds(take, give=lambda: redis.hdel("locks", "invoice:7"))
