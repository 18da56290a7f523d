-- Begin a term: whoever led the room before cannot append any more.
-- KEYS[1]  the room's head: a hash, see append.lua
-- ARGV[1]  fencing token of the room's lock
-- ARGV[2]  name of the term
-- Returns  {1, the Redis that answers, '?' if it does not say, the Redis that was
--          written to, '' if none},
--          {0} a term began with a newer token, or with this one: a Redis that
--          has lost the end of its data gives a token out again,
--          {-1} there is no such room
local head = redis.call('HMGET', KEYS[1], 'token', 'term', 'home')
if not head[1] then
  return {-1}
end
local mine, newest = tonumber(ARGV[1]), tonumber(head[1])
if mine < newest or mine == newest and head[2] ~= ARGV[2] then
  return {0}
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'term', ARGV[2])
local info = redis.pcall('INFO', 'server') -- not everybody may
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or '?'
return {1, run, head[3]}
