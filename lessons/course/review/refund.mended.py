from redis.exceptions import ConnectionError

from rounds import rounds

# shown
def refund(r, server, payment):
    """Pays a payment back; the bank refuses to do it a second time."""
    key = f"lock:{payment}"
    for _ in range(3):
        try:
            # mended: retry
            got = r.set(key, server, nx=True, px=30_000) or r.get(key) == server
            break
        except ConnectionError:
            got = False  # once more
            # end
    if not got:
        return False
    # mended: finally
    try:
        pay_back(r, payment)
    finally:
        delete_if_own(r, key, server)
    # end
    return True

# folded


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


def pay_back(r, payment):
    rounds.inside(r, lambda: rounds.deed(r, once=True))


def each(r, thread):
    try:
        refund(r, thread, "payment:7")
    except ConnectionError:
        pass  # the caller is told


rounds.do(each)
