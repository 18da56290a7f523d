"""Runs the client code of the course's reviews as a worker of the lab."""

import json
import os
import sys

import redis

LINES = os.environ.get("RELOCK_LINES")  # names a file: see rounds.go
DIES = os.environ.get("RELOCK_DIES") == os.environ.get("RELOCK_THREAD")  # see rounds.go
BOOK = "book"
sent = []
dead = []


class Died(BaseException):
    """The thread has died in this round: it sends nothing more."""



class Client(redis.Redis):
    """A client that notes the lines of the worker's file that send a command."""

    def execute_command(self, *args, **options):
        if dead:
            raise Died
        verb, own, frame, lines = args[0].split()[0].upper(), sys.modules["__main__"].__file__, sys._getframe(), []
        while frame:
            if frame.f_code.co_filename == own:
                lines.append(frame.f_lineno)
            frame = frame.f_back
        try:
            return super().execute_command(*args, **options)
        except redis.exceptions.NoScriptError:
            lines = []  # it comes again, with its text
            raise
        finally:
            if LINES and lines and args[1:] != ("relock:round",):
                sent.append({"verb": verb, "lines": lines})
                with open(LINES + "." + os.environ["RELOCK_THREAD"], "w") as f:
                    json.dump(sent, f)


def do(round):
    """Calls round in each round of the lab, with a client and the thread's name."""
    r = Client(host=os.environ["REDIS_HOST"], port=int(os.environ["REDIS_PORT"]), decode_responses=True)
    while redis.Redis.execute_command(r, "ECHO", "relock:round"):
        sent.clear()
        dead.clear()
        try:
            round(r, os.environ["RELOCK_THREAD"])
        except Died:
            pass


def inside(r, work=lambda: None):
    """Marks what is done while the lock is held."""
    r.echo("relock:enter")
    try:
        work()
    finally:
        r.echo("relock:leave")


REFUSES = """
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
return redis.call('RPUSH', KEYS[1], 'done')"""


def deed(r, once=False):
    """Does what must be done once, at somebody who, with once, refuses it a second time."""
    try:
        return r.eval(REFUSES, 1, BOOK) if once else r.rpush(BOOK, "done")
    finally:
        if DIES:
            dead.append(True)
