-- Renew the lease of a lock whose calls are numbered, if it is still the owner's.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  locker
-- ARGV[4]  number of the owner's last call before this renewal
-- Returns  {1, 0} renewed, {-1, 0} not the owner's: nothing was changed
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {-1, 0}
end
local left, lease = redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])
local jumped = false
if left > lease then
  -- Redis' clock was set back; or this is late, and a later call asked for a longer lease.
  local last = tonumber(redis.call('HGET', KEYS[1], '#' .. ARGV[3]))
  jumped = last and last <= tonumber(ARGV[4])
end
-- A lock that lost its expiry (-1) is given one again.
if left < lease or jumped then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1, 0}
