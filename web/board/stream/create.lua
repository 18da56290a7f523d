-- Begin the log of a new room.
-- KEYS[1]  its head: a hash, see append.lua
-- KEYS[2]  its log: a stream of entries with the ID {seq}-0
-- KEYS[3]  the last fencing token of its lock
-- ARGV[1]  the first entry, which is whole
-- ARGV[2]  its seq
-- ARGV[3]  for how many milliseconds the room is kept
-- ARGV[4]  for how many the token
-- Returns  1 begun, 0 there is a room of that code
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('DEL', KEYS[2])
redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'e', ARGV[1], 'by', '')
redis.call('HSET', KEYS[1], 'seq', ARGV[2], 'by', '', 'whole', ARGV[2], 'token', '0', 'term', '', 'home', '')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
-- The lock goes on from here, and each term renews the expiry.
redis.call('SET', KEYS[3], redis.call('GET', KEYS[3]) or '0', 'PX', ARGV[4])
return 1
