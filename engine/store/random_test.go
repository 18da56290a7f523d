package store_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/store"
	"relock/engine/store/storetest"
)

// How many are drawn.
const (
	sequencesDrawn = 5000
	scriptsDrawn   = 5000
)

// known is a difference that is left, and so is not looked at where it is met at
// random. DIFFERENCES.md lists them under the mark "left".
type known struct {
	name    string // what differs
	example string // a line of commands.txt, which shows it
	// is reports whether answers to a command can differ by it.
	is func(command []string, embedded, real string) bool
	// leaves says that it leaves other keys, too.
	leaves bool
}

var left = []known{
	{name: "the order of a hash's fields", example: "HKEYS k ; HSET k b 1 a 2 ; HKEYS k", is: func(c []string, embedded, real string) bool {
		return names(c, "HKEYS", "HVALS", "HGETALL", "EXEC") && slices.Equal(parts(embedded), parts(real))
	}},
	{name: "a lease of more than 292 years, which is one of 292 years", example: "SET k a EXAT 33000000000 ; EXPIRETIME k", is: func(_ []string, embedded, real string) bool {
		a, b := numeral.FindAllString(embedded, -1), numeral.FindAllString(real, -1)
		for i := range min(len(a), len(b)) {
			x, _ := strconv.ParseFloat(a[i], 64)
			y, _ := strconv.ParseFloat(b[i], 64)
			if x > 9e9 && y > 10*x {
				return true
			}
		}
		return false
	}},
	{name: "a mistake that Redis does not look at where there is no key", example: "LINDEX k x", is: func(c []string, _, _ string) bool { return names(c, "LINDEX") }},
	{name: "which of two mistakes is told", example: "RPUSH k a ; INCRBYFLOAT k x", is: func(_ []string, embedded, real string) bool {
		return mistakes.ReplaceAllString(embedded, "") == mistakes.ReplaceAllString(real, "")
	}},
	{name: "the digits of a score that is no whole number, but for clients that speak RESP3", example: "EVAL 'redis.call(\"ZADD\", KEYS[1], 0.1, \"a\") return redis.call(\"ZSCORE\", KEYS[1], \"a\")' 1 k", is: func(c []string, embedded, real string) bool {
		return names(c, "ZADD", "ZSCORE", "ZINCRBY", "ZPOPMIN", "EXEC") && strings.ReplaceAll(real, "0.10000000000000001", "0.1") == embedded
	}},
	{name: "a number in hexadecimal that INCRBYFLOAT finds", example: "SET k 0x10 ; INCRBYFLOAT k 1", leaves: true, is: func(c []string, embedded, _ string) bool {
		return names(c, "INCRBYFLOAT", "HINCRBYFLOAT") && mistakes.MatchString(embedded)
	}},
}

// mistakes are errors, and the texts of those that a script has caught.
var mistakes = regexp.MustCompile(`error: \w+|"[A-Z]{3,} [^"]*"`)

// names reports whether a command, or one that it runs, is one of some.
func names(c []string, verbs ...string) bool {
	text := strings.ToUpper(strings.Join(c, " "))
	return slices.ContainsFunc(verbs, func(verb string) bool {
		return regexp.MustCompile(`\b` + verb + `\b`).MatchString(text)
	})
}

// parts are an answer's values, in order.
func parts(answer string) []string {
	list := strings.FieldsFunc(answer, func(r rune) bool { return strings.ContainsRune(" []", r) })
	slices.Sort(list)
	return list
}

var numeral = regexp.MustCompile(`-?\b\d{3,}\b`)

// alike reports whether two answers are the same, or differ only by what is left, and then
// by what. Of an error its code counts. The time left may be that of a moment later.
func alike(c []string, embedded, real string) (alike bool, by *known) {
	if embedded == real {
		return true, nil
	}
	if names(c, "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "EXEC") {
		a, b := numeral.FindAllString(embedded, -1), numeral.FindAllString(real, -1)
		near := len(a) == len(b) && numeral.ReplaceAllString(embedded, "") == numeral.ReplaceAllString(real, "")
		for i := range a {
			if near {
				x, _ := strconv.ParseFloat(a[i], 64)
				y, _ := strconv.ParseFloat(b[i], 64)
				near = math.Abs(x-y) < 100_000
			}
		}
		if near {
			return true, nil
		}
	}
	if names(c, "SMEMBERS", "EXEC") && slices.Equal(parts(embedded), parts(real)) { // a set has no order
		return true, nil
	}
	at := slices.IndexFunc(left, func(k known) bool { return k.is(c, embedded, real) })
	if at < 0 {
		return false, nil
	}
	return true, &left[at]
}

// brief is an answer in one line, with the codes of its errors alone.
func brief(v any, err error) string {
	if list, ok := v.([]any); ok && err == nil {
		parts := make([]string, len(list))
		for i, one := range list {
			failed, _ := one.(error)
			parts[i] = brief(one, failed)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	if answer := answered(v, err); code(answer) != "" {
		return "error: " + code(answer)
	} else {
		return answer
	}
}

// pair is two connections that are told the same.
type pair struct {
	t *testing.T
	b *both
	c [2]*redis.Conn
}

func newPair(t *testing.T) *pair {
	t.Helper()
	b := newBoth(t, storetest.Start(t).Addr, 0)
	p := &pair{t: t, b: b}
	for i, c := range b.clients {
		p.c[i] = c.(*redis.Client).Conn()
		t.Cleanup(func() { _ = p.c[i].Close() })
	}
	return p
}

// differ returns how the two differ in what they answer to commands, given to empty
// ones at once, and in what these leave; or "".
func (p *pair) differ(commands [][]string) string {
	p.t.Helper()
	p.b.embedded.SetTime(time.Now())
	for _, c := range p.c {
		c.Do(p.t.Context(), "DISCARD") // what has begun before
	}
	p.b.empty()
	var answers [2][]string
	for i, c := range p.c {
		pipe := c.Pipeline()
		cmds := make([]*redis.Cmd, len(commands))
		for n, words := range commands {
			args := make([]any, len(words))
			for k, w := range words {
				args[k] = w
			}
			cmds[n] = pipe.Do(p.t.Context(), args...)
		}
		if _, err := pipe.Exec(p.t.Context()); err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, new(redis.Error)) {
			p.t.Fatalf("%s: %v", lineOf(commands), err)
		}
		for _, cmd := range cmds {
			answers[i] = append(answers[i], brief(cmd.Result()))
		}
	}
	for n, c := range commands {
		a, b := answers[0][n], answers[1][n]
		same, by := alike(c, a, b)
		if by != nil && by.leaves {
			return "" // from here on they go apart
		}
		if !same {
			return fmt.Sprintf("%s\n  %s\n  embedded %s\n  Redis    %s", lineOf(commands), lineOf(commands[n:n+1]), a, b)
		}
	}
	if held := p.b.hold(); held[0] != held[1] {
		return fmt.Sprintf("%s\n  embedded leaves %s\n  Redis leaves    %s", lineOf(commands), held[0], held[1])
	}
	return ""
}

// lineOf writes commands as commands.txt has them.
func lineOf(commands [][]string) string {
	list := make([]string, len(commands))
	for i, c := range commands {
		words := make([]string, len(c))
		for n, w := range c {
			if words[n] = w; w == "" || strings.ContainsAny(w, " \n;") {
				words[n] = "'" + w + "'"
			}
		}
		list[i] = strings.Join(words, " ")
	}
	return strings.Join(list, " ; ")
}

// least returns as few of the commands as still differ, and how.
func (p *pair) least(commands [][]string) string {
	how := p.differ(commands)
	for n := len(commands) - 1; n >= 0; n-- {
		fewer := slices.Delete(slices.Clone(commands), n, n+1)
		if still := p.differ(fewer); still != "" {
			commands, how = fewer, still
		}
	}
	return how
}

// drawn is how many of so many are drawn: a tenth in a short test.
func drawn(n int) uint64 {
	if testing.Short() {
		n /= 10
	}
	return uint64(n)
}

// What is left is listed for readers, with lines that show it in the table or below it.
func TestWhatIsLeftIsListed(t *testing.T) {
	list := ""
	for _, k := range left {
		list += fmt.Sprintf("- %s: `%s`\n", k.name, k.example)
		if !slices.Contains(lines(), k.example) {
			t.Errorf("commands.txt lacks %s", k.example)
		}
		_, shown, _ := strings.Cut(store.Differences(), "<!-- answers -->")
		shown, _, _ = strings.Cut(shown, "<!-- left -->")
		if !strings.Contains(shown, "`"+k.example+"`") {
			t.Errorf("both answer alike to %s", k.example)
		}
	}
	want := between(t, store.Differences(), "left", list)
	if *update {
		if err := os.WriteFile("DIFFERENCES.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != store.Differences() {
		t.Error(firstDifference(store.Differences(), want))
	}
}

// Commands at random are answered alike, alone, in transactions and from scripts, but for
// the differences that are left.
func TestRandomCommandsAreAnsweredAlike(t *testing.T) {
	p := newPair(t)
	found := 0
	for seed := range drawn(sequencesDrawn) {
		commands := drawing(seed, time.Now()).sequence()
		if p.differ(commands) == "" {
			continue
		}
		t.Errorf("seed %d: %s", seed, p.least(commands))
		if found++; found == 20 {
			t.Fatal("and so on")
		}
	}
}

// Scripts at random come to the same, but for the differences that are left.
func TestRandomScriptsComeToTheSame(t *testing.T) {
	p := newPair(t)
	found, failed := 0, 0
	for seed := range drawn(scriptsDrawn) {
		d := drawing(seed, time.Now())
		commands := d.sequence()[:2]
		script := []string{"EVAL", d.script(), "2", "k", "l", "a", "2", "x:1", "10"}
		commands = append(slices.DeleteFunc(commands, func(c []string) bool { return c[0] == "MULTI" || c[0] == "EXEC" }), script, []string{"GET", "k"})
		if how := p.differ(commands); how != "" {
			t.Errorf("seed %d: %s", seed, how)
			if found++; found == 20 {
				t.Fatal("and so on")
			}
		}
		if err := p.c[1].Do(t.Context(), "EVAL", script[1], 2, "k", "l", "a", "2", "x:1", "10").Err(); err != nil && !errors.Is(err, redis.Nil) {
			failed++
		}
	}
	if all := int(drawn(scriptsDrawn)); failed > all/2 {
		t.Errorf("%d of %d scripts end with an error: they show little", failed, all)
	}
}
