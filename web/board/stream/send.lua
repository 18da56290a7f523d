-- Put an order into a room's inbox.
-- KEYS[1]  the room's head
-- KEYS[2]  its inbox: a stream of {o: order}
-- ARGV[1]  the order
-- ARGV[2]  how many orders may wait
-- ARGV[3]  for how many milliseconds the room is kept
-- ARGV[4]  the channel that is told
-- Returns  1 sent, 0 too many wait, -1 there is no such room
if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('XADD', KEYS[2], '*', 'o', ARGV[1])
if redis.call('PTTL', KEYS[2]) < ARGV[3] - 60000 then -- once a minute
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
redis.call('PUBLISH', ARGV[4], '')
return 1
