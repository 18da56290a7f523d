-- Leave one level of a reentrant lock whose calls are numbered.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: number}
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner leaves, 1 for the last release
-- ARGV[3]  locker
-- ARGV[4]  number of the call: larger than before, and the same when sent again
-- ARGV[5]  for how many milliseconds an earlier call can still arrive, 0 for
--          never: then all of them were answered
-- Returns  {1, hold count} left; at 0 the lock is deleted,
--          {-1, 0} the owner does not hold that level,
--          {-2, 0} late: the owner has made another call since
local number = tonumber(ARGV[4])
local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[3])
if tonumber(ARGV[5]) > 0 then
  local over = redis.call('HGET', KEYS[2], ARGV[1] .. '/' .. ARGV[3])
  if not over or tonumber(over) < number then
    redis.call('HSET', KEYS[2], ARGV[1] .. '/' .. ARGV[3], ARGV[4])
    redis.call('PEXPIRE', KEYS[2], ARGV[5])
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
else
  redis.call('HSET', KEYS[1], '#' .. ARGV[3], ARGV[4])
end
return {1, count}
