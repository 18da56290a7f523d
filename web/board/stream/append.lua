-- Append entries to a room's log: all of them or none.
-- KEYS[1]  the room's head: a hash
--            seq    of the newest entry
--            by     the term that appended it
--            whole  seq of the newest whole entry
--            token  the newest fencing token with which a term began
--            term   the name of that term
--            home   the run of the Redis that was written to last, see claim.lua
-- KEYS[2]  its log: a stream of {e: entry, by: term} with the ID {seq}-0
-- KEYS[3]  its inbox: a stream of the orders that are not decided
-- KEYS[4]  the last fencing token of its lock
-- ARGV[1]  fencing token of the room's lock
-- ARGV[2]  name of the term
-- ARGV[3]  home
-- ARGV[4]  seq of the newest entry as far as the term knows
-- ARGV[5]  the first ID in the inbox that is still to be decided, '' for all
-- ARGV[6]  seq of the newest whole entry among those that follow, 0 for none
-- ARGV[7]  how many entries stay in the log before a whole one
-- ARGV[8]  for how many milliseconds the room is kept
-- ARGV[9]  for how many the token
-- ARGV[10] the channel that is told
-- ARGV[11] how many bytes of entries a message may have; where there are more
--          they are to be read from the log
-- ARGV[12] and all that follow: the entries
-- Returns  1 appended, now or by an earlier copy of this call,
--          0 another term has begun: nothing was changed,
--          -1 there is no such room,
--          -2 the log does not end with that seq: nothing was changed
local head = redis.call('HMGET', KEYS[1], 'seq', 'by', 'token', 'term')
if not head[1] then
  return -1
end
if tonumber(ARGV[1]) < tonumber(head[3]) or head[4] ~= ARGV[2] then
  return 0
end
local known, seq, n = tonumber(ARGV[4]), tonumber(head[1]), #ARGV - 11
if n > 0 and seq == known + n and head[2] == ARGV[2] then
  return 1
end
if seq ~= known then
  return -2
end
local bytes = 0
for i = 1, n do
  local entry = ARGV[11 + i]
  redis.call('XADD', KEYS[2], string.format('%d-0', seq + i), 'e', entry, 'by', ARGV[2])
  bytes = bytes + #entry
end
if n > 0 then
  redis.call('HSET', KEYS[1], 'seq', string.format('%d', seq + n), 'by', ARGV[2], 'home', ARGV[3])
end
local whole = tonumber(ARGV[6])
if whole > 0 then
  redis.call('HSET', KEYS[1], 'whole', ARGV[6])
  if whole > tonumber(ARGV[7]) then
    redis.call('XTRIM', KEYS[2], 'MINID', string.format('%d', whole - tonumber(ARGV[7])))
  end
end
if ARGV[5] ~= '' then
  redis.call('XTRIM', KEYS[3], 'MINID', ARGV[5])
end
if redis.call('PTTL', KEYS[1]) < ARGV[8] - 60000 then -- once a minute
  for i = 1, 3 do
    redis.call('PEXPIRE', KEYS[i], ARGV[8])
  end
  redis.call('PEXPIRE', KEYS[4], ARGV[9])
end
if n > 0 then
  local message = string.format('%d %s %s', seq, ARGV[2], head[2])
  if bytes <= tonumber(ARGV[11]) then
    message = message .. '\n' .. table.concat(ARGV, '\n', 12)
  end
  redis.call('PUBLISH', ARGV[10], message)
end
return 1
