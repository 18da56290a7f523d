-- Enter a level of a lock whose holders get a fencing token.
-- KEYS[3]  the last token that was given out
-- ARGV[6]  for how many milliseconds it is kept, by a clock that has got to it
-- Returns  {1, hold count, token} entered, {0, 0} held by another owner,
--          {-1, 0} the outer levels are not held,
--          {-2, 0} late: the owner has made another call since
local answer = enter()
if answer == 2 then
  -- Before the grant: where Redis refuses this, nothing is locked.
  local token = redis.call('INCR', KEYS[3])
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if token < now then -- by the clock, tokens grow even where their key was lost
    token = now
    redis.call('SET', KEYS[3], string.format('%.0f', token), 'PX', ARGV[6])
  else -- the clock was set back: the token is kept until it has got there
    redis.call('PEXPIRE', KEYS[3], math.ceil((token - now) / 1000) + ARGV[6])
  end
  take()
  return {1, 1, token}
end
if answer == 1 and level == 1 then
  -- Nobody else was granted the lock since: the token is still this owner's.
  return {1, 1, tonumber(redis.call('GET', KEYS[3]))}
end
if answer == 1 then
  return {1, level}
end
return {answer, 0}
