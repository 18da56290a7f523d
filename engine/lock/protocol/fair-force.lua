-- Take the lock from whoever holds it, and hand it to whoever waits longest.
-- ARGV[1]  grant in milliseconds
-- Returns  {1, 0} deleted, {-1, 0} nobody held it
if redis.call('DEL', KEYS[1]) == 0 then
  return {-1, 0}
end
grant(nil)
return {1, 0}
