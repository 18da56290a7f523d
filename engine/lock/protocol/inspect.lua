-- Look at a lock without changing it.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call},
--          or a string, the owner
-- KEYS[2]  who waits, if anybody can: a list or a sorted set
-- Returns  {owner, hold count, PTTL, how many wait}; owner '' where it is free
local waiting = 0
if KEYS[2] then
  local kind = redis.call('TYPE', KEYS[2]).ok
  if kind == 'list' then
    waiting = redis.call('LLEN', KEYS[2])
  elseif kind == 'zset' then
    waiting = redis.call('ZCARD', KEYS[2])
  end
end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' then
  return {redis.call('GET', KEYS[1]), '1', redis.call('PTTL', KEYS[1]), waiting}
end
local owner, count = '', '0'
local fields = redis.call('HGETALL', KEYS[1]) -- of another type: an error
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 1) ~= '#' then
    owner, count = fields[i], fields[i + 1]
  end
end
return {owner, count, redis.call('PTTL', KEYS[1]), waiting}
