from rounds import rounds

# shown
def restock(r, server, article, arrived):
    """Counts what has arrived, on one server at a time. Who has been slow
    looks whether the lock is still its own, and writes nothing if not."""
    key = f"lock:{article}"
    if not r.set(key, server, nx=True, px=30_000):
        return False
    try:
        stock = int(r.get(f"stock:{article}") or 0)
        unpack(arrived)
        # mended: look
        if not r.eval(SET_IF_OWN, 2, key, f"stock:{article}", server, stock + arrived):
            return False  # another server has it now
        # end
        return True
    finally:
        delete_if_own(r, key, server)

# folded

DELETE_IF_OWN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0"""

SET_IF_OWN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[2], ARGV[2])
  return 1
end
return 0"""


def delete_if_own(r, key, server):
    """Deletes a key if it has a value, in one step."""
    return r.eval(DELETE_IF_OWN, 1, key, server)


def unpack(arrived):
    """Takes its time."""


rounds.do(lambda r, thread: restock(r, thread, "7", 5))
