-- Enter one level of a reentrant lock whose calls are numbered.
-- Returns  {1, hold count} granted, {0, 0} held by another,
--          {-1, 0} lost: the outer levels are no longer held,
--          {-2, 0} late: the owner has made another call since
local answer = enter()
if answer == 2 then
  answer = take()
end
if answer == 1 then
  return {1, level}
end
return {answer, 0}
