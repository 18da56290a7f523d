-- Take a lock, or find that an earlier request of the same call has taken it.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  level: a nested call is no earlier request, and is refused
-- Returns  {1, 1} entered, {0, 0} held by another, or by an outer level
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {1, 1}
end
if ARGV[3] == '1' and redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, 1}
end
return {0, 0}
