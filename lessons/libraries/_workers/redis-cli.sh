#!/bin/sh
# playground lab -- sh worker.sh        (needs redis-cli; a process for each command: slow, and it works)
redis() { redis-cli -h "$REDIS_HOST" -p "$REDIS_PORT" "$@" 2>/dev/null; }
release='if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
while [ "$(redis ECHO relock:round)" ]; do
  token="$RELOCK_THREAD-$(date +%s%N)"
  for try in 1 2 3; do
    if [ "$(redis SET invoice:7 "$token" NX PX 2000)" = OK ]; then
      redis ECHO relock:enter
      redis ECHO relock:leave
      redis EVAL "$release" 1 invoice:7 "$token"
      break
    fi
  done
done >/dev/null
