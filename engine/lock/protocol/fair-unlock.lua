-- Leave a level; the last one is handed to whoever waits longest.
-- ARGV[1]  owner
-- ARGV[2]  level to leave
-- ARGV[3]  grant in milliseconds
-- ARGV[4]  locker
-- ARGV[5]  number of the call: larger than before, and the same when sent again
-- ARGV[6]  for how many milliseconds an earlier call can still arrive, 0 for
--          never: then all of them were answered
-- Returns  {1, hold count} left, {-1, 0} the level is not held,
--          {-2, 0} late: the owner has made another call since
local number = tonumber(ARGV[5])
local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[4])
if tonumber(ARGV[6]) > 0 then
  local over = redis.call('HGET', KEYS[2], ARGV[1] .. '/' .. ARGV[4])
  if not over or tonumber(over) < number then
    redis.call('HSET', KEYS[2], ARGV[1] .. '/' .. ARGV[4], ARGV[5])
    redis.call('PEXPIRE', KEYS[2], ARGV[6])
  end
end
if not mine[1] or not mine[2] then
  return {-1, 0}
end
if number < tonumber(mine[2]) then
  return {-2, 0}
end
local rest = tonumber(ARGV[2]) - 1
local count = tonumber(mine[1])
if count < rest then
  return {-1, 0}
end
if count > rest then
  count = redis.call('HINCRBY', KEYS[1], ARGV[1], rest - count)
end
if count == 0 then
  redis.call('DEL', KEYS[1])
  grant(nil)
else
  redis.call('HSET', KEYS[1], '#' .. ARGV[4], ARGV[5])
end
return {1, count}
