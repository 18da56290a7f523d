-- Enter a level, or wait in line.
-- ARGV[1]  owner
-- ARGV[2]  level to enter: 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  grant in milliseconds
-- ARGV[5]  locker
-- ARGV[6]  number of the call: larger than before, and the same when sent again
-- ARGV[7]  the caller as a waiter: "owner inbox locker number"
-- ARGV[8]  patience in milliseconds: how long the caller waits without asking,
--          0 where it does not wait
-- Returns  {1, hold count, 0, now, 0} entered, {0, 0, 0, now, PTTL} in line,
--          {-1, 0, 0, now, 0} the outer levels are not held,
--          {-2, 0, 0, now, 0} late: the owner has made another call since
local level, number = tonumber(ARGV[2]), tonumber(ARGV[6])
local free = redis.call('EXISTS', KEYS[1]) == 0
if level == 1 then
  local over = redis.call('HGET', KEYS[2], ARGV[1] .. '/' .. ARGV[5])
  if over and number < tonumber(over) then
    return {-2, 0, 0, now, 0}
  end
end
local mine = {}
if not free then
  mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[5])
end
if free then
  if level > 1 then
    return {-1, 0, 0, now, 0}
  end
  if grant(ARGV[7]) ~= 'other' then
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('HSET', KEYS[1], '#' .. ARGV[5], ARGV[6])
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return {1, 1, 0, now, 0}
  end
elseif mine[1] and mine[2] then
  local count = tonumber(mine[1])
  if number < tonumber(mine[2]) then
    return {-2, 0, 0, now, 0}
  end
  if count < level - 1 then
    return {-1, 0, 0, now, 0}
  end
  if count ~= level then
    count = redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
  end
  redis.call('HSET', KEYS[1], '#' .. ARGV[5], ARGV[6])
  if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[3]) -- a grant is confirmed
  end
  return {1, count, 0, now, 0}
elseif level > 1 then
  return {-1, 0, 0, now, 0}
end
if tonumber(ARGV[8]) > 0 then
  if redis.call('ZADD', KEYS[4], now + ARGV[8], ARGV[7]) == 1 then
    redis.call('RPUSH', KEYS[3], ARGV[7])
  end
  for line = 3, 4 do -- never shorter: others wait there, too
    if redis.call('PTTL', KEYS[line]) < ARGV[8] + ARGV[3] then
      redis.call('PEXPIRE', KEYS[line], ARGV[8] + ARGV[3])
    end
  end
end
return {0, 0, 0, now, redis.call('PTTL', KEYS[1])}
