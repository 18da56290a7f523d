-- Leave one level of a reentrant lock.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner leaves, 1 for the last release
-- Returns  {1, hold count} left; at 0 the lock is deleted,
--          {-1, 0} the owner does not hold that level: nothing was changed
-- Naming the level makes the script safe to send twice.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {-1, 0}
end
local rest, counted = tonumber(ARGV[2]) - 1, nil
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
if count < rest then
  return {-1, 0}
end
if count > rest then
  counted = redis.pcall('HINCRBY', KEYS[1], ARGV[1], rest - count)
end
if rest == 0 then
  redis.call('DEL', KEYS[1]) -- a full Redis refuses to count, but not to delete
elseif type(counted) == 'table' then
  return counted
end
return {1, rest}
