-- What the scripts of the notifying lock share.
-- KEYS[3]  who waits, "owner inbox", by the time of the first asking
-- Wakes the longest waiting, passing over those nobody listens for any more
-- (0 receivers). Returns what Redis said if it refused the message: waiters
-- also ask by themselves.
local function wake()
  while true do
    local first = redis.call('ZPOPMIN', KEYS[3])
    if #first == 0 then
      return
    end
    local owner, inbox = string.match(first[1], '^(%S+) (%S+)$')
    local heard = redis.pcall('PUBLISH', inbox, 'wake ' .. owner .. ' 0 0 ' .. KEYS[1])
    if type(heard) == 'table' then
      return heard.err
    end
    if heard > 0 then
      return
    end
  end
end
