package box_test

import (
	"testing"

	"relock/engine/outside/box"
)

// What Redis 7.0.15 answered to these, in its words.
func TestLuaIsThatOfRedis(t *testing.T) {
	p := open(t, box.Options{})
	for script, want := range map[string]string{
		"return tostring(1e14)": "1e+14", "return tostring(2^53)": "9.007199254741e+15", "return tostring(1/3)": "0.33333333333333",
		"return tostring(-0.0)": "-0", "return tostring(1/0)": "inf", "return tostring(0/0)..tostring(-(0/0))": "-nannan",
		"return {tonumber(' 0x10 '), tonumber('1e3'), tonumber('10', 2), tonumber('z', 36), tonumber('0x')}":                                                                                    "16,1000,2,35",
		"redis.call('SET', 'k', 0.1) return redis.call('GET', 'k')":                                                                                                                             "0.10000000000000001",
		"redis.call('SET', 'k', 1e15) return redis.call('GET', 'k')":                                                                                                                            "1000000000000000",
		"math.randomseed(1) return {math.random(1000), tostring(math.random())}":                                                                                                                "42,0.4544924448498",
		`return string.format('%5.1f|%d|%s|%q|%x|%g|%i|%c|%e|%u', 1.25, 3, 'x', 'a"b', 255, 1e20, 3, 65, 1.5, 3)`:                                                                               `  1.2|3|x|"a\"b"|ff|1e+20|3|A|1.500000e+00|3`,
		"return string.format('%05.1f %+d % d %-5sx %x %g %g %10.3s|', -1.25, 3, 3, 'ab', -1, 0.1, 1/0, 'abcdef')":                                                                              "-01.2 +3  3 ab   x ffffffffffffffff 0.1 inf        abc|",
		"return {bit.band(6, 3), bit.bnot(0), bit.lshift(1, 31), bit.rshift(-1, 1), bit.arshift(-8, 1), bit.rol(1, 31), bit.bswap(1), bit.tobit(2^32 + 5), bit.tohex(255), bit.tohex(255, -4)}": "2,-1,-2147483648,2147483647,-4,-2147483648,16777216,5,000000ff,00FF",
		"return cjson.encode({1, 2, {a = 1}, 'x/y\\n', 1.5, true, cjson.null})":                                                                                                                 `[1,2,{"a":1},"x\/y\n",1.5,true,null]`,
		"return cjson.encode({})":                                                                              "{}",
		"return cjson.encode({[1] = 1, [5] = 2})":                                                              "[1,null,null,null,2]",
		"return table.concat({1, 2.5, 1e15}, ', ')":                                                            "1, 2.5, 1e+15",
		"return {3.99, -3.99, 2^31, 1e300}":                                                                    "3,-3,2147483648,-9223372036854775808",
		"return {1, 2, nil, 3}":                                                                                "1,2",
		"return {string.gsub('hello world', '%w+', '<%0>', 1)}":                                                "<hello> world,1",
		"return {string.gsub('abc', '', '-')}":                                                                 "-a-b-c-,4",
		"return {string.gsub('abc', '%w', {a = '1', b = false})}":                                              "1bc,3",
		"return {string.gsub('THE (quick) fox', '%f[%a]%a+', '%0!')}":                                          "THE! (quick!) fox!,3",
		"return {string.gsub('abc abc', '(a)(b)', '%2%1')}":                                                    "bac bac,2",
		"return {string.gsub('a', '(a', '')}":                                                                  ",1",
		"return {string.find('THE (quick) fox', '%((%a+)%)')}":                                                 "5,11,quick",
		"return {string.match('f(a(b)c)d', '%b()')}":                                                           "(a(b)c)",
		"return {string.match('2024-01-02', '^(%d+)-(%d+)-(%d+)$')}":                                           "2024,01,02",
		"return {string.match('hello hello', '(%w+) %1')}":                                                     "hello",
		"local t = {} for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do t[#t + 1] = k .. v end return t": "a1,b2",
		"return {pcall(function() return string.find('a', '[a') end)}":                                         "nil,user_script:1: malformed pattern (missing ']')",
		"return {pcall(function() return string.gsub('a', 'a', '%2') end)}":                                    "nil,user_script:1: invalid capture index",
		"return redis.sha1hex(1)":                                                                              "356a192b7913b04c54574d18c28d46e6395428ab",
		"return string.upper('aé')":                                                                            "Aé",
		"local ok, e = pcall(redis.call, 'HGET', 'k') return {type(e), e}":                                     "string,ERR Wrong number of args calling Redis command from script",
		"return redis.error_reply('x')":                                                                        "ERR x",
		"return redis.error_reply('-X y')":                                                                     "X y",
		"return redis.error_reply('-X')":                                                                       "ERR X",
		"return x":                                                                                             "ERR user_script:1: Script attempted to access nonexistent global variable 'x' script: 03c387736bb5cc009ff35151572cee04677aa374, on @user_script:1.",
		"error({err='MY stop'})":                                                                               "MY stop script: 89d495c7924beba2a535444c4eac7516de9ee91e, on @user_script:1.",
		"error('a b c',0)":                                                                                     "ERR a b c script: f1290c4708b16507d24ddb672d7ecd7b9597a20f, on @user_script:1.",
		"x=1":                                                                                                  "ERR user_script:1: Attempt to modify a readonly table script: 7caf6056913504f0508c65faf2dc3f94ff65bcfd, on @user_script:1.",
		"return redis.call('NOTHING')":                                                                         "ERR Unknown Redis command called from script script: 5ee96871accc4d7eb171683b9d8698835f0bc113, on @user_script:1.",
		"return redis.call('EVAL','return 1',0)":                                                               "ERR This Redis command is not allowed from script script: c225e144ce9661ef1bbf2a55c99e7c3ff6a38b64, on @user_script:1.",
		"return redis.call('GET',{})":                                                                          "ERR Lua redis lib command arguments must be strings or integers script: 8b0252cf61f0366816877b103f40fe40092fa13d, on @user_script:1.",
	} {
		a, err := p.Ask(t.Context(), "me", box.Question{Script: script, Now: now})
		got := a.Err
		if got == "" {
			got = reply(a.Reply)
		}
		if err != nil || got != want {
			t.Errorf("%s\n is  %s, %v\nwant %s", script, got, err, want)
		}
	}
}

// A script's result does not depend on where a table is in memory.
func TestAddressesAreCounted(t *testing.T) {
	p := open(t, box.Options{})
	told := map[string]bool{}
	for _, by := range []string{"me", "me", "another"} {
		a, err := p.Ask(t.Context(), by, box.Question{Script: "local one = {} return {tostring(one), tostring({}), tostring(one), tostring(pcall)}", Now: now})
		if err != nil {
			t.Fatal(err)
		}
		told[reply(a.Reply)] = true
	}
	if want := "table: 0x550000000040,table: 0x550000000080,table: 0x550000000040,function: 0x5500000000c0"; len(told) != 1 || !told[want] {
		t.Errorf("%v, want %s each time", told, want)
	}
}
