-- Wait no longer; a wake-up that came meanwhile is passed on.
-- ARGV[1]  the caller as a waiter: "owner inbox"
-- Returns  {1, 0}
if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 and redis.call('EXISTS', KEYS[1]) == 0 then
  wake() -- it was woken itself, or may have been
end
return {1, 0}
