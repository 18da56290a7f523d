-- Renew the lease, if the lock is still the owner's. This frame renews nothing.
-- KEYS[1]  the lock
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- Returns  {1, 0} renewed, {-1, 0} not the owner's;
--          or plainly 1 renewed, 0 not the owner's
return 0
