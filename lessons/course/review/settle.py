import time

from redis.exceptions import ConnectionError

from rounds import rounds

# shown
def settle(r, server, invoice):
    """Settles an invoice; the ledger refuses to book it a second time."""
    key = f"lock:{invoice}"
    try:
        for _ in range(2):
            try:
                got = r.set(key, server, nx=True, px=30_000)
            except ConnectionError:
                got = False  # nobody knows, so it is asked again
            if got:
                return book(r, invoice)
            time.sleep(BACKOFF)
        return False
    finally:
        delete_if_own(r, key, server)  # also if it was refused

# folded

BACKOFF = 0.001

DELETE_IF_OWN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0"""


def delete_if_own(r, key, server):
    """Deletes a key if it has a value, in one step; twice does no harm."""
    for _ in range(2):
        try:
            return r.eval(DELETE_IF_OWN, 1, key, server)
        except ConnectionError:
            pass


def book(r, invoice):
    rounds.inside(r, lambda: rounds.deed(r, once=True))
    return True


rounds.do(lambda r, thread: settle(r, thread, "invoice:7"))
