-- Enter a level, or wait in line.
-- ARGV[6]  the caller as a waiter: "owner inbox locker number"
-- ARGV[7]  patience in milliseconds: how long the caller waits without asking,
--          0 where it does not wait
-- ARGV[8]  grant in milliseconds
-- Returns  {1, hold count, 0, now, 0} entered, {0, 0, 0, now, PTTL} in line,
--          {-1, 0, 0, now, 0} the outer levels are not held,
--          {-2, 0, 0, now, 0} late: the owner has made another call since
local answer = enter()
if answer == 2 then
  answer = 0
  if grant(ARGV[6]) ~= 'other' then
    answer = take()
  end
end
if answer == 1 then
  return {1, level, 0, now, 0}
end
if answer < 0 then
  return {answer, 0, 0, now, 0}
end
if tonumber(ARGV[7]) > 0 then
  if redis.call('ZADD', KEYS[4], now + ARGV[7], ARGV[6]) == 1 then
    redis.call('RPUSH', KEYS[3], ARGV[6])
  end
  for line = 3, 4 do -- never shorter: others wait there, too
    if redis.call('PTTL', KEYS[line]) < ARGV[7] + ARGV[3] then
      redis.call('PEXPIRE', KEYS[line], ARGV[7] + ARGV[3])
    end
  end
end
return {0, 0, 0, now, redis.call('PTTL', KEYS[1])}
