-- Say that a server is alive, and ask which are.
-- KEYS[1]  the servers: a sorted set by when they last said so, in milliseconds
-- ARGV[1]  the server
-- ARGV[2]  after how many milliseconds without a word a server is gone
-- Returns  the servers that are alive
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%d', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%d', now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZRANGE', KEYS[1], 0, -1)
