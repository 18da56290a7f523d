-- Enter a level, or be told when the lock is free.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: number}
-- KEYS[3]  who waits, "owner inbox", by the time of the first asking
-- ARGV[1]  owner
-- ARGV[2]  level to enter: 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  locker
-- ARGV[5]  number of the call: larger than before, and the same when sent again
-- ARGV[6]  the caller as a waiter: "owner inbox"
-- ARGV[7]  patience in milliseconds: how long the caller waits without asking,
--          0 where it does not wait
-- Returns  {1, hold count} entered, {0, 0} held by another owner,
--          {-1, 0} the outer levels are not held,
--          {-2, 0} late: the owner has made another call since
local level, number = tonumber(ARGV[2]), tonumber(ARGV[5])
local free = redis.call('EXISTS', KEYS[1]) == 0
if level == 1 then
  local over = redis.call('HGET', KEYS[2], ARGV[1] .. '/' .. ARGV[4])
  if over and number < tonumber(over) then
    return {-2, 0}
  end
end
if free then
  if level > 1 then
    return {-1, 0}
  end
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('HSET', KEYS[1], '#' .. ARGV[4], ARGV[5])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZREM', KEYS[3], ARGV[6])
  return {1, 1}
end
local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[4])
if not mine[1] or not mine[2] then
  if level > 1 then
    return {-1, 0}
  end
  if tonumber(ARGV[7]) > 0 then
    local time = redis.call('TIME')
    redis.call('ZADD', KEYS[3], 'NX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[6])
    if redis.call('PTTL', KEYS[3]) < ARGV[7] + ARGV[3] then
      redis.call('PEXPIRE', KEYS[3], ARGV[7] + ARGV[3]) -- never shorter: others wait there, too
    end
  end
  return {0, 0}
end
local count = tonumber(mine[1])
if number < tonumber(mine[2]) then
  return {-2, 0}
end
if count < level - 1 then
  return {-1, 0}
end
if count ~= level then
  count = redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
end
redis.call('HSET', KEYS[1], '#' .. ARGV[4], ARGV[5])
if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return {1, count}
