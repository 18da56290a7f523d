package interpreter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/interpreter"
)

func answered(reply any, args ...string) interpreter.Answered {
	return interpreter.Answered{Args: args, Reply: reply}
}

func refused(text string, args ...string) interpreter.Answered {
	return interpreter.Answered{Args: args, Error: text}
}

// Where a script went, by hand.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		argv        []string
		answers     []interpreter.Answered
		ran, passed []int
	}{
		{
			"an argument decides", "if ARGV[1] == 'a' then\n  return 1\nelse\n  return 2\nend",
			[]string{"b"},
			nil,
			[]int{1, 4},
			[]int{2},
		},
		{
			"an answer decides", "if redis.call('EXISTS', KEYS[1]) == 1 then\n  return 0\nend\nredis.call('SET', KEYS[1], ARGV[1], 'PX', 100)\nreturn 1",
			[]string{"me"},
			[]interpreter.Answered{answered(int64(0), "EXISTS", "k"), answered("OK", "SET", "k", "me", "PX", "100")},
			[]int{1, 4, 5},
			[]int{2},
		},
		{
			"an answer is a status", "local r = redis.call('SET', KEYS[1], 1)\nif type(r) == 'table' and r.ok == 'OK' then\n  return 1\nend\nreturn 2", nil,
			[]interpreter.Answered{answered("OK", "SET", "k", "1")},
			[]int{1, 2, 3},
			[]int{5},
		},
		{
			"a text is none", "if redis.call('GET', KEYS[1]) == 'OK' then\n  return 1\nend\nreturn 2", nil,
			[]interpreter.Answered{answered("OK", "GET", "k")},
			[]int{1, 2},
			[]int{4},
		},
		{
			"no text is false", "local r = redis.call('GET', KEYS[1])\nif r == false then\n  return 1\nend\nreturn 2", nil,
			[]interpreter.Answered{answered(nil, "GET", "k")},
			[]int{1, 2, 3},
			[]int{5},
		},
		{
			"an error ends it", "redis.call('HGET', KEYS[1], 'f')\nredis.call('DEL', KEYS[1])\nreturn 1", nil,
			[]interpreter.Answered{refused("WRONGTYPE no hash", "HGET", "k", "f")},
			[]int{1},
			[]int{2, 3},
		},
		{
			"an error is caught", "local r = redis.pcall('HGET', KEYS[1], 'f')\nif r.err then\n  return redis.call('DEL', KEYS[1])\nend\nreturn r", nil,
			[]interpreter.Answered{refused("WRONGTYPE no hash", "HGET", "k", "f"), answered(int64(1), "DEL", "k")},
			[]int{1, 2, 3},
			[]int{5},
		},
		{
			"it goes round", "local n = 0\nfor _, one in ipairs(redis.call('HKEYS', KEYS[1])) do\n  if one == 'b' then\n    n = n + redis.call('HDEL', KEYS[1], one)\n  elseif one == 'z' then\n    n = 0\n  end\nend\nreturn n", nil,
			[]interpreter.Answered{answered([]any{"a", "b"}, "HKEYS", "k"), answered(int64(1), "HDEL", "k", "b")},
			[]int{1, 2, 3, 4, 5, 9},
			[]int{6},
		},
		{
			"a function that nobody calls", "local function f()\n  return redis.call('GET', KEYS[1])\nend\nlocal function g()\n  return 1\nend\nreturn g()", nil, nil,
			[]int{1, 4, 5, 7},
			[]int{2},
		},
		{
			"numbers are written otherwise", "redis.call('PEXPIRE', KEYS[1], 10 * 100)\nreturn redis.call('SET', KEYS[1], 1 / 4)", nil,
			[]interpreter.Answered{answered(int64(1), "PEXPIRE", "k", "1000"), answered("OK", "SET", "k", "0.25")},
			[]int{1, 2},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := interpreter.Follow(c.text, []string{"k"}, c.argv, c.answers)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.ran, got.Ran); diff != "" {
				t.Errorf("ran (want -, got +):\n%s", diff)
			}
			if diff := cmp.Diff(c.passed, append([]int(nil), got.Passed...)); diff != "" {
				t.Errorf("passed (want -, got +):\n%s", diff)
			}
		})
	}
}

// What does not fit the record says nothing.
func TestFollowGoesNotAstray(t *testing.T) {
	exists := answered(int64(0), "EXISTS", "k")
	for name, c := range map[string]struct {
		text    string
		answers []interpreter.Answered
	}{
		"another command":  {"return redis.call('DEL', KEYS[1])", []interpreter.Answered{exists}},
		"another argument": {"return redis.call('EXISTS', 'other')", []interpreter.Answered{exists}},
		"one more":         {"redis.call('EXISTS', KEYS[1]) return redis.call('DEL', KEYS[1])", []interpreter.Answered{exists}},
		"one more, caught": {"redis.call('EXISTS', KEYS[1]) return pcall(redis.call, 'DEL', KEYS[1])", []interpreter.Answered{exists}},
		"one less":         {"redis.call('EXISTS', KEYS[1])", []interpreter.Answered{exists, exists}},
	} {
		if p, err := interpreter.Follow(c.text, []string{"k"}, nil, c.answers); !errors.Is(err, interpreter.ErrAstray) || p.Ran != nil || p.Passed != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// Somebody else has written it: it ends, and takes little.
func TestFollowIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"endless":         "while true do end",
		"endless, caught": "while true do pcall(function() while true do end end) end",
		"repeats":         "repeat local a = 1 until false",
		"doubles":         "local s = 'aa' for n = 1, 40 do s = s .. s end",
		"repeats a text":  "local s = string.rep('a', 100000)",
		"joins":           "local t = {} for n = 1, 40 do t[n] = string.rep('a', 1000) end return table.concat(t)",
		"replaces":        "return string.gsub(string.rep('a', 10000), 'a', 'aaaaaaaaaa')",
		"formats":         "return string.format(string.rep('%s', 20), " + strings.TrimSuffix(strings.Repeat("string.rep('a', 10000),", 20), ",") + ")",
		"a coroutine":     "coroutine.wrap(function() while true do end end)()",
		"a far place":     "local t = {} table.insert(t, -1000000, 1)",
		"many values":     "local t = {} while true do t[#t + 1] = {unpack(t, 1, 7900)} end",
		"much JSON":       "local s = '[' .. string.rep('1,', 8000) .. '1]' for n = 1, 10 do cjson.decode(s) end",
		"patterns":        "return string.find(string.rep('a', 10000), string.rep('a-', 30) .. 'b')",
		"long":            "return 1 --" + strings.Repeat("a", 20000),
	} {
		p, err := interpreter.Follow(text, []string{"k"}, nil, nil)
		if fault := (*interpreter.Fault)(nil); !errors.As(err, &fault) || errors.Is(err, interpreter.ErrSyntax) || p.Steps > interpreter.MostSteps {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := interpreter.Follow("return #ARGV[1]", nil, []string{strings.Repeat("a", 20000)}, nil); !errors.Is(err, interpreter.ErrTooLarge) {
		t.Error(err)
	}
	p, err := interpreter.Follow("local function f(n) return 1 + f(n) end\nreturn f(1)", nil, nil, nil)
	if err != nil || p.Steps > 1000 { // an error of Lua ends it
		t.Error(p, err)
	}
}
