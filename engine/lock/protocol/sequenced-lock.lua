-- Enter one level of a reentrant lock whose calls are numbered.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: number}
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner enters, 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  locker: an owner holds a lock through one of them
-- ARGV[5]  number of the call: larger than before, and the same when sent again
-- Returns  {1, hold count} granted, {0, 0} held by another,
--          {-1, 0} lost: the outer levels are no longer held,
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
  return {1, 1}
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
  -- One up; or down, where the unlock of an inner level never arrived.
  count = redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
end
redis.call('HSET', KEYS[1], '#' .. ARGV[4], ARGV[5])
if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  -- The first acquisition, sent again: its lease begins again.
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return {1, count}
