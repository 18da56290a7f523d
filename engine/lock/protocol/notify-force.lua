-- Take the lock from whoever holds it, and wake one of those who wait.
-- Returns  {1, 0} deleted, {-1, 0} nobody held it
if redis.call('DEL', KEYS[1]) == 0 then
  return {-1, 0}
end
wake()
return {1, 0}
