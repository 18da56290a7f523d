-- Enter a level, or be told when the lock is free.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- KEYS[2]  who waits, "owner inbox", by the time of the first asking
-- ARGV[1]  owner
-- ARGV[2]  level to enter: 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  the caller as a waiter: "owner inbox"
-- ARGV[5]  patience in milliseconds: how long the caller waits without asking,
--          0 where it does not wait
-- Returns  {1, hold count} entered, {0, 0} held by another owner, {-1, 0} the
--          outer levels are not held: nothing was changed
local level = tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if level > 1 then
    return {-1, 0}
  end
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZREM', KEYS[2], ARGV[4])
  return {1, 1}
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  if level > 1 then
    return {-1, 0}
  end
  if tonumber(ARGV[5]) > 0 then
    local time = redis.call('TIME')
    redis.call('ZADD', KEYS[2], 'NX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[4])
    if redis.call('PTTL', KEYS[2]) < ARGV[5] + ARGV[3] then
      redis.call('PEXPIRE', KEYS[2], ARGV[5] + ARGV[3]) -- never shorter: others wait there, too
    end
  end
  return {0, 0}
end
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
if count < level - 1 then
  return {-1, 0}
end
if count ~= level then
  count = redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
end
if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return {1, count}
