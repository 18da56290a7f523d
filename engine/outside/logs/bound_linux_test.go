package logs_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"relock/engine/bound"
	"relock/engine/bound/boundtest"
	"relock/engine/outside/logs"
)

// many repeats a line for n commands, each with its number.
func many(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

// large are logs of a size, each of a kind that could cost more than it has bytes.
func large() map[string]func(n int) string {
	told := func(answer string) string {
		return spansOf(ran(span(0, 1, "lock", "acquired", "p:1", nil), "SET lock v NX PX 50", "OK", "LRANGE l 0 -1", answer))
	}
	return map[string]func(n int) string{
		"monitor, one key": func(n int) string {
			return many(n, func(i int) string {
				return at(2*i, one, `"SET" "lock" "v" "NX" "PX" "300"`) + at(2*i+1, one, `"DEL" "lock"`)
			})
		},
		"monitor, a key each": func(n int) string {
			return many(2*n, func(i int) string { return at(i, one, fmt.Sprintf(`"SET" "lock%d" "v" "NX" "PX" "300"`, i)) })
		},
		"monitor, a connection each": func(n int) string {
			return many(n, func(i int) string {
				return at(i, fmt.Sprintf("10.0.%d.%d:1", i/250, i%250), fmt.Sprintf(`"SET" "lock" "v%d" "NX" "PX" "300"`, i))
			})
		},
		"monitor, many keys in a command": func(n int) string {
			return at(0, one, `"SET" "lock" "v" "NX" "PX" "300"`) + at(1, one, `"DEL" "lock"`+many(min(40*n, 60_000), func(i int) string { return fmt.Sprintf(` "k%d"`, i) }))
		},
		"monitor, scripts": func(n int) string {
			return many(n, func(i int) string {
				return at(2*i, one, `"EVAL" "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 300)" "1" "lock" "v"`) +
					at(2*i, "lua", `"set" "lock" "v" "NX" "PX" "300"`) + at(2*i+1, one, `"DEL" "lock"`)
			})
		},
		"spans, a long list": func(n int) string {
			return told(many(8*n, func(i int) string { return fmt.Sprintf("%4d) \"a\"\n", i+1) }))
		},
		"spans, lists in a list": func(n int) string {
			return told(many(4*n, func(i int) string {
				return fmt.Sprintf("%4d) 1) 1) 1) 1) \"a\"\n               2) \"b\"\n", i+1)
			}))
		},
		"spans, deep answers": func(n int) string {
			return many(n/4, func(int) string { return told(strings.Repeat("1) ", bound.Depth) + "\"a\"") })
		},
		"redisson": func(n int) string {
			var r redisson
			for range n {
				r.send("0x0a", "SET", "lock", "v", "NX")
				r.reply("0x0a", "+OK")
				r.send("0x0a", "DEL", "lock")
				r.reply("0x0a", ":1")
			}
			return r.String()
		},
		"spans": func(n int) string {
			var spans []object
			for i := range n {
				spans = append(spans, span(4*i, 4*i+1, "lock", "acquired", "p:1", with{"relock.lease_ms": 50}), span(4*i+2, 4*i+3, "unlock", "released", "p:1", nil))
			}
			return spansOf(spans...)
		},
	}
}

func TestGrowthOfReadingALog(t *testing.T) {
	const size = 150 // commands or so: half a million bytes at eight times as many would take a minute in all
	for name, log := range large() {
		t.Run(name, func(t *testing.T) {
			boundtest.Linear(t, func(times int) func() {
				text := log(size * times)
				return func() {
					l := read(t, text)
					if _, err := l.Trace(t.Context(), logs.Options{NoScripts: true}); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// Lists within lists are read as deep as a bound says, whatever the log's length.
func TestDeepAnswersAreRefused(t *testing.T) {
	nested := func(depth int) string {
		return spansOf(ran(span(0, 0, "lock", "acquired", "v", nil), "LRANGE lock 0 -1", strings.Repeat("1) ", depth)+"\"a\""))
	}
	l := read(t, nested(bound.Depth))
	reply := l.Entries[0].Reply
	for range bound.Depth {
		if list, ok := reply.Value.([]any); ok && len(list) == 1 {
			reply = &logs.Reply{Value: list[0]}
		}
	}
	if reply.Value != "a" {
		t.Errorf("at the bound: %v", reply.Value)
	}
	for _, depth := range []int{bound.Depth + 1, 340_000} {
		_, err := logs.Read(t.Context(), strings.NewReader(nested(depth)))
		want := "line 1: the answer to it has lists within lists, more than 100 deep; allowed: 100"
		if err == nil || err.Error() != want {
			t.Errorf("%d deep: %v, want %s", depth, err, want)
		}
	}
}

// A few bytes can name a huge number: it costs no more than they do.
func TestHugeNumbersCostNothing(t *testing.T) {
	for name, line := range map[string]string{
		"levels":          `"HINCRBY" "lock" "A" "9000000000000"`,
		"a string's end":  `"SETRANGE" "lock" "500000000" "x"`,
		"a bit":           `"SETBIT" "lock" "4294967295" "1"`,
		"a field of bits": `"BITFIELD" "lock" "SET" "u8" "4294967288" "1"`,
		"random members":  `"SRANDMEMBER" "lock" "-9223372036854775808"`,
		"random fields":   `"HRANDFIELD" "lock" "-9223372036854775808" "WITHVALUES"`,
		"random scores":   `"ZRANDMEMBER" "lock" "-9223372036854775808"`,
		"a range":         `"LRANGE" "lock" "-9223372036854775808" "9223372036854775807"`,
		"a cut":           `"LTRIM" "lock" "-9223372036854775808" "9223372036854775807"`,
		"pops":            `"SPOP" "lock" "9223372036854775807"`,
		"an expiry":       `"PEXPIRE" "lock" "9223372036854775807"`,
		"a negative one":  `"EXPIREAT" "lock" "-9223372036854775808"`,
		"bits counted":    `"BITPOS" "lock" "1" "-9223372036854775808" "9223372036854775807"`,
	} {
		t.Run(name, func(t *testing.T) {
			text := at(0, one, `"SET" "lock" "v" "NX" "PX" "300"`) + at(1, one, line)
			for i, make := range []string{`"SADD" "lock" "a"`, `"HSET" "lock" "a" "1"`, `"ZADD" "lock" "1" "a"`, `"RPUSH" "lock" "a"`} {
				text += at(2+4*i, one, `"DEL" "lock"`) + at(3+4*i, one, make) + at(4+4*i, one, line)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := read(t, text).Trace(t.Context(), logs.Options{Key: "lock", NoScripts: true}); err != nil {
				t.Fatal(err)
			}
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16<<20 {
				t.Errorf("%d bytes took %d MB", len(text), (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		})
	}
}

// A few bytes can ask for the same long answer again and again.
func TestATraceThatWouldGrowWithoutEnd(t *testing.T) {
	text := at(0, one, `"RPUSH" "lock"`+strings.Repeat(` "x"`, 20_000)) + strings.Repeat(at(1, one, `"LRANGE" "lock" "0" "-1"`), 400)
	_, err := read(t, text).Trace(t.Context(), logs.Options{Key: "lock", NoScripts: true})
	if !errors.Is(err, bound.ErrHeld) {
		t.Errorf("%v, want %v", err, bound.ErrHeld)
	}
}

// left is a context that ends when it has been looked at so often.
type left struct {
	context.Context
	looks, after int
}

func (l *left) Err() error {
	if l.looks++; l.looks > l.after {
		return context.Canceled
	}
	return nil
}

// A visitor who waits for a log can leave at any line: nothing goes on for long without a
// check.
func TestReadingEndsWithItsContext(t *testing.T) {
	for name, log := range large() {
		text := log(200)
		whole := &left{t.Context(), 0, 1 << 30}
		l, err := logs.Read(whole, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		reading := whole.looks
		if _, err := l.Trace(whole, logs.Options{NoScripts: true}); err != nil {
			t.Fatal(err)
		}
		for _, after := range []int{0, reading / 2, reading - 1} {
			if _, err := logs.Read(&left{t.Context(), 0, after}, strings.NewReader(text)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: after %d of %d looks while it is read: %v", name, after, reading, err)
			}
		}
		tracing := whole.looks - reading
		for _, after := range []int{0, tracing / 2, tracing - 1} {
			if _, err := l.Trace(&left{t.Context(), 0, after}, logs.Options{NoScripts: true}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: after %d of %d looks while it is traced: %v", name, after, tracing, err)
			}
		}
	}
}
