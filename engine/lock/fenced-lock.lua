-- Enter a level of a lock whose holders get a fencing token.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- KEYS[2]  the last token that was given out; it never expires
-- ARGV[1]  owner
-- ARGV[2]  level to enter: 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- Returns  {1, hold count, token} entered, {0, 0} held by another owner,
--          {-1, 0} the outer levels are not held: nothing was changed
local level = tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if level > 1 then
    return {-1, 0}
  end
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {1, 1, redis.call('INCR', KEYS[2])}
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  if level > 1 then
    return {-1, 0}
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
-- Nobody else was granted the lock since: the token is still this owner's.
return {1, count, tonumber(redis.call('GET', KEYS[2]))}
