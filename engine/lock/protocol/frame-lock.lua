-- Enter one level of the lock. This frame refuses everybody.
-- KEYS[1]  the lock
-- ARGV[1]  owner
-- ARGV[2]  the level that the owner enters, 1 for the first acquisition
-- ARGV[3]  lease in milliseconds
-- Returns  {1, hold count} granted, {0, 0} held by another,
--          {-1, 0} lost: the outer levels are no longer held;
--          or plainly 1 granted, 0 refused
return 0
