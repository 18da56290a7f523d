-- Leave a level; after the last one, wake one of those who wait.
-- ARGV[1]  owner
-- ARGV[2]  level to leave
-- Returns  {1, hold count} left, {-1, 0} the level is not held: nothing was
--          changed
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {-1, 0}
end
local rest = tonumber(ARGV[2]) - 1
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
if count < rest then
  return {-1, 0}
end
if count > rest then
  count = redis.call('HINCRBY', KEYS[1], ARGV[1], rest - count)
end
if count == 0 then
  redis.call('DEL', KEYS[1])
  wake()
end
return {1, count}
