-- What the scripts share that leave a level of a lock with numbered calls.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: "number until"}; only where
--          ARGV[5] is more than 0
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner leaves, 1 for the last release
-- ARGV[3]  locker
-- ARGV[4]  number of the call: larger than before, and the same when sent again
-- ARGV[5]  for how many milliseconds an earlier call can still arrive, 0 for
--          never: then all of them were answered
local rest, number = tonumber(ARGV[2]) - 1, tonumber(ARGV[4])
-- Leaves a level. Returns 1 left; at 0 the lock is deleted, -1 the owner does
-- not hold that level, -2 late: the owner has made another call since.
local function leave()
  local mine = redis.call('HMGET', KEYS[1], ARGV[1], '#' .. ARGV[3])
  if not mine[1] or not mine[2] then
    return -1
  end
  if number < tonumber(mine[2]) then
    return -2
  end
  local count = tonumber(mine[1])
  if count < rest then
    return -1
  end
  if rest == 0 then
    redis.call('DEL', KEYS[1]) -- without counting, which a full Redis refuses
    return 1
  end
  if count > rest then
    redis.call('HINCRBY', KEYS[1], ARGV[1], rest - count)
  end
  redis.call('HSET', KEYS[1], '#' .. ARGV[3], ARGV[4])
  return 1
end
-- Notes under a key that earlier calls of the owner are over, and forgets those
-- of which no copy can arrive any more. A full Redis may refuse to: it refuses
-- late copies, too.
local function remember(key)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local over, mine = redis.call('HGETALL', key), ARGV[1] .. '/' .. ARGV[3]
  for i = 1, #over, 2 do
    local last, ends = string.match(over[i + 1], '^(%S+) (%S+)$')
    if tonumber(last) and over[i] == mine and tonumber(last) > number then
      return
    end
    if not tonumber(ends) or tonumber(ends) < now then -- over, or not one of these at all
      redis.call('HDEL', key, over[i])
    end
  end
  redis.pcall('HSET', key, mine, ARGV[4] .. ' ' .. string.format('%.0f', now + ARGV[5]))
  redis.call('PEXPIRE', key, ARGV[5])
end
