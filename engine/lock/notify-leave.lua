-- Wait no longer.
-- KEYS[2]  who waits
-- ARGV[1]  the caller as a waiter: "owner inbox"
-- Returns  {1, 0}
redis.call('ZREM', KEYS[2], ARGV[1])
return {1, 0}
