import time

from rounds import rounds

# shown
def remind(r, mail, pod, bill):
    """Mails one reminder of a bill. Each pod is asked to, some later than others."""
    key = f"lock:{bill}"
    for _ in range(2):
        if r.set(key, pod, nx=True, px=30_000):
            break
        time.sleep(BACKOFF)
    else:
        return False
    try:
        text = f"Please pay {bill}."
        # at fault: again
        mail.send(text)
        # end
    finally:
        delete_if_own(r, key, pod)
    return True

# folded

BACKOFF = 0.001

DELETE_IF_OWN = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0"""


def delete_if_own(r, key, pod):
    """Deletes a key if it has a value, in one step."""
    return r.eval(DELETE_IF_OWN, 1, key, pod)


class Mail:
    """Sends mails; one with an id that it has sent before, it refuses."""

    def __init__(self, r):
        self.r = r

    def send(self, text, id=None):
        rounds.inside(self.r, lambda: rounds.deed(self.r, once=id is not None))


rounds.do(lambda r, thread: remind(r, Mail(r), thread, "bill:7"))
