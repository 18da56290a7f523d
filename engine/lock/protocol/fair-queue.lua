-- What the scripts of the fair lock share.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[3]  the queue: a list of waiters, "owner inbox locker number", the
--          longest first; the number is that of the call that waits
-- KEYS[4]  the waiters' deadlines, by Redis' own clock: a sorted set
-- GRANT is how long the lock is kept for a waiter that has not confirmed.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Gives a lock that is free to the longest waiting that still lives. Returns
-- 'own' where that is the caller, 'other', or nil where nobody waits; and what
-- Redis said if it refused the message: then the first in line keeps its place,
-- and takes the lock when it asks by itself.
local function grant(own)
  while true do
    local head = redis.call('LPOP', KEYS[3])
    if not head then
      return nil
    end
    local deadline = redis.call('ZSCORE', KEYS[4], head)
    redis.call('ZREM', KEYS[4], head)
    if head == own then
      return 'own'
    end
    if deadline and tonumber(deadline) >= now then
      local owner, inbox, locker, number = string.match(head, '^(%S+) (%S+) (%S+) (%S+)$')
      -- 0: nobody listens there any more. Anyone who does can ask Redis only
      -- when this script has ended.
      local heard = redis.pcall('PUBLISH', inbox, 'grant ' .. owner .. ' ' .. now .. ' ' .. number .. ' ' .. KEYS[1])
      if type(heard) == 'table' then
        redis.call('LPUSH', KEYS[3], head)
        redis.call('ZADD', KEYS[4], deadline, head)
        return 'other', heard.err
      end
      if heard > 0 then
        redis.call('HINCRBY', KEYS[1], owner, 1)
        redis.call('HSET', KEYS[1], '#' .. locker, number)
        redis.call('PEXPIRE', KEYS[1], GRANT)
        return 'other'
      end
    end
  end
end
