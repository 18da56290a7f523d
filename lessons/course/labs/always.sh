#!/bin/sh
redis() { redis-cli -u "$REDIS_URL" "$@" 2>/dev/null; }
release='if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'

while [ "$(redis ECHO relock:round)" ]; do
  for try in 1 2; do
    if [ "$(redis SET invoice:7 "$RELOCK_THREAD" NX PX 2000)" = OK ]; then
      redis ECHO relock:enter
      redis ECHO relock:leave
      break
    fi
  done
  redis EVAL "$release" 1 invoice:7 "$RELOCK_THREAD"
done >/dev/null
