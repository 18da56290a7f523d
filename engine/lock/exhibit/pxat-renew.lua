-- Move the end of a lease that is still the owner's.
-- KEYS[1]  the lock: a string, the owner
-- ARGV[1]  owner
-- ARGV[2]  the new end by the client's clock, in milliseconds since the Unix epoch
-- Returns  {1, 0} moved, {-1, 0} not the owner's: nothing was changed
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIREAT', KEYS[1], ARGV[2])
  return {1, 0}
end
return {-1, 0}
