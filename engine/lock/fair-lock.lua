-- Enter a level, or wait in line.
-- ARGV[1]  owner
-- ARGV[2]  level to enter: 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  grant in milliseconds
-- ARGV[5]  the caller as a waiter: "owner inbox"
-- ARGV[6]  patience in milliseconds: how long the caller waits without asking,
--          0 where it does not wait
-- Returns  {1, hold count, 0, now, 0} entered, {0, 0, 0, now, PTTL} in line,
--          {-1, 0, 0, now, 0} the outer levels are not held
local level = tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if level > 1 then
    return {-1, 0, 0, now, 0}
  end
  if grant(ARGV[5]) ~= 'other' then
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return {1, 1, 0, now, 0}
  end
elseif redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
  if count < level - 1 then
    return {-1, 0, 0, now, 0}
  end
  if count ~= level then
    count = redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
  end
  if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[3]) -- a grant is confirmed
  end
  return {1, count, 0, now, 0}
elseif level > 1 then
  return {-1, 0, 0, now, 0}
end
if tonumber(ARGV[6]) > 0 then
  if redis.call('ZADD', KEYS[3], now + ARGV[6], ARGV[5]) == 1 then
    redis.call('RPUSH', KEYS[2], ARGV[5])
  end
  for line = 2, 3 do -- never shorter: others wait there, too
    if redis.call('PTTL', KEYS[line]) < ARGV[6] + ARGV[3] then
      redis.call('PEXPIRE', KEYS[line], ARGV[6] + ARGV[3])
    end
  end
end
return {0, 0, 0, now, redis.call('PTTL', KEYS[1])}
