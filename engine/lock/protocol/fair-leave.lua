-- Wait no longer; a grant that came meanwhile is handed on.
-- ARGV[1]  owner
-- ARGV[2]  the caller as a waiter: "owner inbox locker number"
-- ARGV[3]  grant in milliseconds
-- ARGV[4]  locker
-- ARGV[5]  number of the call that waited
-- Returns  {1, 0}
redis.call('LREM', KEYS[3], 1, ARGV[2])
redis.call('ZREM', KEYS[4], ARGV[2])
-- What another call was granted is its own. And what has longer to live than a
-- grant was confirmed: it is a hold, which only an unlock ends.
local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[4])
if mine[1] and mine[2] == ARGV[5] and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[3]) then
  redis.call('DEL', KEYS[1])
  grant(nil)
end
return {1, 0}
