-- Renew the lease of a lock, if it is still the owner's.
-- KEYS[1]  the lock: a hash {owner: hold count}
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- Returns  {1, 0} renewed, {-1, 0} not the owner's: nothing was changed
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {-1, 0}
end
-- Never shorter; a lock that lost its expiry (-1) is given one again.
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, 0}
