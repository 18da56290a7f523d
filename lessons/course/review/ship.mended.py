import time

from rounds import rounds

# shown
def ship(r, server, order):
    """Hands an order to the carrier, who refuses one that it has."""
    key = f"lock:{order}"
    for _ in range(2):
        if r.set(key, server, nx=True, px=30_000):
            break
        time.sleep(BACKOFF)
    else:
        return False
    try:
        book_carrier(r, order)
    finally:
        # mended: release
        r.eval(DELETE_IF_OWN, 1, key, server)
        # end
    return True

# folded

BACKOFF = 0.001

DELETE_IF_OWN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0"""


def book_carrier(r, order):
    rounds.inside(r, lambda: rounds.deed(r, once=True))


rounds.do(lambda r, thread: ship(r, thread, "order:7"))
