-- Enter a lock, whatever level it is.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- ARGV[1]  owner
-- ARGV[2]  lease, in whatever unit the caller took for milliseconds
-- Returns  {1, hold count} entered, {0, 0} held by another owner
if redis.call('EXISTS', KEYS[1]) == 0 then
  local count = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, count}
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return {1, redis.call('HINCRBY', KEYS[1], ARGV[1], 1)}
end
return {0, 0}
