-- Renew the lease of a lock that is the owner's, or that is gone.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- Returns  {1, 0} renewed, or taken again, {-1, 0} another's: nothing was changed
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, 0}
end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {1, 0}
end
return {-1, 0}
