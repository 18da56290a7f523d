-- Put before each script, behind the line that names its engine, if it has one;
-- joined to one line, so comments stand alone.
-- Shadows redis for the script below, notes each command, and opens the
-- function that holds the script. Journal, at the end, makes the answer.
local ok, reply, journal
do
local real, key, notes, now = redis, KEYS[1], {}, redis.call('TIME')
-- The position in a chunk is only to be had from an error's text. The prelude
-- is one line; the first position below it is the script's. A tail call
-- (return redis.call(...)) leaves no frame, and so may leave no line. An error
-- is dear: the level at which the script was found is tried first.
local level, above = 2, 1
local function line()
for n = level, 8 do
local _, where = pcall(error, '', n)
local l = string.match(tostring(where), ':(%d+):')
if l and tonumber(l) > above then
level = n
return tonumber(l) - 1
end
end
return 0
end
local function state()
if not key then return 'none', -2, false end
local kind = real.call('TYPE', key)
kind = kind.ok or kind
local content = false
if kind == 'hash' then content = real.call('HGETALL', key) end
if kind == 'string' then content = real.call('GET', key) end
if kind == 'set' then content = real.call('SMEMBERS', key) end
if kind == 'zset' then content = real.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
return kind, real.call('PTTL', key), content
end
-- The line is 0 of an error of Redis', which begins with a code, also where pcall
-- has made a text of it; and -1 of one of Lua's that names no line of the script.
local function message(e)
if type(e) == 'table' then return e.err or e[1] or 'error', e.err and 0 or -1 end
if string.match(tostring(e), '^%u+ ') then return tostring(e), 0 end
local at = string.match(tostring(e), '^[^ ]*:(%d+): ')
local text = string.gsub(tostring(e), '^[^ ]*:%d+: ', '', 1)
return text, at and tonumber(at) > above and tonumber(at) - 1 or -1
end
local ask = real.pcall
local function note(at, result, ...)
local args = {}
for i = 1, select('#', ...) do args[i] = tostring((select(i, ...))) end
args[1] = args[1] or ''
local err = false
if type(result) == 'table' and result.err then err = result.err result = false end
local kind, pttl, content = state()
notes[#notes + 1] = {at, args, {result}, err, kind, pttl, content}
end
local watched = {}
for name, f in pairs(real) do watched[name] = f end
watched.call = function(...)
local at = line()
local result = ask(...)
note(at, result, ...)
if type(result) == 'table' and result.err then error(result, 0) end
return result
end
watched.pcall = function(...)
local at = line()
local result = ask(...)
note(at, result, ...)
return result
end
journal = function(done, result)
if done and not (type(result) == 'table' and result.err) then return {notes, now, {result}, false, 0} end
local text, at = message(result)
return {notes, now, {false}, text, at}
end
-- Through the globals' own table a script would find the real redis.
local globals = setmetatable({redis = watched}, {__index = _G, __metatable = false, __newindex = function() error('Attempt to modify a readonly table', 2) end})
rawset(globals, '_G', globals)
reply = {watched, globals}
end
local redis, _G = unpack(reply)
-- What is the journal's is not the script's.
ok, reply = pcall(function() local ok, reply, journal
