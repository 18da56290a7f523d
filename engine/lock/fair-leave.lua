-- Wait no longer; a grant that came meanwhile is handed on.
-- ARGV[1]  owner
-- ARGV[2]  the caller as a waiter: "owner inbox"
-- ARGV[3]  grant in milliseconds
-- Returns  {1, 0}
redis.call('LREM', KEYS[2], 1, ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('DEL', KEYS[1])
  grant(nil)
end
return {1, 0}
