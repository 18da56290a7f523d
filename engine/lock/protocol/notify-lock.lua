-- Enter a level, or be told when the lock is free.
-- KEYS[3]  who waits, "owner inbox", by the time of the first asking
-- ARGV[6]  the caller as a waiter: "owner inbox"
-- ARGV[7]  patience in milliseconds: how long the caller waits without asking,
--          0 where it does not wait
-- Returns  {1, hold count} entered, {0, 0} held by another owner,
--          {-1, 0} the outer levels are not held,
--          {-2, 0} late: the owner has made another call since
local answer = enter()
if answer == 2 then
  answer = take()
  redis.call('ZREM', KEYS[3], ARGV[6])
end
if answer == 1 then
  return {1, level}
end
if answer == 0 and tonumber(ARGV[7]) > 0 then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[3], 'NX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[6])
  if redis.call('PTTL', KEYS[3]) < ARGV[7] + ARGV[3] then
    redis.call('PEXPIRE', KEYS[3], ARGV[7] + ARGV[3]) -- never shorter: others wait there, too
  end
end
return {answer, 0}
