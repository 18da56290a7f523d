-- Take the lock from whoever holds it.
-- KEYS[1]  the lock
-- Returns  {1, 0} deleted, {-1, 0} nobody held it
if redis.call('DEL', KEYS[1]) == 0 then
  return {-1, 0}
end
return {1, 0}
