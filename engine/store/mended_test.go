package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/store"
)

// told is what a fresh embedded Redis answers to the last of some commands, given one
// after the other, as a command of a client or from a script.
func told(t *testing.T, e *store.Embedded, line string) (answer string) {
	t.Helper()
	c := e.Client().(*redis.Client).Conn()
	defer func() { _ = c.Close() }()
	for _, words := range split(line) {
		args := make([]any, len(words))
		for i, w := range words {
			args[i] = w
		}
		answer = answered(c.Do(t.Context(), args...).Result())
	}
	return answer
}

// A lease that ends at an instant that is past is over: its key is gone, and leaves nothing
// to those that follow it.
func TestALeaseThatIsOverLeavesNothing(t *testing.T) {
	const second = "1767225600" // today
	ways := map[string]string{"": "%s", "in a script": "EVAL 'return redis.call(unpack(ARGV))' 0 %s", "in a transaction": "MULTI ; %s ; EXEC"}
	for _, over := range []string{
		"SET k a PXAT 1767225599999", "SET k a PXAT 1000", "SET k a EXAT 1767225599", "SET k a EXAT 1", "SET k a NX PXAT 1000", "SET k a PXAT 1000 GET",
		"SET k b ; GETEX k PXAT " + second + "000", "SET k b ; GETEX k EXAT 1", "SET k b PX 500 ; SET k a XX PXAT 1000",
		"SET k b ; PEXPIREAT k " + second + "000", "HSET k f 1 ; EXPIREAT k 1", "HSET k f 1 ; PEXPIRE k 0",
	} {
		for way, form := range ways {
			commands := strings.Split(over, " ; ")
			last := len(commands) - 1
			commands[last] = fmt.Sprintf(form, commands[last])
			for then, want := range map[string]string{
				"EXISTS k": "0", "PTTL k": "-2", "SET k b KEEPTTL ; GET k": `"b"`, "SET k b KEEPTTL ; PTTL k": "-1", "HSET k f 1 ; PTTL k": "-1", "ZADD k 1 m ; PTTL k": "-1",
				"SET k b NX ; PTTL k": "-1", "RPUSH k a ; TTL k": "-1", "SET l b ; RENAME l k ; PTTL k": "-1",
			} {
				e := store.NewEmbedded(today)
				if got := told(t, e, strings.Join(commands, " ; ")+" ; "+then); got != want {
					t.Errorf("%s %s ; %s: %s, want %s", over, way, then, got, want)
				}
				e.SetTime(today.Add(time.Hour))
				if lives := !strings.HasPrefix(then, "EXISTS") && !strings.HasPrefix(then, "PTTL"); e.Key("k").Exists() != lives {
					t.Errorf("%s %s ; %s: an hour later there is a key: %v", over, way, then, !lives)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A lease that ends at this very instant is there for a millisecond, as in Redis.
func TestALeaseThatEndsNow(t *testing.T) {
	for _, set := range []string{"SET k a PXAT 1767225600000", "SET k a NX EXAT 1767225600", "EVAL 'return redis.call(unpack(ARGV))' 0 SET k a PXAT 1767225600000"} {
		e := store.NewEmbedded(today)
		if got := told(t, e, set+" ; GET k"); got != `"a"` {
			t.Errorf("%s: at once it is %s", set, got)
		}
		e.SetTime(today.Add(time.Millisecond))
		if got := told(t, e, "EXISTS k"); got != "0" || e.HasExpiry() {
			t.Errorf("%s: a millisecond later it is there", set)
		}
		_ = e.Close()
	}
}

// A command that is refused, or finds the key, changes nothing, even if its lease is
// over.
func TestALeaseThatIsOverIsNotAlwaysSet(t *testing.T) {
	for line, want := range map[string]string{
		"SET k b ; SET k a NX PXAT 1000 ; GET k": `"b"`, "SET k a XX PXAT 1000": "nil", "SET k b ; SET k a PXAT 1000 GET": `"b"`, "HSET k f 1 ; SET k a PXAT 1000 GET ; TYPE k": `"hash"`,
		"SET k b ; SET k a PXAT 0 ; GET k": `"b"`, "SET k b ; SET k a PXAT -5 ; GET k": `"b"`, "SET k b ; SET k a PXAT +5 ; GET k": `"b"`,
	} {
		e := store.NewEmbedded(today)
		if got := told(t, e, line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		_ = e.Close()
	}
}

// A run's clock begins with 1970. An instant before that is past, as it would be later.
func TestAnInstantBeforeTheRunIsPast(t *testing.T) {
	e := store.NewEmbedded(clock.Epoch)
	defer func() { _ = e.Close() }()
	for line, want := range map[string]string{"SET k a NX PXAT -50 ; EXISTS k": "0", "SET k a NX PXAT -50": `"OK"`, "SET k a EXAT -1 ; EXISTS k": "0", "SET k a ; PEXPIREAT k -50 ; EXISTS k": "0", "SET k a PX 0": "error: ERR invalid expire time in 'set' command"} {
		if got := told(t, e, line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// A script means in a transaction what it means alone: what it does, what it is
// answered with, in which database.
func TestScriptsInTransactions(t *testing.T) {
	const list = "EVAL 'redis.call(\"SET\", KEYS[1], #ARGV) return {1, \"a\", {redis.call(\"GET\", KEYS[1]), false}}' 1 k x y"
	for line, want := range map[string]string{
		list: `[1 "a" ["2" nil]]`, "MULTI ; " + list + " ; EXEC": `[[1 "a" ["2" nil]]]`, "MULTI ; " + list: `"QUEUED"`, "MULTI ; " + list + " ; DISCARD ; EXISTS k": "1",
		"MULTI ; EVAL 'return {ok = \"FINE\"}' 0 ; EVAL 'return {err = \"MY error\"}' 0 ; EVAL 'return {{ok = \"FINE\"}, {err = \"MY error\"}}' 0 ; EVAL 'return false' 0 ; EXEC": `["FINE" error: MY error ["FINE" error: MY error] nil]`,
		"MULTI ; EVALSHA ffffffffffffffffffffffffffffffffffffffff 0 ; SET k a PX 1 KEEPTTL ; SET k a PX x ; INCR k ; EXEC":                                                        `[error: NOSCRIPT No matching script. Please use EVAL. error: ERR syntax error error: ERR value is not an integer or out of range 3]`,
		"MULTI ; SCRIPT LOAD 'return 1' ; EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0 ; EXEC":                                                                              `["e0e1f9fabfc9d4800c877a703b823ac0578ff8db" 1]`,
		"MULTI ; EVAL ; EXEC": "error: EXECABORT Transaction discarded because of previous errors.",
		"SELECT 3 ; SET k three ; EVAL 'return redis.call(\"GET\", KEYS[1])' 1 k":                               `"three"`,
		"SELECT 3 ; EVAL 'redis.call(\"SELECT\", 4) return redis.call(\"SET\", KEYS[1], \"four\")' 1 k ; GET k": `"three"`,
		"SELECT 4 ; MULTI ; EVAL 'return redis.call(\"GET\", KEYS[1])' 1 k ; EXEC":                              `["four"]`,
		"SELECT 4 ; INCRBYFLOAT n 1 ; INCR n ; TTL n":                                                           "-1",
	} {
		one := store.NewEmbedded(today)
		told(t, one, "SET k 2 ; SELECT 3 ; SET k three ; SELECT 4 ; SET k four ; SELECT 0")
		got := told(t, one, line)
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		_ = one.Close()
	}
}

// Commands that wait are refused within a script, at once, and so is a script in a
// script; a value that no reply can hold is no reply.
func TestWhatNoScriptMay(t *testing.T) {
	e := store.NewEmbedded(today)
	defer func() { _ = e.Close() }()
	refused := "error: ERR This Redis command is not allowed from script"
	for script, want := range map[string]string{
		`return redis.call("BLPOP", "k", 0)`: refused, `return redis.call("wait", 0, 1)`: refused, `return redis.call("XREAD", "BLOCK", 0, "STREAMS", "k", "$")`: refused, `return redis.call("EVAL", "return 1", 0)`: refused,
		`return redis.pcall("BRPOPLPUSH", "k", "l", 0).err`: `"ERR This Redis command is not allowed from script"`,
		`return function() end`:                             "nil", `return redis.call`: "nil", `return {1, print}`: "error: ", `return {redis.call, 1}`: "[nil 1]", `return coroutine.create(function() end)`: "nil",
		`return redis.call("\0MENDED", "x")`: "error: ERR Unknown Redis command called from script",
	} {
		if got := told(t, e, "EVAL '"+script+"' 0"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
	if got := told(t, e, "\x00MENDED x"); !strings.HasPrefix(got, "error: ERR unknown command") {
		t.Errorf("a command of its own: %s", got)
	}
	if e.Knows("\x00MENDED") || !e.Knows("evalsha") {
		t.Error("it knows what it does not have, or does not what it has")
	}
}

// A script that does not end is ended, whatever it catches, and the Redis answers on.
func TestAScriptIsEnded(t *testing.T) {
	e := store.NewEmbedded(today)
	s := e.NewConn()
	for _, script := range []string{
		"while true do end", "while true do pcall(function() while true do end end) end", "while true do redis.pcall('INCR', 'n') end",
		"while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
	} {
		if raw, err := s.DoWithin(t.Context(), 20*time.Millisecond, []string{"EVAL", script, "0"}); !errors.Is(err, store.ErrEndless) {
			t.Errorf("%s: %q, %v, want ErrEndless", script, raw, err)
		}
		if raw := string(s.Do([]string{"ECHO", "on"})); raw != "$2\r\non\r\n" {
			t.Errorf("after %s it answers %q", script, raw)
		}
		ctx, end := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		timer := time.AfterFunc(20*time.Millisecond, func() { end(why) })
		if _, err := s.DoWithin(ctx, time.Hour, []string{"EVAL", script, "0"}); !errors.Is(err, why) {
			t.Errorf("%s, and nobody waits: %v", script, err)
		}
		timer.Stop()
	}
	if raw, err := s.DoWithin(t.Context(), time.Hour, []string{"EVAL", "return 1", "0"}); err != nil || string(raw) != ":1\r\n" {
		t.Errorf("one that ends: %q, %v", raw, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Redis reads a number in one way only.
func TestNumbersAreReadInOneWay(t *testing.T) {
	for _, bad := range []string{"+1", "00", "01", "-0", " 1", "1 ", "1.0", "0x1", "1e1", "", "9223372036854775808", "-9223372036854775809"} {
		for _, form := range []string{"INCRBY k|%", "DECRBY k|%", "HINCRBY k f|%", "EXPIRE k|%", "PEXPIREAT k|%", "SET k a PX|%", "SETEX k|%|a", "GETEX l EX|%"} {
			args := slices.Clone(strings.FieldsFunc(form, func(r rune) bool { return r == ' ' || r == '|' }))
			e := store.NewEmbedded(today)
			told(t, e, "SET l 1")
			raw := string(e.NewConn().Do(slices.Concat(args[:slices.Index(args, "%")], []string{bad}, args[slices.Index(args, "%")+1:])))
			if want := "-ERR value is not an integer or out of range\r\n"; raw != want {
				t.Errorf("%s %q: %q", form, bad, raw)
			}
			_ = e.Close()
		}
	}
}
