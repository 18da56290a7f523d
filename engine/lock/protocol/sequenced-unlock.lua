-- Leave one level of a reentrant lock whose calls are numbered.
-- Returns  {1, hold count} left; at 0 the lock is deleted,
--          {-1, 0} the owner does not hold that level,
--          {-2, 0} late: the owner has made another call since
local answer = leave()
if tonumber(ARGV[5]) > 0 then
  remember(KEYS[2])
end
return {answer, answer == 1 and rest or 0}
