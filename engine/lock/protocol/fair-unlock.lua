-- Leave a level; the last one is handed to the longest waiting.
-- ARGV[6]  grant in milliseconds
-- Returns  {1, hold count} left, {-1, 0} the level is not held,
--          {-2, 0} late: the owner has made another call since; and as the
--          third part what Redis said, where it refused the message
local answer, refused = leave(), nil
if tonumber(ARGV[5]) > 0 then
  remember(KEYS[2])
end
if answer == 1 and rest == 0 then
  local _
  _, refused = grant(nil)
end
return {answer, answer == 1 and rest or 0, refused}
