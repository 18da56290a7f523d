-- Wait no longer; a grant that came meanwhile is handed on.
-- ARGV[1]  owner
-- ARGV[2]  the caller as a waiter: "owner inbox"
-- ARGV[3]  grant in milliseconds
-- Returns  {1, 0}
redis.call('LREM', KEYS[2], 1, ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
-- What has longer to live than a grant was confirmed: it is a hold, perhaps of
-- a later call, and only an unlock ends it.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[3]) then
  redis.call('DEL', KEYS[1])
  grant(nil)
end
return {1, 0}
