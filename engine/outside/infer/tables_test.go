package infer_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock/protocol"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/store"
	"relock/engine/trace"
)

// table is one file of testdata/readings. Its parts:
//
//	reading   options: "threads A B C", "key lock", "kind permits=2", "resource stock", "marks"; the first two are A B, and k
//	NAME.lua  a script, which records run as EVAL NAME.lua
//	records   what happened, a line each
//	events    what is read from it: instant, thread, event, the key after it, beliefs
//	broken    each broken rule, in words
//
// A record is "MS THREAD COMMAND → REPLY → KEY". KEY is "-", "value 300", "{field:1} 300", "z{member:score} 300" of a sorted set or "s{member} 300" of a set, the
// number what is left of its lease in ms; without it the key is as before. Before the command
// stand "!FAULT" or "!FAULT:TIME", where one struck it and Redis' clock went on, "~", where its client
// had given it up, and "@OWNER", where that is known. The instant is that of the answer. Commands of a
// script follow on lines of their own: "  LINE COMMAND → REPLY → KEY". Of EXEC the commands
// stand between brackets. "*" is Redis itself: "300 * lease-ends", where threads may follow of
// which nothing more is known, and "10 * evict". The end of an order is "end", with "asking A B"
// and "waiting A B" where some are stuck.
type table struct {
	threads       []string
	key, resource string
	kind          check.Kind // as a person says it
	marks         bool
	scripts       map[string]string // by file
	names         map[string]string // files, by what a trace calls them
	records       []infer.Record
	end           *ending
	events        []string
	broken        []string
}

type ending struct {
	key             trace.KeyState
	asking, waiting []string
}

func readTable(t *testing.T, file string) *table {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := &table{threads: []string{"A", "B"}, key: "k", scripts: map[string]string{}, names: map[string]string{}}
	for _, part := range archive.Files {
		lines := strings.Split(strings.TrimRight(string(part.Data), "\n"), "\n")
		if len(part.Data) == 0 {
			lines = nil
		}
		switch {
		case part.Name == "reading":
			for _, line := range lines {
				words := strings.Fields(line)
				switch words[0] {
				case "threads":
					b.threads = words[1:]
				case "key":
					b.key = words[1]
				case "kind":
					kind, err := check.ParseKind(words[1])
					if err != nil {
						t.Fatal(err)
					}
					b.kind = kind
				case "resource":
					b.resource = words[1]
				case "marks":
					b.marks = true
				default:
					t.Fatalf("nothing is called %s", words[0])
				}
			}
		case strings.HasSuffix(part.Name, ".lua"):
			b.scripts[part.Name] = string(part.Data)
			b.names[infer.ScriptName(string(part.Data))] = part.Name
		case part.Name == "records":
			b.read(t, lines)
		case part.Name == "events":
			b.events = lines
		case part.Name == "broken":
			b.broken = append([]string{}, lines...)
		default:
			t.Fatalf("nothing is called %s", part.Name)
		}
	}
	if len(b.records) == 0 || b.broken == nil {
		t.Fatal("want records, and what is broken")
	}
	return b
}

// read reads the records.
func (b *table) read(t *testing.T, lines []string) {
	t.Helper()
	now, at := trace.Absent(), time.Duration(0)
	for _, line := range lines {
		if strings.HasPrefix(line, " ") { // of a script
			r := &b.records[len(b.records)-1]
			number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			parts := strings.Split(rest, " → ")
			one := journal.Entry{Line: int(whole(t, number)), Args: strings.Fields(parts[0]), Key: r.Before}
			if n := len(r.Inner); n > 0 {
				one.Key = r.Inner[n-1].Key
			}
			one.Reply, one.Err = reply(parts[1])
			if len(parts) > 2 {
				one.Key = state(t, parts[2])
			}
			r.Inner = append(r.Inner, one)
			continue
		}
		words := strings.Fields(line)
		if words[0] == "end" {
			b.end = &ending{key: now}
			list := &b.end.asking
			for _, w := range words[1:] {
				switch w {
				case "asking":
					list = &b.end.asking
				case "waiting":
					list = &b.end.waiting
				default:
					*list = append(*list, w)
				}
			}
			continue
		}
		parts := strings.Split(line, " → ")
		words = strings.Fields(parts[0])
		r := infer.Record{Thread: words[1], At: time.Duration(whole(t, words[0])) * time.Millisecond}
		words = words[2:]
		was := now
		if now.PTTL >= 0 { // its lease runs
			if now.PTTL -= (r.At - at).Milliseconds(); now.PTTL <= 0 {
				now = trace.Absent()
			}
		}
		at = r.At
		r.Before, r.After = now, now
		if do, struck := strings.CutPrefix(words[0], "!"); struck {
			var length string
			if r.Do, length, _ = strings.Cut(do, ":"); length != "" {
				r.Passed, _ = time.ParseDuration(length)
			}
			words = words[1:]
		}
		if words[0] == "~" {
			r.Late, words = true, words[1:]
		}
		if owner, told := strings.CutPrefix(words[0], "@"); told {
			r.Owner, words = owner, words[1:]
		}
		if r.Passed > 0 && was.Exists() && !now.Exists() { // its lease ended before the command ran
			r.Lapsed = &was
		}
		switch {
		case r.Thread == "*":
			r.Thread, r.Before = "", was
			if words[0] == fault.Evict {
				r.Do = fault.Evict
			}
			r.Silent = words[1:]
		case words[0] == "ended":
			r.Ended = trace.Result(words[1])
		default:
			r.Args = b.command(words, &r)
			r.Mark = infer.Mark(r.Args)
		}
		if len(parts) > 1 {
			r.Reply, r.Err = reply(parts[1])
		}
		if len(parts) > 2 {
			r.After = state(t, parts[2])
		} else if r.Do == fault.Evict {
			r.After = trace.Absent()
		}
		now = r.After
		if !infer.Equal(r.Before, r.After) {
			r.Keys = []infer.Touched{{Key: b.key, Before: infer.WholeOf(r.Before, nil), After: infer.WholeOf(r.After, nil)}}
		}
		b.records = append(b.records, r)
	}
}

// command reads a command, which may run a script or a transaction.
func (b *table) command(words []string, r *infer.Record) []string {
	if words[0] == "EXEC" {
		inside := strings.Trim(strings.Join(words[1:], " "), "[]")
		for one := range strings.SplitSeq(inside, " | ") {
			r.Tx = append(r.Tx, strings.Fields(one))
		}
		return words[:1]
	}
	if words[0] == "EVAL" {
		r.Script = b.scripts[words[1]]
		words[1] = r.Script
	}
	return words
}

func whole(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reply reads an answer: "nil", a number, a text, "[a | b]", or "error TEXT".
func reply(text string) (any, string) {
	if failed, is := strings.CutPrefix(text, "error "); is {
		return nil, failed
	}
	if inside, is := strings.CutPrefix(text, "["); is {
		list := []any{}
		for one := range strings.SplitSeq(strings.TrimSuffix(inside, "]"), " | ") {
			v, _ := reply(one)
			list = append(list, v)
		}
		return list, ""
	}
	if text == "nil" {
		return nil, ""
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	return text, ""
}

// state reads a key.
func state(t *testing.T, text string) trace.KeyState {
	t.Helper()
	if text == "-" {
		return trace.Absent()
	}
	k := trace.KeyState{Type: trace.TypeString, PTTL: -1}
	before, inside, is := strings.Cut(text, "{")
	if kind, known := map[string]string{"": trace.TypeHash, "z": trace.TypeZSet, "s": trace.TypeSet}[before]; is && known {
		inside, text, _ = strings.Cut(inside, "}")
		k.Type, k.Fields = kind, map[string]string{}
		for field := range strings.FieldsSeq(inside) {
			name, v, _ := strings.Cut(field, "=")
			k.Fields[name] = v
		}
	} else {
		value, rest, _ := strings.Cut(text, " ")
		k.Value, text = &value, rest
	}
	if text = strings.TrimSpace(text); text != "" {
		k.PTTL = whole(t, text)
	}
	return k
}

// shown is a key as state reads it.
func shown(k trace.KeyState) string {
	text := "-"
	switch {
	case k.Value != nil:
		text = *k.Value
	case k.Exists():
		var fields []string
		for _, f := range slices.Sorted(maps.Keys(k.Fields)) {
			fields = append(fields, f+"="+k.Fields[f])
		}
		text = map[string]string{trace.TypeZSet: "z", trace.TypeSet: "s"}[k.Type] + "{" + strings.Join(fields, " ") + "}"
	}
	if k.PTTL >= 0 {
		text += fmt.Sprint(" ", k.PTTL)
	}
	return text
}

// said is an answer as reply reads it.
func said(v any, failed string) string {
	switch v := v.(type) {
	case nil:
		if failed != "" {
			return "error " + failed
		}
		return "nil"
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = said(one, "")
		}
		return "[" + strings.Join(parts, " | ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// line is an event, and the key and the beliefs after it.
func (b *table) line(e trace.Event) string {
	text := ""
	switch x := e.Body.(type) {
	case trace.Command:
		text = fmt.Sprintf("%s: %s → %s", x.Call, x.Args[0], said(x.Reply, x.Error))
		if x.Line > 0 {
			text += fmt.Sprintf(", line %d of %s", x.Line, b.names[x.Script])
		}
		if x.Late {
			text = "late " + text
		}
	case trace.Outcome:
		text = fmt.Sprintf("%s %s, level %d", x.Call, x.Result, x.Level)
		if x.Attempt > 1 {
			text += fmt.Sprintf(", attempt %d", x.Attempt)
		}
	case trace.Work:
		text = fmt.Sprintf("work %s, level %d", x.State, x.Level)
	case trace.Fault:
		text = strings.Join(strings.Fields("fault "+x.Do+" "+x.At+" "+x.For), " ")
	case trace.Expired:
		text = "expired: " + shown(x.Was)
	case trace.Violation:
		text = "violation " + x.Rule
	case trace.End:
		text = "end " + string(x.Result)
	case trace.Resource:
		text = fmt.Sprintf("%s %d, version %d", x.Op, x.Value, x.Version)
		if x.Op == trace.OpWrite {
			text += fmt.Sprintf(", based on %d", x.Based)
		}
	}
	who := e.Thread
	if who == "" {
		who = "*"
	}
	text = fmt.Sprintf("%d %s %s · %s", int(e.At), who, text, shown(e.Key))
	for _, thread := range slices.Sorted(maps.Keys(e.Belief)) {
		text += fmt.Sprintf(" · %s%d", thread, e.Belief[thread])
	}
	return text
}

// fold reads a table's records.
func (b *table) fold() *infer.Reading {
	roles := infer.Roles{}
	var r *infer.Reading
	for range 2 { // what a script does at its end says what it is for at its beginning
		r = infer.New(b.threads, infer.Lock{Key: b.key, Kind: b.kind}, b.resource, b.marks, roles)
		for _, one := range b.records {
			r.See(one)
		}
	}
	if b.end != nil {
		r.Finish(infer.Over{Key: b.end.key, Asking: b.end.asking, Waiting: b.end.waiting})
	}
	return r
}

func tables(t *testing.T, test func(*testing.T, *table)) {
	files, err := filepath.Glob("testdata/readings/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no tables:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { test(t, readTable(t, file)) })
	}
}

// What is read from records: the files are written by hand, from what Redis does and what a rule
// means.
func TestReadings(t *testing.T) {
	tables(t, func(t *testing.T, b *table) {
		r := b.fold()
		var events, broken []string
		for _, e := range r.Events() {
			events = append(events, b.line(e))
		}
		for _, f := range r.Broken() {
			broken = append(broken, f.Rule+": "+f.Says.String())
		}
		if diff := cmp.Diff(b.events, events); b.events != nil && diff != "" {
			t.Errorf("events: %s", diff)
		}
		if diff := cmp.Diff(b.broken, append([]string{}, broken...)); diff != "" {
			t.Errorf("broken: %s\n%s", diff, strings.Join(events, "\n"))
		}
	})
}

// A page has the trace alone, and says the same of each broken rule.
func TestATraceTellsTheSame(t *testing.T) {
	tables(t, func(t *testing.T, b *table) {
		r := b.fold()
		asks := []string{}
		if b.end != nil {
			asks = b.end.asking
		}
		again, broken := check.NewFindings(r.Owners(), protocol.InRedis, b.kind, asks), r.Broken()
		for i, e := range r.Events() {
			if e.Seq != i+1 {
				t.Fatalf("event %d has the number %d", i+1, e.Seq)
			}
			again.See(e)
			v, is := e.Body.(trace.Violation)
			if !is {
				continue
			}
			if !reflect.DeepEqual(v, broken[0].Violation) {
				t.Errorf("the trace has %+v, the reading %+v", v, broken[0].Violation)
			}
			if f := again.Of(e, v); f.Says.String() != broken[0].Says.String() || f.Why.String() != broken[0].Why.String() || f.Says.Text == "" {
				t.Errorf("%s is told again as %q, %q; want %q, %q", v.Rule, f.Says, f.Why, broken[0].Says, broken[0].Why)
			}
			for _, n := range v.Events {
				if n < 1 || n >= e.Seq || r.Events()[n-1].Kind() == trace.KindViolation {
					t.Errorf("event %d proves nothing", n)
				}
			}
			broken = broken[1:]
		}
		if len(broken) > 0 {
			t.Errorf("the trace lacks %v", broken)
		}
	})
}

// The records are such as Redis makes them: each command is answered so, and leaves the key so.
func TestRecordsAreAsRedisMakesThem(t *testing.T) {
	tables(t, func(t *testing.T, b *table) {
		base := time.Unix(1_700_000_000, 0)
		e := store.NewEmbedded(base)
		defer func() { _ = e.Close() }()
		s := e.NewConn()
		do := func(args []string) (any, string) { return resp.Value(s.Do(args)) }
		for i, r := range b.records {
			e.SetTime(base.Add(r.At))
			if r.Do == fault.Evict {
				e.Evict(b.key)
			}
			if r.Thread != "" && r.Mark == "" && r.Ended == "" && r.Do != fault.LoseRequest && r.Do != fault.LateCopy && r.Do != fault.Crash && r.Do != fault.Pause {
				if r.Tx != nil {
					do([]string{"MULTI"})
					for _, args := range r.Tx {
						do(args)
					}
				}
				raw, inner, err := infer.Run(func(args []string) ([]byte, error) { return s.Do(args), nil }, r.Args, r.Script, true)
				if diff := cmp.Diff(r.Inner, inner); err != nil || diff != "" {
					t.Errorf("record %d: the script has run %s, %v", i+1, diff, err)
				}
				if have, failed := resp.Value(raw); said(have, failed) != said(r.Reply, r.Err) {
					t.Errorf("record %d: %s %q is answered %s, and not %s", i+1, r.Thread, r.Args, said(have, failed), said(r.Reply, r.Err))
				}
			}
			if have := e.Key(b.key); shown(have) != shown(r.After) {
				t.Errorf("record %d: after %s %q the key is %s, and not %s", i+1, r.Thread, r.Args, shown(have), shown(r.After))
			}
		}
	})
}
