-- Delete a lock that is still the owner's.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- Returns  {1, 0} deleted, {-1, 0} not the owner's: nothing was changed
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return {1, 0}
end
return {-1, 0}
