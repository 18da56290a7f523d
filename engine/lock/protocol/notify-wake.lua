-- What the scripts of the notifying lock share.
-- KEYS[1]  the lock: a hash {owner: hold count, #locker: number of the last call}
-- KEYS[2]  calls that are over: a hash {owner/locker: number}
-- KEYS[3]  who waits, "owner inbox", by the time of the first asking
-- Wakes whoever waits longest for a lock that is free. Who is not listened for
-- any more (0 receivers) is passed over.
local function wake()
  while true do
    local first = redis.call('ZPOPMIN', KEYS[3])
    if #first == 0 then
      return
    end
    local owner, inbox = string.match(first[1], '^(%S+) (%S+)$')
    if redis.call('PUBLISH', inbox, 'wake ' .. owner .. ' 0 0 ' .. KEYS[1]) > 0 then
      return
    end
  end
end
