package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/outside/logs"
	"relock/engine/trace"
)

func read(t testing.TB, text string) *logs.Log {
	t.Helper()
	l, err := logs.Read(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// brief is what a log came to: its broken rules, and what it does not say.
func brief(t testing.TB, l *logs.Log, o logs.Options) string {
	t.Helper()
	found, err := l.Trace(t.Context(), o)
	if err != nil {
		return "! " + err.Error()
	}
	f := found.Header.Log
	var words []string
	words = append(words, f.Format, f.Key, fmt.Sprint(f.Commands), f.ThreadsBy)
	for _, one := range f.Threads {
		words = append(words, one.Name)
	}
	for _, e := range found.Events {
		if v, ok := e.Body.(trace.Violation); ok {
			words = append(words, fmt.Sprintf("%s:%s@%d", v.Rule, strings.Join(v.Threads, ""), found.Lines[e.Step-1]))
		}
	}
	for _, n := range f.Notes {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("%s=%d", n.What, n.Count), "=0"))
	}
	names := make([]string, len(found.Scenario.Threads))
	for i, one := range found.Scenario.Threads {
		names[i] = one.Name
	}
	if err := trace.Check(found.Header, found.Events, names); err != nil {
		t.Errorf("its trace is refused: %v", err)
	}
	return strings.Join(words, " ")
}

// Logs recorded here, and their results; checked by hand against the logs.
func TestRecordedLogs(t *testing.T) {
	for name, want := range map[string]string{
		"redis-py-4.3.4.log":             "monitor invoice:7 11 value A B replies names before nothing=1 lanes=2",
		"redis-py-4.3.4-lease-over.log":  "monitor invoice:7 13 value A B mutual-exclusion:AB@5 mutual-exclusion:AB@11 mutual-exclusion:AB@15 replies names before nothing=1 lanes=2",
		"redis-semaphore-5.8.0.log":      "monitor mutex:order:9 38 value A B replies names before nothing=2 lanes=2",
		"ioredis-6.0.0-same-value.log":   "monitor report 11 connection A B mutual-exclusion:AB@14 foreign-release:AB@15 replies names before",
		"redsync-4.18.1.log":             "monitor invoice:7 21 value A B replies before nothing=1 lanes=2",
		"redislock-0.9.4-lease-over.log": "monitor invoice:7 22 value A B mutual-exclusion:AB@34 mutual-exclusion:AB@54 replies before nothing=3 lanes=2",
		"six-clients-7.0.15.log":         "monitor res:1 14 value A B C D E F replies names before nothing=1",
		"relock.log":                     "monitor invoice:7 20 owner A B replies before nothing=2 lanes=2",
		"example.otlp.jsonl":             "otlp invoice:7 5 owner A B mutual-exclusion:AB@1 within before commands=5 other=1",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if have := brief(t, read(t, string(data)), logs.Options{}); have != want {
			t.Errorf("%s:\n have %s\n want %s", name, have, want)
		}
	}
}

// at is a MONITOR line, at so many milliseconds.
func at(ms int, client, rest string) string {
	return fmt.Sprintf("%d.%06d [0 %s] %s\n", 1_700_000_000+ms/1000, ms%1000*1000, client, rest)
}

const (
	one = "127.0.0.1:5001"
	two = "127.0.0.1:5002"
)

func TestWhatALogShows(t *testing.T) {
	over := at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`) + at(100, two, `"SET" "lock" "v2" "NX" "PX" "300"`) + at(350, two, `"SET" "lock" "v2" "NX" "PX" "300"`)
	unlock := `"EVAL" "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0" "1" "lock"`
	// As a fair reading has it: who takes, who is refused, who is inside twice.
	enter := func(ms int, who, owner string, inner ...string) string {
		text := at(ms, who, `"EVAL" "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])" "1" "lock" "30000" "`+owner+`"`)
		for _, in := range inner {
			text += at(ms, "lua", in)
		}
		return text
	}
	taken := func(owner string) []string {
		return []string{`"exists" "lock"`, `"hincrby" "lock" "` + owner + `" "1"`, `"pexpire" "lock" "30000"`}
	}
	refused := func(owner string) []string {
		return []string{`"exists" "lock"`, `"hexists" "lock" "` + owner + `"`, `"pttl" "lock"`}
	}
	for _, c := range []struct {
		name, text string
		o          logs.Options
		want       string
	}{
		{"a lease that is over, and another's release", over + at(500, one, `"DEL" "lock"`), logs.Options{}, "monitor lock 4 value A B mutual-exclusion:AB@3 foreign-release:AB@4 replies names before"},
		{"who does not come back may have left in time", over, logs.Options{}, "monitor lock 3 value A B replies names before silent=1"},
		{"who comes back in vain has worked on", over + at(500, one, unlock+` "v1"`) + at(500, "lua", `"get" "lock"`), logs.Options{}, "monitor lock 4 value A B mutual-exclusion:AB@3 replies names before"},
		{"who sees in time that it is another's is out", over[:len(over)-len(at(350, two, `"SET" "lock" "v2" "NX" "PX" "300"`))] + at(340, one, `"GET" "lock"`) + at(350, two, `"SET" "lock" "v2" "NX" "PX" "300"`) + at(400, one, `"GET" "lock"`), logs.Options{}, "monitor lock 5 value A B replies names before"},
		{"a hash without a script: a look at one's own is no release", at(0, one, `"HGETALL" "lock"`) + at(1, one, `"HINCRBY" "lock" "p:1" "1"`) + at(1, one, `"PEXPIRE" "lock" "300"`) + at(2, one, `"HGETALL" "lock"`) + at(100, two, `"HKEYS" "lock"`) + at(310, one, `"HGET" "lock" "p:1"`) + at(320, two, `"HINCRBY" "lock" "p:2" "1"`), logs.Options{}, "monitor lock 7 owner A B replies names before lanes=2"},
		{"the same, and it looks too late", at(1, one, `"HINCRBY" "lock" "p:1" "1"`) + at(1, one, `"PEXPIRE" "lock" "300"`) + at(320, two, `"HINCRBY" "lock" "p:2" "1"`) + at(330, one, `"HGET" "lock" "p:1"`), logs.Options{}, "monitor lock 4 owner A B mutual-exclusion:AB@3 replies names before"},
		{"a name that HELLO gives", at(0, one, `"HELLO" "3" "AUTH" "(redacted)" "(redacted)" "SETNAME" "w"`) + at(1, one, `"SET" "lock" "v1" "NX" "PX" "300"`), logs.Options{}, "monitor lock 1 value A replies before"},
		{"lines and tabs in a name", at(0, one, `"SET" "lo\nck\t" "v\r1" "NX" "PX" "300"`), logs.Options{Key: `lo\nck\t`}, `monitor lo\nck\t 1 value A replies names before`},
		{"a lock that a script sets beside its keys", at(0, one, `"EVAL" "x" "1" "q:meta" "t1"`) + at(0, "lua", `"HINCRBY" "q:1" "ats" "1"`) + at(0, "lua", `"SET" "q:1:lock" "t1" "PX" "300"`) + at(1, one, `"EVAL" "x" "1" "q:check"`) + at(1, "lua", `"SET" "q:check" "1" "PX" "250"`) + at(2, two, `"GET" "q:check"`) + at(3, one, `"DEL" "q:1:lock"`), logs.Options{}, "monitor q:1:lock 2 value A replies names before inside=1"},
		{"everybody writes the same", strings.NewReplacer(`"v1"`, `"x"`, `"v2"`, `"x"`).Replace(over) + at(500, one, `"DEL" "lock"`), logs.Options{}, "monitor lock 4 connection A B mutual-exclusion:AB@3 foreign-release:AB@4 replies names before"},
		{"by connection", over + at(500, one, `"DEL" "lock"`), logs.Options{Threads: logs.ByConnection}, "monitor lock 4 connection A B mutual-exclusion:AB@3 foreign-release:AB@4 replies names before"},
		{"by owner, of a string", over, logs.Options{Threads: logs.ByOwner}, "monitor lock 3 value A B replies names before silent=1 same-owner"},
		{"a pool: lock on one connection, unlock on another", at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`) + at(50, two, unlock+` "v1"`) + at(50, "lua", `"get" "lock"`) + at(50, "lua", `"del" "lock"`) + at(60, two, `"SET" "lock" "v2" "NX" "PX" "300"`), logs.Options{}, "monitor lock 3 value A replies names before lanes=1"},
		{"a script that says yes with nil, and its like that is refused", enter(0, one, "p:1", taken("p:1")...) + enter(10, two, "p:2", refused("p:2")...) + enter(20, one, "p:1", `"exists" "lock"`, `"hexists" "lock" "p:1"`, `"hincrby" "lock" "p:1" "1"`, `"pexpire" "lock" "30000"`), logs.Options{}, "monitor lock 3 owner A B replies names before"},
		{"who asks a script again after its lease believes no more that it holds", enter(0, one, "p:1", taken("p:1")...) + enter(31_000, two, "p:2", taken("p:2")...) + enter(31_500, one, "p:1", refused("p:1")...), logs.Options{}, "monitor lock 3 owner A B replies names before silent=1"},
		{"the lock was taken before the log began", enter(0, two, "p:2", refused("p:2")...) + enter(10, one, "p:1", refused("p:1")...), logs.Options{}, "! no command of the log takes a lock (SET … NX, SETNX, HINCRBY, or a script that writes its first key); name the lock's key with -key"},
		{"the same, with -key", enter(0, two, "p:2", refused("p:2")...) + enter(10, one, "p:1", refused("p:1")...), logs.Options{Key: "lock"}, "monitor lock 2 value A B replies names before inside=2"},
		{"NOSCRIPT", at(0, one, `"EVALSHA" "abc" "1" "lock" "v1"`) + over, logs.Options{}, "monitor lock 4 value A B replies names before silent=1 nothing=1"},
		{"marks", over + at(360, one, `"ECHO" "relock:enter"`) + at(370, two, `"ECHO" "relock:enter"`), logs.Options{}, "monitor lock 3 value A B mutual-exclusion:AB@5 replies names before silent=1"},
		{"another database", over + strings.Replace(at(400, one, `"DEL" "lock"`), "[0 ", "[3 ", 1), logs.Options{}, "monitor lock 3 value A B replies names before silent=1 databases=1"},
		{"flushed", at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`) + at(10, two, `"FLUSHALL"`), logs.Options{}, "monitor lock 2 connection A B foreign-release:BA@2 replies names before"},
		{"what is unknown here", over + at(400, two, `"MIGRATE" "h" "1" "lock" "0" "9" "AUTH" "pw"`), logs.Options{}, "monitor lock 4 value A B replies names before silent=1 unknown=1"},
		{"cut at its end", over + `1700000000.4000`, logs.Options{}, "monitor lock 3 value A B replies names before silent=1 cut"},
		{"cut at its beginning", `0.000000 [0 ` + one + `] "SET" "lock" "v0" "NX" "PX" "30"` + "\n" + over, logs.Options{}, "monitor lock 3 value A B replies names before silent=1 begun"},
		{"cut in the middle of a command, before what is in it", `ck" "v1" "NX" "PX" "300"` + "\n" + at(350, two, `"SET" "lock" "v2" "NX" "PX" "300"`) + at(360, one, unlock+` "v1"`) + at(360, "lua", `"get" "lock"`), logs.Options{}, "monitor lock 2 connection A B replies names before begun earlier=1"},
		{"begun with a lock that is released", at(0, one, unlock+` "v1"`) + at(0, "lua", `"get" "lock"`) + at(0, "lua", `"del" "lock"`) + over, logs.Options{}, "monitor lock 4 value A B replies names before silent=1 inside=1 earlier=1"},
		{"begun with a lock that is renewed", at(0, one, `"PEXPIRE" "lock" "300"`) + at(400, two, `"SET" "lock" "v2" "NX" "PX" "300"`), logs.Options{}, "monitor lock 2 connection A B replies names before earlier=1"},
		{"begun with a look", at(0, one, `"GET" "lock"`) + over, logs.Options{}, "monitor lock 4 value A B replies names before silent=1 lanes=1"},
		{"a script that returns a function", at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`) + at(1, one, `"EVAL" "redis.call('del', KEYS[1]) return redis.call" "1" "lock"`) + at(1, "lua", `"del" "lock"`), logs.Options{}, "monitor lock 2 value A replies names before"},
		{"a script that would wait", at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`) + at(1, one, `"EVAL" "return redis.pcall('BLPOP', KEYS[1], 0).err" "1" "lock"`) + at(1, "lua", `"BLPOP" "lock" "0"`), logs.Options{}, "monitor lock 2 value A replies names before"},
		{"two locks, the busier is chosen", over + at(400, one, `"SET" "other" "v1" "NX" "PX" "300"`), logs.Options{}, "monitor lock 3 value A B replies names before silent=1"},
		{"two locks, one is asked for", over + at(400, one, `"SET" "other" "v1" "NX" "PX" "300"`), logs.Options{Key: "other"}, "monitor other 1 value A replies names before"},
		{"no such key", over, logs.Options{Key: "nobody"}, `! -key "nobody": no command of the log names it; keys that could be locks: lock`},
		{"no such way", over, logs.Options{Threads: "thread"}, `! -threads "thread": allowed: owner and value and connection`},
		{"a lost update", over + at(360, one, `"GET" "stock"`) + at(361, two, `"GET" "stock"`) + at(362, one, `"SET" "stock" "4"`) + at(363, two, `"SET" "stock" "4"`), logs.Options{Resource: "stock"}, "monitor lock 7 value A B mutual-exclusion:AB@3 lost-update:BA@7 replies names before"},
	} {
		if have := brief(t, read(t, c.text), c.o); have != c.want {
			t.Errorf("%s:\n have %s\n want %s", c.name, have, c.want)
		}
	}
}

// If no command makes a lock for sure, it is the key whose state decided the answer that another
// got.
func TestTheLockOfALogIsTheKeyThatDecided(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"WATCH, and a transaction", at(0, one, `"WATCH" "k"`) + at(1, one, `"GET" "k"`) + at(2, one, `"MULTI"`) + at(2, one, `"SET" "k" "a" "PX" "300"`) + at(2, one, `"EXEC"`) +
			at(10, two, `"WATCH" "k"`) + at(11, two, `"GET" "k"`) + at(12, two, `"UNWATCH"`) + at(20, one, `"DEL" "k"`) +
			at(30, two, `"WATCH" "k"`) + at(31, two, `"GET" "k"`) + at(32, two, `"MULTI"`) + at(32, two, `"SET" "k" "b" "PX" "300"`) + at(32, two, `"EXEC"`) + at(40, two, `"DEL" "k"`), "k"},
		{"a count, and another that lasts", at(0, one, `"INCR" "all"`) + at(0, one, `"INCR" "n"`) + at(0, one, `"PEXPIRE" "n" "300"`) + at(10, two, `"INCR" "all"`) + at(10, two, `"INCR" "n"`) + at(12, two, `"INCR" "all"`) +
			at(12, two, `"INCR" "n"`) + at(20, one, `"DEL" "n"`), "n"},
		{"a hash that is looked at", at(0, one, `"HGETALL" "h"`) + at(1, one, `"HSET" "h" "owner" "a"`) + at(1, one, `"PEXPIRE" "h" "300"`) + at(10, two, `"HGETALL" "h"`) + at(15, two, `"HGETALL" "h"`) + at(20, one, `"DEL" "h"`) +
			at(30, two, `"HGETALL" "h"`) + at(31, two, `"HSET" "h" "owner" "b"`) + at(40, two, `"DEL" "h"`), "h"},
		{"GETSET", at(0, one, `"GETSET" "g" "a"`) + at(1, one, `"PEXPIRE" "g" "300"`) + at(10, two, `"GETSET" "g" "a"`) + at(11, two, `"GETSET" "g" "a"`) + at(20, one, `"DEL" "g"`), "g"},
		{"members that another sees", at(0, one, `"ZADD" "z" "NX" "1" "a"`) + at(1, one, `"ZRANK" "z" "a"`) + at(10, two, `"ZADD" "z" "NX" "2" "b"`) + at(11, two, `"ZRANK" "z" "b"`) + at(12, two, `"ZREM" "z" "b"`) + at(20, one, `"ZREM" "z" "a"`), "z"},
		{"a probe of one connection, beside members", at(0, one, `"SET" "probe" "1" "NX" "PX" "9"`) + at(0, one, `"DEL" "probe"`) + at(1, one, `"ZADD" "z" "1" "a"`) + at(10, two, `"ZADD" "z" "2" "b"`) + at(12, two, `"ZREM" "z" "b"`) + at(20, one, `"ZREM" "z" "a"`), "z"},
		{"members, and nobody refused", at(0, one, `"ZADD" "z" "1" "a"`) + at(10, two, `"ZADD" "z" "2" "b"`) + at(12, two, `"ZREM" "z" "b"`) + at(20, one, `"ZREM" "z" "a"`), "z"},
		{"a list of tokens", at(0, one, `"LPUSH" "l" "t"`) + at(1, one, `"RPOPLPUSH" "l" "busy"`) + at(2, one, `"GET" "stock"`) + at(10, two, `"RPOPLPUSH" "l" "busy"`) + at(15, two, `"RPOPLPUSH" "l" "busy"`) +
			at(20, one, `"LPUSH" "l" "t"`) + at(30, two, `"RPOPLPUSH" "l" "busy"`) + at(31, two, `"GET" "stock"`), "l"},
		{"a marker that refuses nobody, beside the lock", at(0, one, `"SET" "seen" "1" "NX" "PX" "300"`) + at(0, one, `"GET" "k"`) + at(1, one, `"SETEX" "k" "9" "a"`) + at(10, two, `"SET" "other" "1" "NX" "PX" "300"`) + at(11, two, `"GET" "k"`) +
			at(15, two, `"GET" "k"`) + at(20, one, `"DEL" "k"`) + at(21, one, `"DEL" "seen"`), "k"},
		{"only counts", at(0, one, `"INCR" "n"`) + at(1, one, `"GET" "x"`) + at(10, two, `"INCR" "n"`) + at(11, two, `"GET" "x"`), ""},
		{"what it made itself", at(0, one, `"GET" "c"`) + at(1, one, `"SETEX" "c" "9" "v"`) + at(2, one, `"GET" "c"`) + at(3, one, `"GET" "d"`), ""},
	} {
		found, err := read(t, c.text).Trace(t.Context(), logs.Options{})
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %q", c.name, found.Header.Log.Key)
			}
			continue
		}
		if err != nil || found.Header.Log.Key != c.want {
			t.Errorf("%s: %v %v, want %s", c.name, found, err, c.want)
		}
	}
}

// A visitor who stops waiting for a log gets it back at once, even in the middle of a
// script.
func TestAScriptOfALogIsEnded(t *testing.T) {
	text := at(0, one, `"SET" "lock" "v1" "NX" "PX" "300"`) + at(1, one, `"EVAL" "while true do end" "1" "lock"`) + at(1, "lua", `"get" "lock"`)
	ctx, end := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { end(enough) })
	if _, err := read(t, text).Trace(ctx, logs.Options{}); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	if have, want := brief(t, read(t, text), logs.Options{}), "! line 2: its script does not end when it runs again"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}

// redisson writes what Redisson's encoder and decoder log.
type redisson struct {
	strings.Builder
	ms int
}

func (r *redisson) send(ch string, args ...string) {
	r.ms += 10
	fmt.Fprintf(r, "2026-11-22 10:00:%02d.%03d TRACE 1 --- [redisson-netty-2-3] o.r.client.handler.CommandEncoder : channel: [id: %s, L:/10.0.0.1:1 - R:redis/10.0.0.2:6379] message: *%d\r\n", r.ms/1000, r.ms%1000, ch, len(args))
	for _, a := range args {
		fmt.Fprintf(r, "$%d\r\n%s\r\n", len(a), a)
	}
	r.WriteString("\n2026-11-22 10:00:00.000 DEBUG something else\n")
}

func (r *redisson) reply(ch, raw string) {
	fmt.Fprintf(r, "2026-11-22 10:00:%02d.%03d TRACE 1 --- [redisson-netty-2-3] o.r.client.handler.CommandDecoder : reply: %s, channel: [id: %s, L:/10.0.0.1:1 - R:redis/10.0.0.2:6379], command: CommandData [command=(EVAL)]\n", r.ms/1000, r.ms%1000, raw, ch)
}

func TestRedissonsTrace(t *testing.T) {
	const enter = "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])"
	const leave = "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end redis.call('del', KEYS[1]) return 1"
	var r redisson
	r.WriteString("2026-11-22 09:59:00.000  INFO 1 --- [main] Application : started\n")
	r.send("0x01", "AUTH", "secret-1")
	r.reply("0x01", "+OK\r\n")
	r.send("0x0a", "EVAL", enter, "1", "lock", "50", "p:1")
	r.reply("0x0a", "$-1\r\n")
	r.send("0x0b", "EVAL", enter, "1", "lock", "50", "p:2")
	r.reply("0x0b", ":39\r\n")
	r.ms += 60
	r.send("0x0b", "EVAL", enter, "1", "lock", "50", "p:2")
	r.reply("0x0b", "$-1\r\n")
	r.send("0x0a", "EVAL", leave, "1", "lock", "50", "p:1")
	r.reply("0x0a", "$-1\r\n")
	want := "redisson lock 4 owner A B mutual-exclusion:AB@45 order before"
	for name, text := range map[string]string{"as written": r.String(), "as pasted": strings.ReplaceAll(r.String(), "\r\n", "\n")} {
		l := read(t, text)
		have, want := brief(t, l, logs.Options{}), want
		if name == "as pasted" { // it has the same lines
			have, want = strings.Split(have, "@")[0], strings.Split(want, "@")[0]
		}
		if have != want {
			t.Errorf("%s:\n have %s\n want %s", name, have, want)
		}
	}
	// An answer says that the key stood before the log began: nothing was taken.
	var held redisson
	held.send("0x0a", "EVAL", enter, "1", "lock", "50", "p:1")
	held.reply("0x0a", ":4711\r\n")
	if have := brief(t, read(t, held.String()), logs.Options{}); have != "redisson lock 1 value A order before other=1" {
		t.Errorf("held before: %s", have)
	}
}

// Where lines have no instants, an answer tells that time has passed.
func TestAnswersTellTime(t *testing.T) {
	var r redisson
	r.send("0x0a", "SET", "lock", "a", "NX", "PX", "500")
	r.reply("0x0a", "+OK")
	r.send("0x0a", "SET", "lock", "b", "NX", "PX", "500")
	r.reply("0x0a", "+OK")
	text := regexp.MustCompile(`(?m)^\S+ \S+ TRACE`).ReplaceAllString(r.String(), "TRACE")
	found, err := read(t, text).Trace(t.Context(), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	expired := slices.IndexFunc(found.Events, func(e trace.Event) bool { return e.Kind() == trace.KindExpired })
	if expired < 0 || found.Events[expired].At != 500 || !slices.ContainsFunc(found.Header.Log.Notes, func(n trace.LogNote) bool { return n.What == trace.NoteInstants }) {
		t.Errorf("expired at event %d, notes %+v", expired, found.Header.Log.Notes)
	}
}

func TestSecretsAreNotRead(t *testing.T) {
	lines := at(0, one, `"AUTH" "s3cret"`) + at(0, one, `"AUTH" "user" "s3cret"`) + at(0, one, `"HELLO" "3" "AUTH" "user" "s3cret" "SETNAME" "x"`) + at(0, one, `"CONFIG" "SET" "requirepass" "s3cret"`) +
		at(0, one, `"ACL" "SETUSER" "bob" "on" ">s3cret"`) + at(0, one, `"MIGRATE" "h" "1" "lock" "0" "9" "AUTH" "s3cret"`) + at(0, one, `"MIGRATE" "h" "1" "lock" "0" "9" "AUTH2" "u" "s3cret"`) + at(1, one, `"SET" "lock" "v" "NX"`)
	l := read(t, lines)
	if all := fmt.Sprintf("%+v", l.Entries); strings.Contains(all, "s3cret") || strings.Count(all, logs.Redacted) < 9 {
		t.Error(all)
	}
	found, err := l.Trace(t.Context(), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := trace.Write(&b, found.Header, found.Events); err != nil || strings.Contains(b.String(), "s3cret") {
		t.Error(b.String(), err)
	}
	_, err = logs.Read(t.Context(), strings.NewReader(lines+"1700000000.000000 [0 x] \"AUTH\" \"s3cret\n"))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestBadLines(t *testing.T) {
	good := at(0, one, `"SET" "lock" "v" "NX"`)
	for text, line := range map[string]int{
		"hello\n": 1, "\n\nhello\n": 3, good + "1700000000.1 [0 x] \"GET\"\n": 2, good + at(0, one, `"GET" "lock`): 2, good + at(0, one, `GET lock`): 2,
		good + at(0, one, `""`): 2, good + strings.Replace(good, "[0 ", "[x ", 1): 2, "\x00\x01\x02": 1, "{\"a\":1}\n": 1,
		"127.0.0.1:6379> SET lock v NX\nOK\n": 1,
		strings.Repeat("x", 2<<20):            1, good + "\n" + strings.Replace(good, `" "`, `""`, 1): 3,
		"x channel: [id: 0x01, L:/1 - R:2] message: *2\n$4\nPING\n$9\nab\nmore\nmore\nmore\n": 1,
	} {
		_, err := logs.Read(t.Context(), strings.NewReader(text))
		var bad *logs.LineError
		if !errors.As(err, &bad) || bad.Line != line || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, want line %d", text, err, line)
		}
	}
	for _, text := range []string{"OK\n", "OK\n\n"} {
		if _, err := logs.Read(t.Context(), strings.NewReader(text)); err == nil || err.Error() != "the log has no command" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// tenThousand is a log of many lines, of two locks and twenty clients.
func tenThousand() string {
	var b strings.Builder
	const enter = `"EVAL" "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])" "1" "lock" "30000" "p:%d"`
	const leave = `"EVAL" "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end redis.call('del', KEYS[1]) return 1" "1" "lock" "p:%d"`
	n := 0
	line := func(client, rest string) {
		fmt.Fprintf(&b, "%d.%06d [0 %s] %s\n", 1700000000+n/1000, n%1000*1000, client, rest)
		n++
	}
	for i := 0; n < 10_000; i++ {
		me := i % 20
		client := fmt.Sprintf("10.0.0.1:%d", 5000+me)
		line(client, fmt.Sprintf(enter, me))
		line("lua", `"exists" "lock"`)
		line("lua", fmt.Sprintf(`"hincrby" "lock" "p:%d" "1"`, me))
		line("lua", `"pexpire" "lock" "30000"`)
		line("10.0.0.1:4000", fmt.Sprintf(`"SET" "other" "v%d" "NX" "PX" "5"`, i))
		line(client, fmt.Sprintf(leave, me))
		line("lua", fmt.Sprintf(`"hexists" "lock" "p:%d"`, me))
		line("lua", `"del" "lock"`)
	}
	return b.String()
}

func TestTenThousandLines(t *testing.T) {
	text := tenThousand()
	began := time.Now()
	have := brief(t, read(t, text), logs.Options{})
	took := time.Since(began)
	if !strings.HasPrefix(have, "monitor lock 2500 owner A B C") || strings.Contains(have, "mutual-exclusion") {
		t.Error(have)
	}
	if took > time.Minute { // it takes one; others may want the processor
		t.Errorf("it took %v", took)
	}
	t.Logf("it took %v", took)
	have = brief(t, read(t, text), logs.Options{Key: "other"})
	if !strings.HasPrefix(have, "monitor other 1250 value A") {
		t.Error(have)
	}
}

func BenchmarkTenThousandLines(b *testing.B) {
	text := tenThousand()
	for b.Loop() {
		l := read(b, text)
		if _, err := l.Trace(b.Context(), logs.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Any file is either read or refused with one sentence, and nothing panics.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	servers, _ := filepath.Glob("testdata/servers/*")
	unread, _ := filepath.Glob("testdata/unread/*")
	for _, name := range slices.Concat(files, servers, unread) {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(data[:min(len(data), 2000)])
		}
	}
	var r redisson
	r.send("0x0a", "EVAL", "return redis.call('set', KEYS[1], ARGV[1], 'NX')", "1", "lock", "v")
	r.reply("0x0a", "*2\r\n+OK\r\n$-1\r\n")
	f.Add([]byte(r.String()))
	f.Add([]byte(spansOf(
		span(0, 5, "lock", "acquired", "p:1", with{"relock.lease_ms": 50}), span(1, 2, "lock", "refused", "p:2", nil), span(3, 9, "lock", "error", "p:2", nil),
		span(60, 61, "unlock", "lost", "p:1", nil),
	)))
	f.Add([]byte(spansOf(ran(span(0, 0, "lock", "acquired", "v", nil), "SET lock v NX PX 50", "OK"))))
	f.Add([]byte(spansOf(ran(span(0, 0, "lock", "acquired", "v", nil), "SET k 'v' NX", "1) 1) (nil)\n   2) \"a\"\n2) (empty array)"))))
	f.Add([]byte("# two containers\n\nr-1 | " + at(0, one, `"SET" "lock" "v" "NX" "PX" "30"`) + "[pod/r-2/x] 2026-01-01T00:00:00.1Z " + at(1, one, `"SET" "lock" "v" "NX" "PX" "30"`) + "app | ready\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(strings.ToLower(string(data)), "while") {
			return // a script that does not end is refused, after a while
		}
		half := bytes.LastIndexByte(data[:len(data)/2], '\n') + 1
		two, err := logs.ReadFiles(t.Context(), []logs.File{{Name: "a", Reader: bytes.NewReader(data[:half])}, {Name: "b", Reader: bytes.NewReader(data[half:])}})
		if err == nil {
			_ = judged(t, two, logs.Options{Nodes: 3})
		}
		l, err := logs.Read(t.Context(), bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one sentence: %q", err)
			}
			return
		}
		for _, e := range l.Entries {
			if len(e.Args) == 0 || e.Args[0] == "" {
				t.Fatal("a command without a name")
			}
		}
		found, err := l.Trace(t.Context(), logs.Options{})
		if err != nil {
			return
		}
		names := []string{}
		for _, one := range found.Scenario.Threads {
			names = append(names, one.Name)
		}
		if err := trace.Check(found.Header, found.Events, names); err != nil {
			t.Errorf("its trace is refused: %v", err)
		}
	})
}

// Logs as shells, clusters and binary clients make them.
func TestOddLogs(t *testing.T) {
	take := func(key, value string) string { return at(0, one, `"SET" "`+key+`" "`+value+`" "NX" "PX" "300"`) }
	plain := take("lock", "v") + at(9, one, `"DEL" "lock"`)
	wide := []byte("\xff\xfe")
	for _, c := range []byte(plain) {
		wide = append(wide, c, 0)
	}
	const fine = "monitor lock 2 value A replies names before"
	for name, c := range map[string]struct{ log, want string }{
		"carriage returns":     {strings.ReplaceAll(plain, "\n", "\r\n"), fine},
		"UTF-16":               {string(wide), fine},
		"a hash tag":           {strings.ReplaceAll(plain, "lock", "{a b}:lock"), strings.Replace(fine, "lock", "{a b}:lock", 1)},
		"a key that is bytes":  {strings.ReplaceAll(plain, "lock", `l\xff\x1b[31m`), strings.Replace(fine, "lock", `l\xff\x1b[31m`, 1)},
		"raw bytes":            {strings.ReplaceAll(plain, `"v"`, "\"\x80\x1b\""), fine},
		"another among Lua's":  {take("lock", "v") + at(5, one, `"EVALSHA" "abc" "1" "lock" "v"`) + at(5, two, `"PING"`) + at(5, "lua", `"del" "lock"`), fine},
		"a socket of its own":  {strings.ReplaceAll(plain, one, "unix:/run/my redis.sock"), fine},
		"a command without it": {"channel: [id: 0x0] message: *1\n$4\nEVAL\n", "! no command of the log takes a lock (SET … NX, SETNX, HINCRBY, or a script that writes its first key); name the lock's key with -key"},
	} {
		if have := brief(t, read(t, c.log), logs.Options{}); have != c.want {
			t.Errorf("%s:\n have %s\n want %s", name, have, c.want)
		}
	}
	found, err := read(t, strings.ReplaceAll(plain, `"v"`, `"\x1b[31m"`)).Trace(t.Context(), logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if have := found.Header.Log.Threads[0].Owners[0]; have != `\x1b[31m` {
		t.Errorf("a terminal obeys %q", have)
	}
	if _, err := logs.Read(t.Context(), strings.NewReader(" \n")); err == nil || err.Error() != "the log is empty" {
		t.Errorf("an empty log: %v", err)
	}
}

// A mark names no lock: it is of the one that its connection has named last.
func TestMarksOfTwoLocks(t *testing.T) {
	enter, leave := `"ECHO" "relock:enter"`, `"ECHO" "relock:leave"`
	text := at(1, one, `"SET" "a" "v1" "NX" "PX" "3000"`) + at(2, one, enter) + at(3, two, `"SET" "b" "v2" "NX" "PX" "3000"`) + at(4, two, enter) +
		at(5, two, leave) + at(6, one, leave) + at(7, one, `"DEL" "a"`) + at(8, two, `"DEL" "b"`) + at(9, "127.0.0.1:5003", enter)
	for _, key := range []string{"a", "b"} {
		found, err := read(t, text).Trace(t.Context(), logs.Options{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Broken) > 0 || len(found.Scenario.Threads) != 1 || found.Header.Log.By != trace.ByMarks {
			t.Errorf("%s: %d threads, by %s, broken: %v", key, len(found.Scenario.Threads), found.Header.Log.By, found.Broken)
		}
	}
}

// A line of "lua" is of the script that runs: the last one, right behind it, or soon after it where
// what others are refused stands between. Any other is a command by itself.
func TestWhichScriptALineIsOf(t *testing.T) {
	script, other, del := at(1000, one, `"EVALSHA" "abc" "1" "lock" "v"`), at(1001, two, `"PING"`), `"del" "lock"`
	for _, c := range []struct {
		name, text string
		entries    int
		inner      []int // how many commands each entry's script has run
	}{
		{"right behind it", script + at(1001, "lua", del), 1, []int{1}},
		{"right behind it, while it takes long", script + at(9000, "lua", del), 1, []int{1}},
		{"behind another's", script + other + at(1002, "lua", del), 2, []int{1, 0}},
		{"just within a second", script + other + at(1999, "lua", del), 2, []int{1, 0}},
		{"a second later", script + other + at(2000, "lua", del), 3, []int{0, 0, 0}},
		{"before it", script + other + at(999, "lua", del), 3, []int{0, 0, 0}},
		{"of the second script", script + at(1001, two, `"EVALSHA" "abc" "1" "lock" "w"`) + at(1002, "lua", del), 2, []int{0, 1}},
		{"before any script", at(999, "lua", del) + script, 2, []int{0, 0}},
	} {
		l := read(t, c.text)
		var inner []int
		for _, e := range l.Entries {
			inner = append(inner, len(e.Inner))
		}
		if !slices.Equal(inner, c.inner) || len(l.Entries) != c.entries {
			t.Errorf("%s: the entries have run %v, want %v", c.name, inner, c.inner)
		}
	}
}

// A lease ends at its instant, whenever the next command comes, and never before it was set; a
// renewal moves it.
func TestALeaseEndsAtItsInstant(t *testing.T) {
	set := at(100, one, `"SET" "lock" "v1" "NX" "PX" "300"`)
	for _, c := range []struct {
		name, text string
		ends       []trace.Millis // since the first command
	}{
		{"long before the next command", set + at(900, two, `"GET" "lock"`), []trace.Millis{300}},
		{"just before it", set + at(401, two, `"GET" "lock"`), []trace.Millis{300}},
		{"at it", set + at(400, two, `"GET" "lock"`), []trace.Millis{300}},
		{"not yet", set + at(399, two, `"GET" "lock"`), nil},
		{"renewed", set + at(300, one, `"PEXPIRE" "lock" "300"`) + at(900, two, `"GET" "lock"`), []trace.Millis{500}},
		{"deleted", set + at(300, one, `"DEL" "lock"`) + at(900, two, `"GET" "lock"`), nil},
		{"twice", set + at(500, two, `"SET" "lock" "v2" "NX" "PX" "100"`) + at(900, one, `"GET" "lock"`), []trace.Millis{300, 500}},
	} {
		found, err := read(t, c.text).Trace(t.Context(), logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var ends []trace.Millis
		for _, e := range found.Events {
			if x, is := e.Body.(trace.Expired); is {
				ends = append(ends, e.At)
				if !x.Was.Exists() || e.Key.Exists() {
					t.Errorf("%s: %+v has ended, and the key is %+v", c.name, x.Was, e.Key)
				}
			}
		}
		if !slices.Equal(ends, c.ends) {
			t.Errorf("%s: leases end at %v, want %v", c.name, ends, c.ends)
		}
	}
}

// Locks that threads take in a circle are read as one: each has one, and comes to another's.
// Locks that are taken in one order, or one after the other, are read alone.
func TestLocksInACircleAreReadTogether(t *testing.T) {
	take := func(ms int, who, key, owner string) string {
		return at(ms, who, `"SET" "`+key+`" "`+owner+`" "NX" "PX" "400"`)
	}
	give := func(ms int, who string, keys ...string) string {
		return at(ms, who, `"DEL" "`+strings.Join(keys, `" "`)+`"`)
	}
	const three = "127.0.0.1:53470"
	circle := take(0, one, "k1", "A") + take(1, two, "k2", "B")
	for _, c := range []struct {
		name, text string
		keys       string
		broken     []string
	}{
		{
			"two", circle + take(10, one, "k2", "A") + take(11, two, "k1", "B") + take(20, one, "k2", "A") + take(21, two, "k1", "B") + give(30, one, "k1") + give(31, two, "k2"),
			"k1,k2",
			[]string{check.Deadlock},
		},
		{
			"three", circle + take(2, three, "k3", "C") + take(10, one, "k2", "A") + take(11, two, "k3", "B") + take(12, three, "k1", "C") +
				take(20, one, "k2", "A") + take(21, two, "k3", "B") + take(22, three, "k1", "C") + give(30, one, "k1"),
			"k1,k2,k3",
			[]string{check.Deadlock},
		},
		{
			"one order", take(0, one, "k1", "A") + take(1, one, "k2", "A") + take(2, two, "k1", "B") + give(10, one, "k2", "k1") + take(11, two, "k1", "B") + take(12, two, "k2", "B") + give(20, two, "k2", "k1"),
			"k1", nil,
		},
		{
			"nobody has two", take(0, one, "k1", "A") + take(1, two, "k1", "B") + give(2, one, "k1") + take(10, two, "k2", "B") + take(11, one, "k2", "A") + give(12, two, "k2") + take(20, two, "k1", "B") + give(21, two, "k1"),
			"k1", nil,
		},
	} {
		found, err := read(t, c.text).Trace(t.Context(), logs.Options{})
		if err != nil || found.Header.Log.Key != c.keys || !slices.Equal(found.Broken, c.broken) {
			t.Errorf("%s: %v, %+v, want %s %v", c.name, err, found, c.keys, c.broken)
		}
	}
}
