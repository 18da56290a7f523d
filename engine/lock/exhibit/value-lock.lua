-- Take a lock, or walk into it again if the value in it is one's own.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- Returns  {1, 1} entered, {0, 0} held by another owner
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return {1, 1}
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return {1, 1}
end
return {0, 0}
