package store_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// draw makes commands and scripts at random, such as locks are made of, well made and
// not. The result depends only on its seed and on now.
type draw struct {
	*rand.Rand

	now int64 // in milliseconds since the Unix epoch
}

func drawing(seed uint64, now time.Time) draw {
	return draw{rand.New(rand.NewPCG(seed, 0)), now.UnixMilli()}
}

// of returns one of some texts.
func (d draw) of(list ...string) string { return list[d.IntN(len(list))] }

// seldom is true once in n times.
func (d draw) seldom(n int) bool { return d.IntN(n) == 0 }

func (d draw) key() string    { return d.of("k", "k", "k", "l", "m") }
func (d draw) field() string  { return d.of("f", "f", "g") }
func (d draw) member() string { return d.of("a", "b", "c") }

func (d draw) value() string {
	if d.seldom(3) {
		return d.integer()
	}
	return d.of("a", "b", "owner:1", "", "1.5", "10.50", "3.0e3", "a b", "a\nb")
}

// integer is a number, often a usual one, and at times one that is at the edge of what Redis reads.
func (d draw) integer() string {
	if d.seldom(4) {
		return d.of("007", "+1", "-0", " 1", "1 ", "", "1.5", "x", "00", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e3", "0x10")
	}
	return d.of("0", "1", "1", "2", "-1", "-3", "10", "1000")
}

func (d draw) score() string {
	return d.of("0", "1", "2", "-1", "1.5", "0.1", "1e3", "1625443200000", "100000000000000000", "+inf", "-inf", "x", "")
}

// lease is in milliseconds, and long: a real clock goes on. Seconds are a thousandth.
func (d draw) lease(unit int64) string {
	if d.seldom(5) {
		return d.of("0", "-1", "x", "1.5", "+100000", "9223372036854775807", "9223372036854775", "-9223372036854775808", "")
	}
	return strconv.FormatInt(int64(1+d.IntN(9))*200_000/unit, 10)
}

// instant is far away, or over.
func (d draw) instant(unit int64) string {
	if d.seldom(6) {
		return d.of("0", "-1", "x", "9223372036854775807", "9223372036854775")
	}
	return d.of(
		strconv.FormatInt((d.now+int64(1+d.IntN(9))*200_000)/unit, 10),
		strconv.FormatInt((d.now-int64(1+d.IntN(9))*2_000)/unit, 10), "1000",
	)
}

// living is how long a key is to live, as an option.
func (d draw) living() []string {
	switch d.IntN(5) {
	case 0:
		return []string{d.of("EX", "ex"), d.lease(1000)}
	case 1:
		return []string{"PX", d.lease(1)}
	case 2:
		return []string{"PXAT", d.instant(1)}
	case 3:
		return []string{"EXAT", d.instant(1000)}
	default:
		return []string{"KEEPTTL"}
	}
}

// options are those of a SET.
func (d draw) options() (list []string) {
	if !d.seldom(3) {
		list = append(list, d.living()...)
	}
	for _, o := range []string{"NX", "XX", "GET"} {
		if d.seldom(4) {
			list = append(list, o)
		}
	}
	if d.seldom(12) {
		list = append(list, d.living()...)
	}
	if d.seldom(20) {
		list = append(list, d.of("PX", "PERSIST", "what"))
	}
	return list
}

// command is one command.
func (d draw) command() []string {
	c := d.wellMade()
	switch {
	case d.seldom(40):
		return c[:max(len(c)-1, 1)]
	case d.seldom(60):
		return append(c, d.value())
	case d.seldom(20):
		c[0] = strings.ToLower(c[0])
	}
	return c
}

func (d draw) wellMade() []string {
	k := d.key()
	switch d.IntN(24) {
	case 0, 1, 2, 3:
		return append([]string{"SET", k, d.value()}, d.options()...)
	case 4:
		return [][]string{{"SETNX", k, d.value()}, {"SETEX", k, d.lease(1000), d.value()}, {"PSETEX", k, d.lease(1), d.value()}, {"GETSET", k, d.value()}, {"APPEND", k, d.value()}}[d.IntN(5)]
	case 5:
		return [][]string{{"GET", k}, {"GETDEL", k}, {"STRLEN", k}, {"MGET", k, d.key()}, {"MSET", k, d.value(), d.key(), d.value()}, {"GETRANGE", k, "0", "1"}}[d.IntN(6)]
	case 6:
		c := []string{"GETEX", k}
		switch d.IntN(3) {
		case 0:
			return append(c, d.living()...)
		case 1:
			return append(c, "PERSIST")
		}
		return c
	case 7:
		return [][]string{{"INCR", k}, {"DECR", k}, {"INCRBY", k, d.integer()}, {"DECRBY", k, d.integer()}}[d.IntN(4)]
	case 8:
		return [][]string{{"DEL", k}, {"UNLINK", k, d.key()}, {"EXISTS", k, d.key()}, {"TYPE", k}, {"DEL", k, d.key()}}[d.IntN(5)]
	case 9:
		return [][]string{{"RENAME", k, d.key()}, {"RENAMENX", k, d.key()}, {"PERSIST", k}, {"TOUCH", k}}[d.IntN(4)]
	case 10, 11:
		c := [][]string{{"EXPIRE", k, d.lease(1000)}, {"PEXPIRE", k, d.lease(1)}, {"EXPIREAT", k, d.instant(1000)}, {"PEXPIREAT", k, d.instant(1)}}[d.IntN(4)]
		if d.seldom(3) {
			c = append(c, d.of("NX", "XX", "GT", "LT", "what"))
		}
		return c
	case 12, 13:
		return [][]string{{"TTL", k}, {"PTTL", k}, {"EXPIRETIME", k}, {"PEXPIRETIME", k}}[d.IntN(4)]
	case 14, 15:
		return [][]string{{"HSET", k, d.field(), d.value()}, {"HSET", k, "f", d.value(), "g", d.value()}, {"HSETNX", k, d.field(), d.value()}, {"HINCRBY", k, d.field(), d.integer()}}[d.IntN(4)]
	case 16:
		return [][]string{{"HGET", k, d.field()}, {"HMGET", k, d.field(), "h"}, {"HEXISTS", k, d.field()}, {"HLEN", k}, {"HGETALL", k}, {"HKEYS", k}, {"HSTRLEN", k, d.field()}}[d.IntN(7)]
	case 17:
		return [][]string{{"HDEL", k, d.field()}, {"HDEL", k, "f", "g"}, {"HINCRBY", k, d.field(), d.integer()}, {"HMSET", k, d.field(), d.value()}}[d.IntN(4)]
	case 18:
		return [][]string{{"LPUSH", k, d.value()}, {"RPUSH", k, d.value(), d.value()}, {"LPOP", k}, {"RPOP", k}, {"LLEN", k}, {"LRANGE", k, "0", "-1"}, {"LREM", k, d.of("0", "1", "-1"), d.value()}, {"LINDEX", k, d.of("0", "-1", "7")}, {"RPUSHX", k, "a"}, {"LTRIM", k, "0", "1"}}[d.IntN(10)]
	case 19:
		return [][]string{{"SADD", k, d.member(), d.member()}, {"SREM", k, d.member()}, {"SISMEMBER", k, d.member()}, {"SCARD", k}, {"SMEMBERS", k}}[d.IntN(5)]
	case 20:
		c := []string{"ZADD", k}
		if d.seldom(3) {
			c = append(c, d.of("NX", "XX", "GT", "LT", "CH", "INCR"))
		}
		return append(c, d.score(), d.member())
	case 21:
		return [][]string{{"ZREM", k, d.member()}, {"ZSCORE", k, d.member()}, {"ZCARD", k}, {"ZRANGE", k, "0", "-1"}, {"ZRANK", k, d.member()}, {"ZREMRANGEBYSCORE", k, "-inf", "1"}, {"ZRANGEBYSCORE", k, "-inf", "(2"}, {"ZCOUNT", k, "1", "+inf"}, {"ZPOPMIN", k}, {"ZINCRBY", k, "1", d.member()}}[d.IntN(10)]
	case 22:
		return [][]string{{"INCRBYFLOAT", k, d.of("1", "0.5", "-1.25", "3.0e3", "x")}, {"HINCRBYFLOAT", k, d.field(), d.of("1", "0.5", "-1.25")}}[d.IntN(2)]
	default:
		return [][]string{{"PUBLISH", "c", "m"}, {"ECHO", d.value()}, {"PING"}, {"SCRIPT", "EXISTS", "ffffffffffffffffffffffffffffffffffffffff"}}[d.IntN(4)]
	}
}

// sequence is commands that belong together: some in a transaction, some from a script.
func (d draw) sequence() (list [][]string) {
	open := false
	for range 4 + d.IntN(10) {
		switch {
		case d.seldom(20) && !open:
			list, open = append(list, []string{"MULTI"}), true
		case d.seldom(4) && open:
			list, open = append(list, []string{"EXEC"}), false
		}
		c := d.command()
		if d.seldom(5) {
			c = append([]string{"EVAL", d.of("return redis.call(unpack(ARGV))", "local r = redis.pcall(unpack(ARGV)) if type(r) == 'table' then return r.ok or r.err or r end return r"), "0"}, c...)
		}
		list = append(list, c)
	}
	if open {
		list = append(list, []string{"EXEC"})
	}
	return list
}

// script is one script, of a few statements about three numbers, three texts and a table.
func (d draw) script() string {
	var b strings.Builder
	b.WriteString(d.of("", "", "", "", "", "#!lua\n", "#!lua flags=no-writes\n", "#!lua flags=allow-stale,no-cluster\n"))
	b.WriteString("local n, i, x = " + d.number(1) + ", " + d.of("0", "1", "7", "-3") + ", " + d.of("1.5", "0.1", "1e15", "2^53", "1700000000000.5", "1/3", "-0.0", "1e100", "100", "1/0") + "\n")
	b.WriteString("local s, u, v = " + d.text(1) + ", KEYS[1], ARGV[" + d.of("1", "2", "3") + "]\nlocal t = " + d.table(2) + "\n")
	for range 1 + d.IntN(5) {
		b.WriteString(d.statement(2) + "\n")
	}
	b.WriteString("return " + d.result() + d.of("", "", ";"))
	return b.String()
}

// table is a table as it is written, with holes and with names.
func (d draw) table(deep int) string {
	var list []string
	for range d.IntN(7) {
		one := d.of("1", "2.5", "n", "'a'", "'b'", "true", "false", "nil", "nil", "KEYS[1]", "ARGV[2]")
		if deep > 0 && d.seldom(8) {
			one = d.table(deep - 1)
		}
		switch d.IntN(9) {
		case 0:
			one = d.of("a", "b", "owner", "x1", "level") + " = " + one
		case 1:
			one = "[" + d.of("1", "2", "3", "4", "7", "1.5", "-1", "'k'", "true", "2^20") + "] = " + one
		}
		list = append(list, one)
	}
	if d.seldom(8) {
		list = append(list, d.of("unpack({1, nil, 3})", "redis.call('MGET', 'k', 'l', 'm')", "unpack(ARGV)"))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// place is an index, also as a text.
func (d draw) place() string {
	return d.of("1", "2", "3", "4", "5", "8", "i", "#t", "#t + 1", "#t + 2", "n", "'1'", "ARGV[2]", "tonumber(ARGV[2])", "1.5", "'a'", "-1", "0")
}

// digits is a number for a function, often as a text.
func (d draw) digits() string {
	return d.of("1", "2", "'2'", "ARGV[2]", "ARGV[4]", "'-1'", "3", "'3'", "' 1 '", "i", "'x'", "2.7", "'0x2'", "1e1", "nil")
}

func (d draw) statement(deep int) string {
	switch d.IntN(13) {
	case 0:
		return d.of("n", "i", "x") + " = " + d.number(2)
	case 1:
		return d.of("s", "v") + " = " + d.text(2)
	case 2:
		if deep == 0 {
			return "n = n"
		}
		return "if " + d.condition() + " then " + d.statement(deep-1) + d.of("", " else "+d.statement(deep-1)) + " end"
	case 3:
		if deep == 0 {
			return "s = s"
		}
		return "for j = " + d.of("1, 0", "1, 1", "1, 3", "1, ARGV[4]", "'3', 1, '-1'", "#t, 1, -1", "1, #t", "1, '2'") + " do " + d.statement(deep-1) + d.of("", " t[j] = "+d.of("nil", "j", "true", "s")) + " end"
	case 4, 9:
		return d.of("t[#t + 1] = ", "t[1] = ", "t.a = ", "t["+d.place()+"] = ", "t["+d.place()+"] = ") + d.of(d.number(1), d.text(1), "nil", "nil", "true")
	case 5, 6:
		return "local r = redis." + d.of("call", "pcall") + "(" + d.inner() + ") s = type(r) == 'table' and (r.err or r.ok or #r) or r or 'nothing'"
	case 7, 10:
		return "local ok, e = pcall(" + d.risk() + ") t[#t + 1] = tostring(ok) .. ' ' .. type(e) s = type(e) == 'string' and e or s"
	case 11:
		return d.of(
			"table.insert(t, "+d.digits()+", 'new')", "table.insert(t, nil)", "v = table.remove(t, "+d.digits()+")", "v = table.remove(t)", "s = #t .. '/' .. table.getn(t) .. '/' .. table.maxn(t)",
			"t = {unpack(t, "+d.digits()+", "+d.digits()+")}", "n = select('#', unpack(t))", "v = select("+d.digits()+", 'p', 'q', 'r')", "local w = {} for k in pairs(t) do w[#w + 1] = tostring(k) end s = table.concat(w, ' ')",
			"for k, w in pairs(t) do if type(w) == 'number' then t[k] = nil end end", "for _, w in ipairs(t) do s = type(w) end", "t[#t] = nil", "table.sort(t)", "table.sort(t, function(a, b) return tostring(a) > tostring(b) end)", "s = table.concat(t, "+d.digits()+")",
			"s = cjson.encode(t)", "t = cjson.decode(cjson.encode(t))", "t = cmsgpack.unpack(cmsgpack.pack(t))", "local w = t t = {} for k, one in pairs(w) do t[one] = k end",
		)
	default:
		return d.of("table.insert(t, n)", "table.sort({3, 1, 2})", "t = {unpack({n, s})}", "s = table.concat({n, s, x}, ',')", "t = cjson.decode('[1, 2.5, \"a\", {\"b\": true}, null]')", "s = cjson.encode({n, s, {a = x}})", "s = cjson.encode({a = cjson.null, b = n, c = #s})",
			"t = redis.call('MGET', 'k', 'l', 'm', 'k')", "t = redis.call('HGETALL', 'k')", "local function f(...) return select('#', ...), ... end n, s = f(s, nil, n)", "local c = coroutine.wrap(function(a) local b = coroutine.yield(a) return b end) s = c(s) v = c(n)",
			"t = setmetatable({}, {__index = function(_, k) return k end, __len = function() return 9 end}) s = t.zz", "v = (s .. x):rep("+d.digits()+")", "n, s = string.find(s, '(%w)')", "for w in string.gmatch(s, '%w') do v = w end")
	}
}

// risk is what pcall is given.
func (d draw) risk() string {
	return d.of("error, 'no'", "error, 'LOCKED by a'", "error, {err = 'NO x'}", "redis.call, 'HGET', KEYS[1]", "redis.call, 'GET', KEYS[1]", "cjson.decode, s", "tonumber, s", "string.rep, s, 2", "function() return n + s end",
		"assert, false, 'm'", "assert, nil", "assert, s", "function() error('far', 2) end", "function() error({err = 'MY x'}) end", "redis.sha1hex", "cjson.encode", "cjson.encode, t", "cmsgpack.unpack, s", "string.sub, s, ARGV[2]", "string.rep", "table.concat, t", "table.concat, t, 7", "table.sort, t, nil",
		"unpack, t, 1, 9000", "unpack, t, '1', ARGV[4]", "function() return t.a.b end", "function() return #n end", "function() return s < n end", "function() return nothing end", "redis.nothing", "redis.log, 9, 'x'", "redis.set_repl, redis.REPL_ALL", "function() redis.x = 1 end", "string.gsub, s, 'a', '%'", "select, "+d.digits()+", 1, 2",
		"cjson.decode, '"+d.json()+"'", "cjson.decode, '"+d.json()+"'", "setmetatable, t, 1", "next, t, 'zz'", "bit.band, s, 1", "string.char, 256", "string.format, '%d', s", "tonumber, s, "+d.digits())
}

// json is JSON, well made and not.
func (d draw) json() string {
	return d.of("01", "1.", "0x10", "nan", "-Infinity", "[1,2", "{\"a\":1}", "{\"a\"}", "[1,]", "\"a\tb\"", "\"\\\\ud83d\"", "\"\\\\u00e9\"", "{", "[", "", "tru", "[null,1]", "{\"b\":1,\"a\":{\"c\":[]}}", "1e5", "-", "\"x", "{\"a\":nul}", " [ 1 , 2 ] ", "{\"a\":1,\"a\":2}", "[1] 2")
}

// inner is a command of a script, well made as a rule.
func (d draw) inner() string {
	list := d.command()
	for n, word := range list {
		if n > 0 && d.seldom(6) {
			list[n] = d.of("n", "x", "s", "ARGV[1]", "i")
			continue
		}
		list[n] = strconv.Quote(word)
	}
	return strings.Join(list, ", ")
}

func (d draw) number(deep int) string {
	if deep == 0 {
		return d.of("1", "2", "10", "0.5", "1e14", "1e15", "-7")
	}
	switch d.IntN(10) {
	case 8:
		return d.of("(string.byte(s, "+d.digits()+") or 0)", "#t", "#KEYS", "#ARGV", "table.getn(t)", "(tonumber(s, "+d.digits()+") or 1)", "math.max("+d.digits()+", 1)", "select('#', unpack(t))", "string.len(v)", "(ARGV[2] + 1)", "(ARGV[2] * '2')", "-ARGV[2]")
	case 9:
		return d.of("bit.tobit(2^53 + 1)", "bit.band(2^40 + 5, 255)", "bit.lshift(n, 3)", "bit.bxor(n, '7')", "(tonumber('inf'))", "(tonumber('0x1.8', 10) or 3)", "math.fmod(n, 3)", "(n % 0)", "math.huge", "redis.REPL_ALL", "redis.REDIS_VERSION_NUM", "math.abs(ARGV[2])", "cjson.encode_max_depth()")
	case 0, 1:
		return d.of("1", "2", "0", "-1", "1.5", "1e14", "123456789012", "2^31", "1/3", "10/2")
	case 2:
		return "(" + d.number(deep-1) + " " + d.of("+", "-", "*", "/", "%", "^") + " " + d.of("2", "3", "10", "0.5") + ")"
	case 3:
		return d.of("math.floor", "math.abs", "math.ceil") + "(" + d.number(deep-1) + ")"
	case 4:
		return "(tonumber(" + d.text(deep-1) + ") or 0)"
	case 5:
		return "#" + "(" + d.text(deep-1) + ")"
	case 6:
		return d.of("math.max(1, 2.5)", "math.min(3, -1)", "bit.band(6, 3)", "bit.bor(8, 1)", "bit.lshift(1, 31)", "bit.bxor(5, 1)", "select('#', 1, nil, 2)", "#{1, 2, 3}", "string.byte('a')")
	default:
		return d.of("7", "3.7", "-2.5", "1e300", "0x10", "5 % -3", "-5 % 3", "2 ^ 0.5")
	}
}

func (d draw) text(deep int) string {
	if deep == 0 {
		return d.of("'a'", "'10'", "' 10 '", "'1e3'", "'0x1f'", "'x:y'", "''")
	}
	switch d.IntN(11) {
	case 9:
		return d.of("string.sub(s, "+d.digits()+")", "string.sub('lease:7', "+d.digits()+", "+d.digits()+")", "string.rep('ab', "+d.digits()+")", "('x'):rep("+d.digits()+")", "string.char('72', 105)", "string.format('%c%d', '65', ARGV[2])", "table.concat({'p', 'q', 'r'}, '-', "+d.digits()+")", "tostring((select("+d.digits()+", 'p', 'q', 'r')))", "tostring(table.remove({'p', 'q', 'r'}, "+d.digits()+"))")
	case 10:
		return d.of("redis.REDIS_VERSION", "tostring(math.huge)", "tostring(-1/0)", "tostring(t == t)", "(string.gsub('abc', 'b', '%%'))", "cjson.encode({z = 1, a = 2, m = {3, nil, 4}})", "tostring(#{1, nil, 3})", "type(cjson.new)", "string.format('%5.1f|%s', x, n)", "tostring(tonumber('nan'))", "cjson.encode(cjson.decode('{\"x\":[1,null,2]}'))", "loadstring('return 5 .. 6')()")
	case 0:
		return "tostring(" + d.of(d.number(deep-1), "nil", "true", d.text(deep-1)) + ")"
	case 1, 2:
		return "(" + d.of(d.text(deep-1), d.number(deep-1)) + " .. " + d.of(d.number(deep-1), d.text(deep-1)) + ")"
	case 3:
		return "string.format(" + d.of("'%d %s', 3, 'a'", "'%5.2f', 1.555", "'%g', 1e20", "'%s', 1e15", "'%x', 255", "'%05d', 42", "'%q', 'a\"b'", "'%-4s|', 'a'", "'%i', -3.7", "'%.3s', 'abcdef'", "'%%'", "'%c', 65") + ")"
	case 4:
		return d.of("string.sub('hello', 2, -2)", "('abc'):upper()", "string.reverse('abc')", "string.rep('ab', 3)", "string.lower('ABC')", "string.char(72, 105)", "string.sub('abc', -2)")
	case 5:
		return "(string.gsub(" + d.of("'hello world', 'o', '0'", "'abc', '%w', '%0%0'", "'a,b,c', ',', ';', 1", "'abc', '', '-'", "'x=1', '(%w)=(%w)', '%2=%1'", "'abc', 'b', {b = 'B'}", "'abc', '.', string.upper") + "))"
	case 6:
		return "(string.match(" + d.of("'owner:2', ':(%d+)'", "'a b c', '^(%S+)'", "'key-007', '%d+'", "'[x]', '%[(.)%]'", "'none', '%d'") + ") or 'none')"
	case 7:
		return d.of("(string.gmatch('own:2', '[^:]+')())", "tostring(string.find('abc', 'b'))", "type(t)", "tostring(1 == 1.0)", "tostring('a' < 'b')", "table.concat({1, 2.5, 'c'}, '-')", "redis.sha1hex('a')", "cjson.encode({1, 'a', true})", "cjson.encode('a/b')", "cjson.encode({})", "cjson.encode(1.5)", "tostring(cjson.decode('{\"a\": 1}').a)")
	default:
		return d.of("'z'", "KEYS[1]", "ARGV[1]", "ARGV[2]")
	}
}

func (d draw) condition() string {
	return d.of("n > 1", "i == 7", "s == 'a'", "x < 1", "not t[1]", "t.a", "#t > 2", "redis.call('EXISTS', KEYS[1]) == 1", "redis.call('GET', 'm') == false", "type(n) == 'number'", "n ~= n", "s", "'10' == 10")
}

func (d draw) result() string {
	return d.of("n", "i", "x", "s", "t", "{n, s, t}", "{n, s, {x, {i}}}", "tostring(x)", "{tostring(n), tostring(x)}", "{ok = 'FINE'}", "{err = 'MY error'}", "redis.status_reply('FINE')", "redis.error_reply('MY error')", "n == i", "nil", "true", "{1, nil, 2}", "x .. ''", "redis.call("+d.inner()+")", "redis.pcall("+d.inner()+")", "error('MY error')", "function() end", "{s, function() end, 1}", "{a = 1, n}",
		"{double = x}", "{double = 1.5}", "{map = {a = 1, b = s}}", "{set = {a = true, b = true}}", "{double = 1/0}", "{#t, unpack(t)}", "{#t, s, v}", "unpack(t)", "{cjson.encode(t)}")
}

func TestDrawingIsRepeated(t *testing.T) {
	for seed := range uint64(20) {
		a, b := drawing(seed, today), drawing(seed, today)
		if one, other := fmt.Sprintf("%q %s", a.sequence(), a.script()), fmt.Sprintf("%q %s", b.sequence(), b.script()); one != other {
			t.Fatalf("seed %d:\n%s\n%s", seed, one, other)
		}
	}
}
