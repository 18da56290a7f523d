-- Renew the lease of a lock that is still the owner's.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- Returns  {1, 0} renewed, {-1, 0} not the owner's: nothing was changed
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, 0}
end
return {-1, 0}
