-- What the scripts share that enter a level of a lock with numbered calls.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: "number until"}; level 1 only
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner enters, 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- ARGV[4]  locker: an owner holds a lock through one of them
-- ARGV[5]  number of the call: larger than before, and the same when sent again
local level, number = tonumber(ARGV[2]), tonumber(ARGV[5])
-- Takes a lock that is free.
local function take()
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('HSET', KEYS[1], '#' .. ARGV[4], ARGV[5])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1
end
-- Enters a level from the one that the owner is at. Returns 1 entered,
-- 0 held by another, -1 the outer levels are not held, -2 late: the owner has
-- made another call since; or 2: the lock is free, and was not taken.
local function enter()
  local keys = 0
  if level == 1 then
    keys = redis.call('EXISTS', KEYS[1], KEYS[2])
    if keys == 0 then
      return 2
    end
  end
  local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[4])
  if not mine[1] or not mine[2] then
    if level > 1 then
      return -1
    end
    if keys == 1 and redis.call('EXISTS', KEYS[1]) == 1 then
      return 0 -- and no call is over
    end
    local over = redis.call('HGET', KEYS[2], ARGV[1] .. '/' .. ARGV[4])
    if over and number < tonumber(string.match(over, '^%d+')) then
      return -2
    end
    if keys == 1 then
      return 2
    end
    return 0
  end
  local count = tonumber(mine[1])
  if number < tonumber(mine[2]) then
    return -2
  end
  if count < level - 1 then
    return -1
  end
  if count ~= level then
    -- One up; or down, where the unlock of an inner level never arrived.
    redis.call('HINCRBY', KEYS[1], ARGV[1], level - count)
  end
  redis.call('HSET', KEYS[1], '#' .. ARGV[4], ARGV[5])
  if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
    -- Sent again, or granted by a message: the lease begins now.
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
  return 1
end
