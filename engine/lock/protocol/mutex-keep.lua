-- Keep a lock's key for a while after the work, so that nobody does it again.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- ARGV[2]  how long in milliseconds
-- Returns  {1, 0} kept, {-1, 0} not the owner's: nothing was changed
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, 0}
end
return {-1, 0}
