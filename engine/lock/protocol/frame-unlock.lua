-- Leave one level of the lock. This frame leaves nothing.
-- KEYS[1]  the lock
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner leaves, 1 for the last release
-- Returns  {1, hold count} left; {-1, 0} not the owner's;
--          or plainly 1 left, 0 not the owner's
return 0
