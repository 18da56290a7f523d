package store_test

import (
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/racetest"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
)

var update = flag.Bool("update", false, "write the golden files again")

// commandsToCompare has commands that both stores are sent, beside those of the
// bundled runs.
//
//go:embed testdata/commands.txt
var commandsToCompare string

// today is where the embedded store's clock stands: instants that are past for
// Redis are past for both.
var today = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// both are an embedded store and a real Redis that are told the same.
type both struct {
	t        *testing.T
	embedded *store.Embedded
	clients  [2]redis.UniversalClient // embedded, Redis
}

func newBoth(t *testing.T, addr string, db int) *both {
	t.Helper()
	b := &both{t: t, embedded: store.NewEmbedded(today)}
	real := redis.NewClient(&redis.Options{Addr: addr, DB: db, MaxRetries: -1, DisableIdentity: true})
	b.clients = [2]redis.UniversalClient{b.embedded.Client(), real}
	t.Cleanup(func() { _ = errors.Join(real.Close(), b.embedded.Close()) })
	b.empty()
	return b
}

// empty leaves no key and no script.
func (b *both) empty() {
	b.t.Helper()
	for _, c := range b.clients {
		if err := errors.Join(c.FlushDB(b.t.Context()).Err(), c.ScriptFlush(b.t.Context()).Err()); err != nil {
			b.t.Fatal(err)
		}
	}
}

// send returns what each store answers to a command.
func (b *both) send(args []string) (answers [2]string) {
	words := make([]any, len(args))
	for i, a := range args {
		words[i] = a
	}
	for i, c := range b.clients {
		answers[i] = answered(c.Do(b.t.Context(), words...).Result())
	}
	return answers
}

// answered is an answer in one line.
func answered(v any, err error) string {
	switch {
	case errors.Is(err, redis.Nil):
		return "nil"
	case err != nil:
		return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	switch v := v.(type) {
	case []any:
		list := make([]string, len(v))
		for i, one := range v {
			list[i] = answered(one, nil)
			if err, ok := one.(error); ok {
				list[i] = answered(nil, err)
			}
		}
		return "[" + strings.Join(list, " ") + "]"
	case map[any]any:
		list := map[string]string{}
		for key, one := range v {
			list[answered(key, nil)] = answered(one, nil)
		}
		return fmt.Sprint(list)
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// hold returns what each store holds: all keys with types, contents, and whether
// they expire.
func (b *both) hold() (contents [2]string) {
	b.t.Helper()
	ctx := b.t.Context()
	for i, c := range b.clients {
		names, err := c.Keys(ctx, "*").Result()
		if err != nil {
			b.t.Fatal(err)
		}
		slices.Sort(names)
		for _, name := range names {
			kind, content := c.Type(ctx, name).Val(), any(nil)
			switch kind {
			case "string":
				content = c.Get(ctx, name).Val()
			case "hash":
				content = c.HGetAll(ctx, name).Val()
			case "list":
				content = c.LRange(ctx, name, 0, -1).Val()
			case "set":
				members := c.SMembers(ctx, name).Val()
				slices.Sort(members)
				content = members
			case "zset":
				var list []string
				for _, z := range c.ZRangeWithScores(ctx, name, 0, -1).Val() {
					list = append(list, fmt.Sprint(z.Member, " ", z.Score))
				}
				content = list
			}
			if contents[i] != "" {
				contents[i] += ", "
			}
			contents[i] += fmt.Sprintf("%s %s %q", kind, name, content)
			if c.Do(ctx, "PTTL", name).Val().(int64) > 0 {
				contents[i] += " that expires"
			}
		}
	}
	return contents
}

// story sends commands to empty stores, and returns what the first of them comes to
// that is not answered alike, or does not leave the same keys.
func (b *both) story(commands [][]string) (says [2]string, differ bool) {
	b.t.Helper()
	b.empty()
	for _, c := range commands {
		answers, held := b.send(c), b.hold()
		if c[0] == "PTTL" && answers[0] > "0" && answers[1] > "0" { // one clock goes on
			answers[1] = answers[0]
		}
		if answers == [2]string{answers[0], answers[0]} && held == [2]string{held[0], held[0]} {
			continue
		}
		for i := range says {
			says[i] = plain(answers[i])
			if held[0] != held[1] {
				says[i] += "; then " + cmp.Or(held[i], "no key")
			}
		}
		return says, true
	}
	return says, false
}

// code is what an error begins with, "" of an answer that is none.
func code(answer string) string {
	text, isError := strings.CutPrefix(answer, "error: ")
	if !isError {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	return first
}

// split returns the words of commands that are separated by " ; ".
func split(line string) (commands [][]string) {
	var words []string
	word, quote, in := "", rune(0), false
	end := func() {
		if in {
			words = append(words, word)
		}
		word, in = "", false
	}
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'':
			quote, in = r, true
		case r == ' ':
			if word == ";" {
				commands, words, word, in = append(commands, words), nil, "", false
			}
			end()
		default:
			word, in = word+string(r), true
		}
	}
	return append(commands, words)
}

// plain is an answer as the table has it: of an error, what it says first.
func plain(answer string) string {
	text, isError := strings.CutPrefix(answer, "error: ")
	if !isError {
		return "`" + answer + "`"
	}
	for _, end := range []string{" script: ", " stack traceback", "  syntax error"} {
		text, _, _ = strings.Cut(text, end)
	}
	text = strings.Replace(text, "Error compiling script (new function): ", "", 1)
	return "error: " + strings.TrimSpace(text)
}

// lines are the lines with commands in commandsToCompare.
func lines() []string {
	var list []string
	for line := range strings.Lines(commandsToCompare) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// The table for readers is what both stores answer to these commands: what differs
// is in it, and nothing else is.
func TestDifferencesAreTheTable(t *testing.T) {
	server := storetest.Start(t)
	b := newBoth(t, server.Addr, 0)
	answers, words := lastMillisecond(t, b), ""
	for _, line := range lines() {
		switch says, differ := b.story(split(line)); {
		case !differ:
		case code(says[0]) != "" && code(says[0]) == code(says[1]):
			words += "- `" + line + "`\n"
		default:
			answers += fmt.Sprintf("| `%s` | %s | %s |\n", line, says[0], says[1])
		}
	}
	if len(lines()) < 200 {
		t.Errorf("only %d lines of commands are compared", len(lines()))
	}
	want := between(t, between(t, store.Differences(), "answers", answers), "words", words)
	if *update {
		if err := os.WriteFile("DIFFERENCES.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != store.Differences() {
		info, _ := b.clients[1].Info(t.Context(), "server").Result()
		_, version, _ := strings.Cut(info, "redis_version:")
		version, _, _ = strings.Cut(version, "\r")
		t.Errorf("Redis %s differs from the table (go test ./engine/store -update writes it; look at it):\n%s", version, firstDifference(store.Differences(), want))
	}
}

// between returns text with what stands between two marks replaced.
func between(t *testing.T, text, mark, by string) string {
	t.Helper()
	before, after, found := strings.Cut(text, "<!-- "+mark+" -->\n")
	_, after, ends := strings.Cut(after, "<!-- end -->\n")
	if !found || !ends {
		t.Fatalf("the table has no mark %q", mark)
	}
	return before + "<!-- " + mark + " -->\n" + by + "<!-- end -->\n" + after
}

// firstDifference is the first line in which two texts differ.
func firstDifference(a, b string) string {
	list, other := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(list), len(other)) {
		if i >= len(list) || i >= len(other) || list[i] != other[i] {
			return fmt.Sprintf("in the table: %q\nit is now:    %q", at(list, i), at(other, i))
		}
	}
	return ""
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// lastMillisecond is the row about the end of a lease. The embedded store's clock
// is set to it; by Redis' own clock keys end all the time, one in each millisecond,
// until one is met in its last.
func lastMillisecond(t *testing.T, b *both) string {
	t.Helper()
	ctx, row := t.Context(), [2]string{}
	b.empty()
	embedded, real := b.clients[0], b.clients[1]
	embedded.Set(ctx, "k", "a", 200*time.Millisecond)
	b.embedded.SetTime(today.Add(200 * time.Millisecond))
	row[0] = answered(embedded.Do(ctx, "PTTL", "k").Result()) + ", " + answered(embedded.Do(ctx, "GET", "k").Result())
	b.embedded.SetTime(today)
	const keys = 50
	for tries := 0; row[1] == ""; tries++ {
		if tries == 200 {
			t.Fatal("no key was met in the last millisecond of its lease")
		}
		for i := range keys {
			real.Set(ctx, "k"+strconv.Itoa(i), "a", time.Duration(2+i)*time.Millisecond)
		}
		for i := 0; i < keys && row[1] == ""; {
			name := "k" + strconv.Itoa(i)
			// One script is one instant: it finds the key at once with its time.
			got, err := real.Eval(ctx, "return {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[1])}", []string{name}).Slice()
			if err != nil {
				t.Fatal(err)
			}
			switch got[0] {
			case int64(-2):
				i++
			case int64(0):
				row[1] = answered(got[0], nil) + ", " + answered(got[1], nil)
			}
		}
	}
	return fmt.Sprintf("| `SET k a PX 200` ; at the instant at which these 200 ms are over: `PTTL k ; GET k` | `%s` | `%s` |\n", row[0], row[1])
}

// Every command of every bundled run is answered alike, and leaves the same keys.
// Leases are a thousand times as long, because one of the stores has a clock that
// does not wait; a key is dropped where the run says so.
func TestRunsAreAnsweredAlike(t *testing.T) {
	racetest.Skip(t)
	server := storetest.Start(t)
	compared := 0
	for _, name := range lessonstest.Names(t) {
		run := lessonstest.Play(t, name)
		r := replay{t: t, addr: server.Addr, key: run.Scenario.Lock.Key, nodes: map[int]*node{}}
		for _, e := range run.Events {
			if difference := r.event(e); difference != "" {
				t.Errorf("%s, event %d: %s", name, e.Seq, difference)
				break
			}
		}
		compared += r.compared
	}
	if compared < 2000 {
		t.Errorf("only %d commands were compared", compared)
	}
}

// replay sends the commands of a run to both stores.
type replay struct {
	t         *testing.T
	addr, key string
	nodes     map[int]*node // 0 where there is one
	compared  int
}

// node is both stores of one node.
type node struct {
	*both

	writes [][][]string   // of each script, for a replica
	at     []trace.Millis // of each
	step   int            // of the last script
}

func (r *replay) node(n int) *node {
	if r.nodes[n] == nil {
		r.nodes[n] = &node{both: newBoth(r.t, r.addr, n)}
	}
	return r.nodes[n]
}

// event returns what the stores answer differently to an event's command.
func (r *replay) event(e trace.Event) string {
	switch b := e.Body.(type) {
	case trace.Expired:
		r.node(b.Node).send([]string{"DEL", r.key})
	case trace.Fault:
		r.node(b.Node).strike(b, e.At, r.key)
	case trace.Command:
		if _, refused := fault.ErrorReplyIn(b.Error); refused || b.OldMaster { // by the run: the stores would not
			return ""
		}
		if b.Arg(0) == "DELEX" { // of Redis 8.4; what it does is the same as GET and DEL
			return ""
		}
		r.compared++
		return r.node(b.Node).command(b, e.At, e.Step)
	}
	return ""
}

// strike does to both what a fault does to Redis.
func (n *node) strike(f trace.Fault, at trace.Millis, key string) {
	switch f.Do {
	case fault.Evict:
		n.send([]string{"DEL", key})
		n.writes, n.at = append(n.writes, [][]string{{"DEL", key}}), append(n.at, at)
	case fault.Restart:
		if f.LoseMS > 0 {
			n.rewrite(slices.IndexFunc(append(slices.Clone(n.at), at+1), func(written trace.Millis) bool { return written > at-f.LoseMS }))
		} else if !f.Keep {
			n.empty()
			n.writes, n.at = nil, nil
		}
	case fault.FailOver:
		n.rewrite(max(len(n.writes)-*f.Behind, 0))
	}
}

// rewrite leaves what the first so many writes leave.
func (n *node) rewrite(first int) {
	n.empty()
	n.writes, n.at = n.writes[:first], n.at[:first]
	for _, script := range n.writes {
		for _, c := range script {
			n.send(c)
		}
	}
}

// command returns the difference, if there is one.
func (n *node) command(c trace.Command, at trace.Millis, step int) string {
	args := slices.Clone(c.Args)
	for i, a := range args {
		before := strings.ToUpper(args[max(i-1, 0)])
		if i == 2 && strings.EqualFold(args[0], "PEXPIRE") || i > 2 && before == "PX" {
			args[i] = a + "000"
		}
	}
	answers := n.send(args)
	if journal.Writes(args[0]) && c.Error == "" {
		if n.step != step {
			n.writes, n.at = append(n.writes, nil), append(n.at, at)
		}
		n.writes[len(n.writes)-1] = append(n.writes[len(n.writes)-1], args)
		n.step = step
	}
	held := n.hold()
	switch {
	case strings.EqualFold(args[0], "TIME"):
	case strings.EqualFold(args[0], "PTTL") && answers[0] > "0" && answers[1] > "0": // one clock goes on
	case answers[0] != answers[1]:
		return fmt.Sprintf("%v: %s, and of Redis %s", args, answers[0], answers[1])
	}
	if held[0] != held[1] {
		return fmt.Sprintf("%v leaves %s, and in Redis %s", args, held[0], held[1])
	}
	return ""
}
