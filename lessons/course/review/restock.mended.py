from rounds import rounds

# shown
def restock(r, owner, article, arrived):
    """Counts one more delivery."""
    key = f"lock:{article}"
    if not r.set(key, owner, nx=True, px=30_000):
        return False
    try:
        # mended: version
        version = r.get(f"version:{article}") or ""
        stock = int(r.get(f"stock:{article}") or 0)
        # end
        if arrived > CAPACITY - stock:
            return False
        count = stock + arrived
        return set_if_same(r, article, version, count)
    finally:
        delete_if_own(r, key, owner)

# folded

CAPACITY = 1000

DELETE_IF_OWN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0"""

SET_IF_SAME = """
if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then
  redis.call('INCR', KEYS[1])
  redis.call('SET', KEYS[2], ARGV[2])
  return 1
end
return 0"""


def delete_if_own(r, key, owner):
    """Deletes a key if it has a value, in one step."""
    return r.eval(DELETE_IF_OWN, 1, key, owner)


def set_if_same(r, article, version, count):
    """Sets the stock and the next version, if the version is still this one, in one step."""
    return r.eval(SET_IF_SAME, 2, f"version:{article}", f"stock:{article}", version, count)


rounds.do(lambda r, thread: restock(r, thread, "7", 5))
