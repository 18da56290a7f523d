package interpreter_test

import (
	"fmt"
	"strings"
	"testing"
)

// What Lua 5.1 does that another Lua may not.
func TestLuaIsThatOfRedis(t *testing.T) {
	client := connected(t)
	for _, expression := range []string{
		// a text where a number stands
		`string.sub('lease', '2'), string.sub('lease', '2', '-2'), ('ab'):rep('3'), string.byte('lease', '2', '3'), string.char('76', 79)`,
		`table.concat({'a', 'b', 'c'}, '-', '2', '3'), select('2', 7, 8, 9), unpack({4, 5, 6}, '2', '3')`,
		`tonumber('17', '8'), math.max('3', 2), math.random('1'), math.random('4', '4'), string.format('%c%5.1f%s', '65', '2.25', 3)`,
		`(function() local s = 0 for n = '1', '3', '1' do s = s + n end return s end)()`,
		`(function() local t = {1, 2, 3} table.insert(t, '2', 9) return table.remove(t, '1'), unpack(t) end)()`,
		`string.rep('x', 'y')`, `string.sub('x', {})`, `(function() for n = 'a', 2 do end end)()`, `math.floor('x')`, `select('x', 1)`, `select(0)`, `select(-1, 1, 2)`, `select(-3, 1)`,
		`1 + '2', '3' * '4', -'2', '10' / 4, 2 ^ '3', '7' % '4', 1 .. '', 'a' .. 1.5, '0x10' + 0, ' 5 ' + 1`,
		// numbers
		`tonumber('inf'), tonumber('nan') ~= tonumber('nan'), tonumber('1e'), tonumber('0x'), tonumber('0x1.8'), tonumber('1_0'), tonumber('- 1'), tonumber('1 2'), tonumber('')`,
		`tonumber('z', 36), tonumber('-ff', 16), tonumber('0xff', 16), tonumber('8', 8), tonumber('7fffffffffffffffffff', 16), tonumber(12, 16), tonumber('1.5', 10), tonumber(' 11 ', 2)`,
		`tonumber('1', 1)`, `tonumber({}, 10)`, `tonumber(nil, 16)`, `tonumber()`,
		`tostring(1/0), tostring(-1/0), tostring(0/0), tostring(-(0/0)), tostring(5 % 0), tostring(-0.0), 5 % -3, -5 % 3, 5.5 % 2, -1 % math.huge`,
		`tostring(math.fmod(1/0, 3)), tostring(math.sqrt(-1)), tostring(math.log10(-1)), tostring(math.acos(2)), tostring((-8)^(1/3)), tostring(math.abs(0/0)), tostring(math.sin(1/0)), tostring((0/0)^2), tostring(math.sqrt(-(0/0)))`,
		`tostring(1e14 - 1), tostring(1e14), -1e14 .. "", 1 - 1e14 .. "", 2^53, 1e15, 123456789012345678, 0.1, 1/3, 1e300 * 1e10, 3 % -math.huge`,
		`math.fmod(-5, 3), math.modf(-3.7), math.modf(5), math.frexp(10), math.ldexp(1, 4), math.log10(1000), math.deg(math.pi), math.mod(7, 3), math.abs(-2), math.ceil(-0.5)`,
		`bit.tobit(2^53), bit.band(2^60 + 12345, -1), bit.lshift(2^33 + 3, 4), bit.tohex(2^40 + 77), bit.tobit(1.5), bit.tobit(2.5), bit.tobit(-1e20), bit.tohex(-1, 2), bit.tohex(10, -3)`,
		// tables with holes
		`(function() local t = {} t[2] = 1 return #t, table.getn(t), table.maxn(t) end)()`,
		`(function() local t = {} t[1] = 1 t[3] = 3 return #t, unpack(t) end)()`,
		`(function() local t = {} t[1] = 1 t[2] = 2 t[4] = 4 return #t, unpack(t) end)()`,
		`#{1, nil, 3}, #{nil, nil, 3}, #{1, 2, nil}, #{nil}, #{n = 1, 1, nil, 3}, #{nil, 2, nil, 4}`,
		`(function() local r = {} for n = 1, 40 do local t = {} for m = n, 1, -1 do t[m] = m end r[n] = #t end return unpack(r) end)()`,
		`(function() local r = {} for n = 1, 40 do local t = {} for m = 1, n do if m % 3 ~= 0 then t[m] = m end end r[n] = #t end return unpack(r) end)()`,
		`(function() local t = {1, 2, 3, 4, 5} t[3] = nil t[5] = nil return #t, unpack(t) end)()`,
		`(function() local t = {1, 2, 3} t[#t + 1] = 4 t[2] = nil t[10] = 10 return #t, #t end)()`,
		`(function() local t = {} for n = 1, 10 do t[#t + 1] = n end for n = 10, 5, -1 do t[n] = nil end t[7] = 7 return #t end)()`,
		`(function() local t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17} t[16] = nil t[17] = nil t[18] = 18 return #t end)()`,
		`pcall(table.concat, {1, nil, 3})`, `(function() local t = {} t[1] = 'a' t[3] = 'c' return table.concat(t, ',') end)()`,
		`(function() local t = {3, nil, 1} return pcall(table.sort, t) end)()`,
		`(function() local t = {[1] = 'a', [2] = 'b', [4] = 'd'} return #t end)()`,
		// in which order pairs goes
		`(function() local o = {} for k, v in pairs({b = 1, a = 2, c = 3, 7, 8, [10] = 9, [2.5] = 1, [true] = 2}) do o[#o + 1] = tostring(k) end return table.concat(o, ' ') end)()`,
		`(function() local t, o = {}, {} for n = 1, 50 do t['key:' .. n] = n end for n = 1, 50, 3 do t['key:' .. n] = nil end t.x = 1 t.y = 2 for k in pairs(t) do o[#o + 1] = k end return table.concat(o, ' ') end)()`,
		`(function() local t, o = {}, {} for n = -20, 20 do t[n * 0.5] = n end for k in pairs(t) do o[#o + 1] = k end return table.concat(o, ' ') end)()`,
		`(function() local t, o = {}, {} for n = 1, 20 do t[n] = n t['k' .. n] = n end for k in pairs(t) do o[#o + 1] = k t[k] = nil end return table.concat(o, ' '), next(t) end)()`,
		`(function() local o = {} for k in pairs({owner = 1, level = 2, [string.rep('long', 20)] = 3, [''] = 4}) do o[#o + 1] = k end return table.concat(o, ' ') end)()`,
		`(function() local o = {} for k in pairs({f1 = 1, f2 = 2, f3 = 3, f4 = 4, f5 = 5, f6 = 6, f7 = 7, f8 = 8, f9 = 9, f10 = 10}) do o[#o + 1] = k end return table.concat(o, ' ') end)()`,
		`cjson.encode({a = 1, b = {c = 2, d = {3, 4}}, e = 'f', g = false})`, `next({}, 'x')`, `next({})`, `next({5})`, `next({a = 1}, 'a')`,
		// tables
		`table.concat({1, 2}, 7), table.concat({}, 'x'), table.concat({1, 2, 3}, ', ', 2), table.concat({1.5, 1e15}, ' ')`, `table.concat({{}})`, `table.concat({1}, 'x', 1, 2)`,
		`(function() local t = {3, 1, 2} table.sort(t, nil) return unpack(t) end)()`, `table.insert({}, 1, 2, 3)`, `table.insert({})`, `table.remove({}), table.remove({1}, 5)`, `table.setn({}, 1)`,
		`(function() local t = {5, 3, 9, 1, 7, 7, 2, 8, 0, 4} table.sort(t, function(a, b) return a > b end) return unpack(t) end)()`,
		`(function() local t = {} for n = 1, 12 do t[n] = {n % 3, n} end table.sort(t, function(a, b) return a[1] < b[1] end) local o = {} for n = 1, 12 do o[n] = t[n][2] end return unpack(o) end)()`,
		`pcall(table.sort, {1, 2, 3, 4, 5}, function() return true end)`, `pcall(table.sort, {1, 'a'})`, `table.foreach({1, a = 2}, function(k, v) if v == 2 then return k end end)`, `table.foreachi({4, 5}, function(n, v) if v == 5 then return n end end)`,
		`unpack({}, 1, 8000)`, `select('#', unpack({}, 1, 7900))`, `unpack({1, 2}, 2, 1)`, `unpack({1, 2}, -1, 1)`, `select('#', unpack({n = 3}, 1, 3))`, `unpack()`, `unpack({}, 'x')`,
		// texts
		`string.gsub('abc', 'b', '%')`, `string.gsub('abc', 'b', '%%')`, `string.gsub('abc', '(b)', '%1%0')`, `string.gsub('abc', 'b', '%2')`, `string.gsub('abc', '%w', {a = 1, b = false})`, `string.gsub('abc', 'b', {})`, `string.gsub('a', 'a', function() return {} end)`,
		`string.char(256)`, `string.char(-1)`, `string.char()`, `string.sub('abc', -100, 100), string.sub('abc', 2, 1), string.sub('abc', 0), string.sub(12345, 2, 3)`, `string.byte('abc', -1), string.byte('abc', 10), string.byte('')`,
		`string.format('%5s|%-5s|%.2s|%q|%%|%d|%i|%u', 'a', 'b', 'cde', 'f"\n\\', 3.9, -3.9, 7)`, `string.format('%x %X %o %e %G', 255, 255, 8, 12345.678, 1e-10)`, `string.format('%d', 'x')`, `string.format('%s')`, `string.format('%s', nil)`, `string.format('%y', 1)`, `string.format('%')`,
		`string.format('%c%c', 0, 66), string.format('%s|', 'a\0b'), string.format('%10.4f|', 1/3), string.format('%+d % d', 5, 5), string.format('%#x', 255), string.format('%5c|%-3c|', 65, 66)`, `string.format('%123d', 1)`, `string.format('%d', 2^63)`, `string.format('%x', -1)`,
		`string.rep('ab', -1), string.rep('', 100), string.reverse('abc'), string.lower('ABC1'), string.upper('abc1'), string.len('a\0b'), #'a\0b'`,
		`string.find('a.b', '.', 1, true), string.find('abc', 'b', -2), string.find('abc', '', 10), string.find('', ''), string.find('abc', '(b)(c)'), string.match('k=v', '(%w+)=(%w+)'), string.find('abc', 'x')`,
		`('-'):find('[a-]'), ('b'):find('[a-]'), ('-'):find('[-a]'), ('b'):find('[a-c]'), (']'):find('[a-%]]'), ('-'):find('[^a-]'), ('b'):find('[^a-]'), ('%'):find('[%a-]')`,
		`('x'):rep(3), ('%d'):format(5), ('a,b'):find(',')`, `("x"):nothing()`, `string.gfind and 1`, `string.dump(1)`,
		// errors, and who has raised them
		`pcall(error, 'LOCKED')`, `pcall(error, 'LOCKED', 1)`, `pcall(error, 'LOCKED', 2)`, `pcall(error)`, `pcall(error, nil)`, `pcall(error, {err = 'A b'})`, `pcall(error, {code = 1})`, `pcall(assert, false, 'm')`, `pcall(assert, nil)`, `pcall(assert)`, `assert(1, 2, 3)`,
		`pcall(redis.sha1hex)`, `pcall(cjson.encode)`, `pcall(cjson.encode, function() end)`, `pcall(cmsgpack.pack)`, `pcall(cmsgpack.unpack, '\161')`, `pcall(string.rep)`, `pcall(('x').rep, 'x')`, `pcall(setmetatable, 1, {})`, `pcall(redis.log)`, `pcall(redis.setresp, 4)`,
		`pcall(function() error('m') end)`, `pcall(function() error('m', 0) end)`, `pcall(function() error('m', 2) end)`, `pcall(function() error() end)`, `pcall(function() assert(false, 'm') end)`, `pcall(function() assert(false) end)`, `pcall(function() local t t.x = 1 end)`,
		`pcall(function() local t = {} return t.x.y end)`, `pcall(function() local t = {} return t.x.y.z end)`, `pcall(function() return nothing end)`, `pcall(function() return ('x')() end)`, `pcall(function() local f f() end)`, `pcall(function() local t = {} t.f() end)`, `pcall(function() local t = {} t:f() end)`,
		`pcall(function() return 1 + nil end)`, `pcall(function() return {} + 1 end)`, `pcall(function() local a = 'x' return a + 1 end)`, `pcall(function() return #nil end)`, `pcall(function() local n = 5 return #n end)`, `pcall(function() return 1 < 'x' end)`, `pcall(function() return {} < {} end)`,
		`pcall(function() return nil .. 'x' end)`, `pcall(function() local a return 'x' .. a .. 'y' end)`, `pcall(function() return 'x' .. {} end)`, `pcall(function() return -{} end)`, `pcall(function() local t = {} t[nil] = 1 end)`, `pcall(function() local t = {} t[0/0] = 1 end)`, `({})[nil]`,
		`pcall(function() for n = 1, 'x' do end end)`, `pcall(function() for n = 1, 2, {} do end end)`, `pcall(function() for k in 5 do end end)`, `pcall(function() for k in pairs(nil) do end end)`, `pcall(function() ipairs() end)`, `pcall(next, {}, 1)`, `pcall(rawset, _G, 'x', 1)`, `pcall(function() string.x = 1 end)`,
		`xpcall(function() error('m') end, function(e) return 'handled ' .. e end)`, `xpcall(function() return 1, 2 end, print0 or tostring)`, `pcall(xpcall)`, `pcall(pcall)`, `select('#', pcall(error))`,
		`pcall(function() local function f() return 1 + f() end return f() end)`,
		// metatables
		`#setmetatable({1, 2}, {__len = function() return 9 end})`, `setmetatable({}, {__index = function(_, k) return k .. '!' end}).x`, `setmetatable({}, {__index = {x = 1}}).x`, `setmetatable({}, {__call = function(_, a) return a end})(7)`, `tostring(setmetatable({}, {__tostring = function() return 'T' end}))`,
		`setmetatable({}, {__add = function(a, b) return 5 end}) + 1, 1 + setmetatable({}, {__add = function(a, b) return 6 end})`, `setmetatable({}, {__concat = function(a, b) return type(a) .. type(b) end}) .. 'x' .. 1`, `1 .. setmetatable({}, {__concat = function(a, b) return type(a) .. type(b) end})`,
		`(function() local m = {__eq = function() return true end, __lt = function() return true end} local a, b = setmetatable({}, m), setmetatable({}, m) return a == b, a < b, a <= b, a ~= b end)()`, `getmetatable('').__index == string`, `getmetatable(setmetatable({}, {__metatable = 'no'}))`, `pcall(setmetatable, setmetatable({}, {__metatable = 1}), {})`,
		`(function() local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v * 2) end}) t.x = 4 t.x = 5 return t.x end)()`, `rawequal({}, {}), rawget({5}, 1), rawequal('a', 'a')`,
		// the language
		`(function(...) return select('#', ...), ... end)(1, nil, 3, nil)`, `(function(a, ...) return arg and arg.n end)(1, 2, 3)`, `(function(a, ...) local b = ... return arg, b end)(1, 2, 3)`, `((function() return 1, 2 end)())`, `(function() return 1, 2 end)(), 3`,
		`(function() local a, b, c = (function() return 1, 2 end)() return a, b, c end)()`, `(function() local a, b = 1 return a, b end)()`, `(function() local a, b = 1, 2 a, b = b, a return a, b end)()`, `(function() local t, i = {}, 1 i, t[i] = i + 1, 20 return i, t[1], t[2] end)()`,
		`(function() local f = {} for n = 1, 3 do f[n] = function() n = n + 1 return n end end return f[1](), f[1](), f[2]() end)()`, `(function() local n = 0 repeat local m = n n = n + 1 until m >= 2 return n end)()`, `(function() for n = 3, 1, -1 do if n == 2 then return n end end end)()`, `(function() for n = 1, 0 do return 1 end return 2 end)()`,
		`(function() local n = 0 while true do n = n + 1 if n > 5 then break end end return n end)()`, `nil == false, 1 == '1', 'a' < 'b', 'Z' < 'a', not nil, not 0, 1 and 2, nil or 3, false and 1`, `2 ^ 3 ^ 2, -2 ^ 2, not 1 == 2, 1 .. 2 .. 3, 'a' .. 'b' == 'ab'`, `[[x]], [==[
a]]b]==], '\65\066\n\'', "a\
b"`, `0x10, 1e2, .5, 3., 0xA`, `(function() local n = 1 local function inc() n = n + 1 return n end return n + inc(), n end)()`, `({1, 2, 3, n = 4})[2], #{(function() return 1, 2, 3 end)()}, #{(function() return 1, 2, 3 end)(), 1}`, `('x'):upper():lower()`,
		`(function() local o = {} for _, v in ipairs({1, 2, nil, 4}) do o[#o + 1] = v end return unpack(o) end)()`, `type(nil), type(type), type({}), type('x'), type(2), type(cjson.null), type(coroutine.create(function() end))`, `loadstring('return 1 + 1')()`, `loadstring('return (')`, `loadstring('error("m")', '=name') and pcall(loadstring('error("m")', '=name'))`, `pcall(loadstring('error("m")'))`,
		// coroutines
		`(function() local c = coroutine.create(function(a) local b = coroutine.yield(a + 1) error('m' .. b) end) return coroutine.resume(c, 1), select(2, coroutine.resume(c, 5)), coroutine.status(c), coroutine.resume(c) end)()`, `(function() local c = coroutine.wrap(function() for n = 1, 3 do coroutine.yield(n) end end) return c(), c(), c(), c() end)()`,
		`pcall(coroutine.yield, 1)`, `coroutine.running()`, `(function() local c = coroutine.wrap(function() pcall(coroutine.yield, 1) return 2 end) return c() end)()`, `pcall(coroutine.create, print0 or type)`, `pcall(coroutine.wrap(function() error('m') end))`, `(function() local o = {} for v in coroutine.wrap(function() coroutine.yield('a') coroutine.yield('b') end) do o[#o + 1] = v end return unpack(o) end)()`,
		// JSON
		`cjson.decode('[01, 1., 0x10, 1e2, -0.5]')`, `tostring(cjson.decode('[nan]')[1]), cjson.decode('[-Infinity, inf]')`, `cjson.decode('"a\tb"'), cjson.decode('"\\u00e9\\ud83d\\ude00\\n"')`, `cjson.decode('"\\ud83d"')`, `cjson.decode('{')`, `cjson.decode('{"a"}')`, `cjson.decode('{"a":1,}')`, `cjson.decode('[1,]')`, `cjson.decode('[1 2]')`, `cjson.decode('')`, `cjson.decode('x')`, `cjson.decode('1 2')`, `cjson.decode('"abc')`, `cjson.decode('"\\x"')`, `cjson.decode('-')`, `cjson.decode('tru')`, `cjson.decode('\0a')`, `cjson.decode('{1:2}')`, `cjson.decode('{"a" 1}')`, `cjson.decode()`, `cjson.decode({})`,
		`cjson.decode(string.rep('[', 1001) .. string.rep(']', 1001))`, `#cjson.decode(string.rep('[', 1000) .. string.rep(']', 1000))`, `cjson.encode({1, 2, nil, 4})`, `cjson.encode({[1] = 1, [12] = 2})`, `cjson.encode({[1.5] = 1})`, `cjson.encode({[true] = 1})`, `cjson.encode(1/0)`, `cjson.encode(0/0)`, `cjson.encode({[-1] = 1})`, `cjson.encode('a/b\1\127')`, `cjson.encode(cjson.null)`, `cjson.encode({}, 1)`, `cjson.encode(0.1), cjson.encode(1e20), cjson.encode(123456789012345)`,
		`(function() local c = cjson.new() c.encode_sparse_array(true) return c.encode({[1] = 1, [12] = 2}), pcall(cjson.encode, {[1] = 1, [12] = 2}) end)()`, `(function() local c = cjson.new() return c.encode_number_precision(3), c.encode(1/3), c.encode_max_depth(1), pcall(c.encode, {{}}) end)()`, `(function() local c = cjson.new() c.decode_max_depth(1) return pcall(c.decode, '[[]]') end)()`, `(function() local c = cjson.new() return c.encode_invalid_numbers('null'), c.encode(1/0), c.encode_invalid_numbers(true), c.encode(1/0), c.encode(0/0) end)()`, `(function() local c = cjson.new() return c.decode_invalid_numbers(false), pcall(c.decode, '[nan]') end)()`, `pcall(cjson.encode_number_precision, 20)`, `pcall(cjson.encode_sparse_array, 'x')`, `cjson.encode_sparse_array(), cjson.encode_keep_buffer(), cjson.encode_max_depth(), cjson.decode_max_depth(), cjson.encode_number_precision()`, `pcall(cjson.encode_max_depth, 0)`, `cjson._NAME, cjson._VERSION`,
		// redis
		`redis.REDIS_VERSION, redis.REDIS_VERSION_NUM, redis.REPL_ALL, redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.LOG_WARNING`, `pcall(redis.set_repl)`, `pcall(redis.set_repl, 99)`, `redis.set_repl(redis.REPL_ALL)`, `pcall(redis.log, 'x', 'y')`, `pcall(redis.log, 9, 'y')`, `redis.error_reply('X')`, `redis.error_reply('X y')`, `redis.error_reply(1)`, `redis.status_reply('X').ok`, `redis.sha1hex(12), redis.sha1hex('')`, `pcall(redis.sha1hex, 1, 2)`,
		`redis.pcall()`, `redis.pcall('NOTHING')`, `redis.pcall('GET', {})`, `redis.error_reply()`, `(function() local o = {} for k in pairs(redis.pcall('NOTHING')) do o[#o + 1] = k end return unpack(o) end)()`, `pcall(redis.acl_check_cmd)`, `pcall(redis.acl_check_cmd, 'nothing')`, `redis.acl_check_cmd('get', 'k')`,
		`(function() local o = {} for k, v in pairs(_G) do o[#o + 1] = k end table.sort(o) return table.concat(o, ' ') end)()`,
		`(function() local o = {} for k, v in pairs(_G) do if type(v) == 'table' and k ~= '_G' then for name in pairs(v) do o[#o + 1] = k .. '.' .. tostring(name) end end end table.sort(o) return table.concat(o, ' ') end)()`,
	} {
		alike(t, client, expression)
	}
}

// Redis has no such bound: here a reply is kept, and shown.
func TestAReplyIsOnlySoDeep(t *testing.T) {
	nested := func(lists int) string {
		return here(t, fmt.Sprintf("local t = {} for n = 2, %d do t = {t} end return t", lists))
	}
	if is, want := nested(100), strings.Repeat("[", 100)+strings.Repeat("]", 100); is != want {
		t.Errorf("100 lists in one another are %s", is)
	}
	if is := nested(101); !strings.HasPrefix(is, "fault: ") {
		t.Errorf("101 lists in one another are %s", is)
	}
}
