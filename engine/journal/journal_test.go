package journal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

// onBoth runs a test on miniredis and on a real Redis.
func onBoth(t *testing.T, test func(t *testing.T, c redis.UniversalClient)) {
	t.Run("miniredis", func(t *testing.T) {
		e := store.NewEmbedded(clock.Epoch.Add(time.Minute)) // so that a time that is not told is seen
		t.Cleanup(func() { _ = e.Close() })
		test(t, e.Client())
	})
	t.Run("redis", func(t *testing.T) { test(t, storetest.Redis(t)) })
}

func over(c redis.UniversalClient) func() journal.Scripter {
	return func() journal.Scripter { return c }
}

func script(name, source string) journal.Script {
	return journal.Script{Name: name, Source: source, SHA: redis.NewScript(source).Hash()}
}

func hash(pttl int64, fields ...string) trace.KeyState {
	m := map[string]string{}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return trace.KeyState{Type: trace.TypeHash, Fields: m, PTTL: pttl}
}

func TestJournalTellsEveryCommand(t *testing.T) {
	const source = `-- a comment
local n = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)

redis.call(
  'PEXPIRE', KEYS[1], 60000)
local function helper()
  local v = redis.call('HGET', KEYS[1], 'nobody')
  return v
end
if not helper() then
  redis.call('DEL', KEYS[1])
end
return {n, 'done', redis.sha1hex('')}
`
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		var got journal.Record
		s := script("s.lua", source)
		j := journal.New(over(c), []journal.Script{s}, func(_ context.Context, r journal.Record) { got = r })
		reply, err := j.Eval(t.Context(), source, []string{"k"}, "me").Slice()
		if err != nil {
			t.Fatal(err)
		}
		want := []any{int64(1), "done", "da39a3ee5e6b4b0d3255bfef95601890afd80709"}
		if diff := cmp.Diff(want, reply); diff != "" {
			t.Error("reply:", diff)
		}
		// The PTTL of -1 between HINCRBY and PEXPIRE is what no outside
		// observer could see.
		wantEntries := []journal.Entry{
			{Line: 2, Args: []string{"HINCRBY", "k", "me", "1"}, Reply: int64(1), Key: hash(-1, "me", "1")},
			{Line: 4, Args: []string{"PEXPIRE", "k", "60000"}, Reply: int64(1), Key: hash(60000, "me", "1")},
			{Line: 7, Args: []string{"HGET", "k", "nobody"}, Reply: nil, Key: hash(60000, "me", "1")},
			{Line: 11, Args: []string{"DEL", "k"}, Reply: int64(1), Key: trace.Absent()},
		}
		for i := range got.Entries {
			if i == 1 && (got.Entries[i].Line == 4 || got.Entries[i].Line == 5) {
				got.Entries[i].Line = 4 // Lua's line of a call over two lines is either
			}
			if p := &got.Entries[i].Key.PTTL; *p > 59000 && *p <= 60000 {
				*p = 60000 // a real clock runs
			}
		}
		if diff := cmp.Diff(wantEntries, got.Entries); diff != "" {
			t.Error("entries:", diff)
		}
		if got.Script != "s.lua" || !slices.Equal(got.Keys, []string{"k"}) || !slices.Equal(got.Argv, []string{"me"}) || got.Time <= 0 {
			t.Errorf("record = %q %q %q %v", got.Script, got.Keys, got.Argv, got.Time)
		}
	})
}

// A command outside of any script is in no line of one.
func TestJournalTellsACommandOfItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		var got []journal.Record
		j := journal.New(over(c), nil, func(_ context.Context, r journal.Record) { got = append(got, r) })
		for range 2 { // the first time Redis does not know how
			if reply, err := j.Do(t.Context(), "HSETNX", "k", "me", 1).Int(); err != nil || reply != 1-len(got)/2 {
				t.Errorf("reply %d, %v", reply, err)
			}
		}
		want := []journal.Entry{{Args: []string{"HSETNX", "k", "me", "1"}, Reply: int64(0), Key: hash(-1, "me", "1")}}
		if len(got) != 2 || got[1].Script != "" || !slices.Equal(got[1].Keys, []string{"k"}) {
			t.Fatalf("records %+v", got)
		}
		if diff := cmp.Diff(want, got[1].Entries); diff != "" {
			t.Error(diff)
		}
		if err := j.Do(t.Context(), "TIME").Err(); err == nil || len(got) != 2 {
			t.Errorf("a command without a key: %v", err)
		}
	})
}

func TestJournalKeepsWhatWasBeforeAnError(t *testing.T) {
	const source = `redis.call('SET', KEYS[1], 'text')
local r = redis.pcall('HGET', KEYS[1], 'f')
if not r.err then return 'no error?' end
redis.call('HINCRBY', KEYS[1], 'f', 1)
return 'never'
`
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		var got []journal.Entry
		s := script("s.lua", source)
		j := journal.New(over(c), []journal.Script{s}, func(_ context.Context, r journal.Record) { got = r.Entries })
		err := j.Eval(t.Context(), source, []string{"k"}).Err()
		var re redis.Error
		if !errors.As(err, &re) || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("error = %v, want Redis' WRONGTYPE", err)
		}
		if len(got) != 3 {
			t.Fatalf("%d entries, want SET, HGET and HINCRBY: %+v", len(got), got)
		}
		if v := got[0].Key.Value; got[0].Reply != "OK" || v == nil || *v != "text" {
			t.Errorf("SET = %+v", got[0])
		}
		for _, e := range got[1:] {
			if !strings.HasPrefix(e.Err, "WRONGTYPE") || e.Reply != nil {
				t.Errorf("%v = %v, error %q; want WRONGTYPE", e.Args, e.Reply, e.Err)
			}
		}
	})
}

// The line that names a script's engine is the first that Redis reads, and its flags hold.
func TestJournalKeepsTheEngine(t *testing.T) {
	const source = "#!lua flags=no-writes\nlocal v = redis.call('GET', KEYS[1])\nreturn redis.call('SET', KEYS[1], 1)\n"
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		var got []journal.Entry
		j := journal.New(over(c), []journal.Script{script("s.lua", source)}, func(_ context.Context, r journal.Record) { got = r.Entries })
		if err := j.Eval(t.Context(), source, []string{"k"}).Err(); err == nil || !strings.Contains(err.Error(), "Write commands are not allowed from read-only scripts") {
			t.Errorf("a write: %v", err)
		}
		if len(got) != 2 || got[0].Line != 2 || got[1].Line != 3 && got[1].Line != 0 {
			t.Errorf("%+v: GET is on line 2, and SET on line 3", got)
		}
	})
}

func TestJournalFallsBackOnNoScript(t *testing.T) {
	const source = "return redis.call('INCR', KEYS[1])"
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		records := 0
		s := script("s.lua", source)
		j := journal.New(over(c), []journal.Script{s}, func(context.Context, journal.Record) { records++ })
		if err := j.EvalSha(t.Context(), s.SHA, []string{"k"}).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Fatalf("first EVALSHA: %v, want NOSCRIPT", err)
		}
		for want := 1; want <= 2; want++ {
			cmd := j.EvalSha(t.Context(), s.SHA, []string{"k"})
			if want == 1 {
				cmd = j.Eval(t.Context(), source, []string{"k"})
			}
			if n, err := cmd.Int(); err != nil || n != want {
				t.Errorf("call %d = %d, %v", want, n, err)
			}
		}
		if records != 2 {
			t.Errorf("%d records, want 2", records)
		}
		if err := j.Eval(t.Context(), "return 1", nil).Err(); !errors.Is(err, journal.ErrUnknownScript) {
			t.Errorf("foreign script: %v", err)
		}
	})
}

// The journal must not change what a script costs beyond measure; see the
// benchmark for the figure.
func BenchmarkScript(b *testing.B) {
	const source = "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) return redis.call('PEXPIRE', KEYS[1], 1000)"
	e := store.NewEmbedded(time.Time{})
	b.Cleanup(func() { _ = e.Close() })
	s := script("s.lua", source)
	for name, c := range map[string]redis.UniversalClient{"miniredis": e.Client(), "redis": storetest.Redis(b)} {
		b.Run(name+"/plain", func(b *testing.B) {
			for b.Loop() {
				if err := c.Eval(b.Context(), source, []string{"k"}, "f").Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/journalled", func(b *testing.B) {
			j := journal.New(over(c), []journal.Script{s}, func(context.Context, journal.Record) {})
			for b.Loop() {
				if err := j.Eval(b.Context(), source, []string{"k"}, "f").Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("HGET", int64(3), "hash", int64(-1), "a", uint8(0))
	f.Add("", int64(-3), "none", int64(-2), "", uint8(9))
	f.Fuzz(func(t *testing.T, arg string, line int64, kind string, pttl int64, content string, shape uint8) {
		var body any = content
		if shape&1 == 0 {
			body = []any{content, arg}
		}
		var reply any = []any{arg}
		if shape&2 != 0 {
			reply = nil
		}
		var failure any
		if shape&4 != 0 {
			failure = content
		}
		note := []any{line, []any{arg, content}, reply, failure, kind, pttl, body}
		if shape&8 != 0 {
			note = note[:shape%7]
		}
		raw := []any{[]any{note}, []any{content, "7"}, reply, failure}
		if shape&16 != 0 {
			raw[1] = []any{"1", "7"}
		}
		rec, _, err := journal.Decode(raw)
		if err != nil {
			if !errors.Is(err, journal.ErrForm) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		e := rec.Entries[0]
		if len(e.Args) != 2 || e.Args[0] != arg || int64(e.Line) != line || e.Key.PTTL != pttl || e.Key.Type != kind {
			t.Fatalf("decoded %+v from %v", e, note)
		}
	})
}
