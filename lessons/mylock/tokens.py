from worker import redis, rounds


def take():
    if redis.setnx("printers:made", 1):  # once: two tokens, for two printers
        redis.rpush("printers", "1", "2")
    return redis.lpop("printers")


rounds(take, give=lambda: redis.rpush("printers", "token"), tries=1)
