-- Enter a level of a lock whose holders get a fencing token.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: number}
-- KEYS[3]  the last token that was given out; it never expires
-- ARGV[1]  owner
-- ARGV[2]  level to enter: 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  locker
-- ARGV[5]  number of the call: larger than before, and the same when sent again
-- Returns  {1, hold count, token} entered, {0, 0} held by another owner,
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
  return {1, 1, redis.call('INCR', KEYS[3])}
end
local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[4])
if not mine[1] or not mine[2] then
  if level > 1 then
    return {-1, 0}
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
-- Nobody else was granted the lock since: the token is still this owner's.
return {1, count, tonumber(redis.call('GET', KEYS[3]))}
