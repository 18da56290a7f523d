-- Enter one level of a reentrant lock.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner enters, 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- Returns  {1, hold count} granted, {0, 0} held by another,
--          {-1, 0} lost: the outer levels are no longer held
-- Naming the level makes the script safe to send twice.
local level = tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if level > 1 then
    return {-1, 0}
  end
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {1, 1}
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
  -- One up; or down, where the unlock of an inner level never arrived.
  count = redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
end
if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  -- The first acquisition, sent again: its lease begins again.
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return {1, count}
