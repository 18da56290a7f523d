-- Count a lock down, and delete it at the end.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- ARGV[1]  owner
-- Returns  {1, hold count} left, {-1, 0} not the owner's
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {-1, 0}
end
local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if count <= 0 then
  redis.call('DEL', KEYS[1])
  return {1, 0}
end
return {1, count}
