package box_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"relock/engine/journal"
	"relock/engine/outside/box"
	"relock/engine/pause"
	"relock/engine/racetest"
	"relock/engine/store"
)

// attack is a script that means harm, and what comes of it: an error of Go, or
// Redis', or a reply.
type attack struct {
	name, script string
	kind         error  // or nil
	says         string // is in the error, or in the reply
}

// errEither is of what takes memory slowly: its time may be over first.
var errEither = errors.New("endless, or too large")

var attacks = []attack{
	{"reads a file", "return dofile('/etc/passwd')", nil, "nonexistent global variable 'dofile'"},
	{"loads a file", "return loadfile('/etc/passwd')", nil, "nonexistent global variable 'loadfile'"},
	{"requires a file", "return require('/tmp/x')", nil, "nonexistent global variable 'require'"},
	{"opens a file", "return io.open('/etc/passwd')", nil, "nonexistent global variable 'io'"},
	{"runs a program", "return os.execute('id')", nil, "nonexistent global variable 'os'"},
	{"reads the environment", "return os.getenv('PATH')", nil, "nonexistent global variable 'os'"},
	{"opens a socket", "return require('socket').connect('127.0.0.1', 22)", nil, "nonexistent global variable 'require'"},
	{"exits", "os.exit()", nil, "nonexistent global variable 'os'"},
	{"looks about", "return debug.getinfo(1)", nil, "nonexistent global variable 'debug'"},
	{"changes its functions' globals", "setfenv(1, {})", nil, "nonexistent global variable 'setfenv'"},
	{"prints a frame", "print('\\0\\0\\0\\1\\0')", nil, "nonexistent global variable 'print'"},
	{"makes code", "return loadstring(string.dump(function() end))", nil, "no string.dump"},
	{"never ends", "while true do end", box.ErrEndless, "line 1"},
	{"never ends, under pcall", "while true do\npcall(function()\nwhile true do end end) end", box.ErrEndless, "line"},
	{"never ends, under many pcalls", "local function f() while true do end end\nlocal g = f for i = 1, 150 do local h = g g = function() pcall(h) while true do end end end g()", box.ErrEndless, ""},
	{"never ends, under xpcall", "local function f() xpcall(function() while true do end end, function() while true do end end) end while true do f() end", box.ErrEndless, ""},
	{"never ends, in coroutines", "while true do local c = coroutine.wrap(function() while true do end end) pcall(c) end", box.ErrEndless, ""},
	{"never ends, resumed", "while true do coroutine.resume(coroutine.create(function() while true do end end)) end", box.ErrEndless, ""},
	{"never ends, in a metamethod", "local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x", box.ErrEndless, ""},
	{"never ends, sorting", "local t = {} for i = 1, 10 do t[i] = i end table.sort(t, function() while true do end end)", box.ErrEndless, ""},
	{"never ends, calling Redis", "while true do redis.pcall('SET', 'k', 'v') end", box.ErrEndless, "line 1"},
	{"waits", "return redis.call('BLPOP', 'k', 0)", nil, "not allowed from script"},
	{"waits for a stream", "return redis.call('XREAD', 'BLOCK', 0, 'STREAMS', 'k', '$')", nil, "not allowed from script"},
	{"a bomb of patterns", "return string.find(string.rep('a', 3000), string.rep('a-', 300) .. 'b')", box.ErrSteps, "line 1"},
	{"a bomb of patterns, and hides it", "pcall(function() " + pattern + " end) return 1", box.ErrSteps, ""},
	{"many patterns", "while true do string.gsub(string.rep('a', 100), '.-b', '') end", box.ErrSteps, "line 1"},
	{"a pattern of a large set", "return string.find(string.rep('b', 2^19), '[' .. string.rep('a', 2^19) .. ']')", box.ErrSteps, ""},
	{"a pattern that closes late", "return string.find(string.rep('(', 2^20), '%b()')", box.ErrSteps, ""},
	{"a pattern of a large capture", "return string.find(string.rep('a', 2^19), '(a*)%1b')", box.ErrSteps, ""},
	{"a deep pattern", "return string.find(string.rep('a', 2^18), string.rep('a?', 2^18))", nil, "pattern too complex"},
	{"doubles a text", "local s = 'x' while true do s = s .. s end", errEither, ""},
	{"repeats a text", "return string.rep('x', 2^30)", box.ErrTooLarge, "string.rep"},
	{"repeats, and hides it", "pcall(string.rep, 'x', 2^30) return 1", box.ErrTooLarge, "string.rep"},
	{"formats widely", "return string.format('%999999999d', 1)", nil, "invalid format"},
	{"joins much", "local t = {} for i = 1, 3000 do t[i] = string.rep('x', 1000) end return table.concat(t)", box.ErrTooLarge, "table.concat"},
	{"replaces much", "return string.gsub(string.rep('x', 2^20), 'x', string.rep('y', 2^20))", box.ErrTooLarge, "string.gsub"},
	{"fills tables", "local t = {} while true do t[#t + 1] = {{}, {}, {}, {}} end", errEither, ""},
	{"a table with a far end", "local t = {} for n = 1, 30 do t[n] = {} t[n][2^20 - n] = 1 end return 1", nil, "1"},
	{"inserts far out", "local t = {} table.insert(t, 2^50, 1) return 1", nil, "1"},
	{"recurses", "local function f() return 1 + f() end return f()", nil, "stack overflow"},
	{"recurses through pcall", "local function f() return select('#', pcall(f)) end return f()", nil, "2"},
	{"recurses through gsub", "local function f() return (string.gsub('x', 'x', f)) end return f()", nil, "stack overflow"},
	{"recurses through a metamethod", "local t t = setmetatable({}, {__index = function(_, k) return t[k + 1] end}) return t[1]", nil, "stack overflow"},
	{"an error that is a bomb", "local e = setmetatable({}, {__tostring = function() while true do end end}) error(e)", nil, "unknown error"},
	{"a large error", "error(string.rep('x', 2^20))", nil, "x"},
	{"a reply in itself", "local t = {} t[1] = t return t", box.ErrTooLarge, "reply"},
	{"a large reply", "local t, s = {}, string.rep('x', 2^10) for i = 1, 2000 do t[i] = s end return t", box.ErrTooLarge, "reply"},
	{"a large error reply", "return {err = string.rep('x', 2^19)}", nil, "xxx"},
	{"a gigabyte in Redis", "local s = string.rep('x', 2^20) for i = 1, 1000 do redis.call('SET', i, s) end", errEither, ""},
	{"a large value in Redis", "redis.call('SETRANGE', 'k', 2^29 - 10, 'x')", box.ErrTooLarge, "a value in Redis"},
	{"a far bit", "redis.call('setbit', 'k', 2^32 - 1, 1)", box.ErrTooLarge, "a value in Redis"},
	{"a large value, and hides it", "pcall(redis.call, 'SETRANGE', 'k', 2^29 - 10, 'x') return 1", box.ErrTooLarge, "a value in Redis"},
	{"more than an answer holds", "local s = string.rep('x', 2^10) for i = 1, 2000 do redis.call('SET', i, s) end", box.ErrTooLarge, "Redis holds"},
	{"another kind of key", "redis.call('XADD', 'k', '*', 'a', 'b')", box.ErrContents, "stream"},
	{"reads all of a large value at once", "local s = string.rep('x', 2^17) for i = 1, 9 do redis.call('APPEND', 'k', s) end return #redis.call('GET', 'k')", box.ErrTooLarge, "a reply of Redis"},
	{"a script in a script", "return redis.call('EVAL', 'return 1', 0)", nil, "not allowed from script"},
	{"other databases", "redis.call('SELECT', 3)", nil, "not allowed from script"},
	{"brings down Redis", "redis.call('SHUTDOWN')", nil, "not allowed from script"},
	{"globals", "redis = {} x = 1", nil, "Attempt to modify a readonly table"},
	{"globals, past the guard", "rawset(_G, 'x', 1)", nil, "Attempt to modify a readonly table"},
	{"another guard", "setmetatable(_G, {})", nil, "Attempt to modify a readonly table"},
	{"JSON in JSON", "local t = {} for i = 1, 1001 do t = {t} end return cjson.encode(t)", nil, "excessive nesting"},
	{"deep JSON", "return cjson.decode(string.rep('[', 2^18))", nil, "too many nested"},
	{"deep code", "return " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000), box.ErrSyntax, "too many syntax levels"},
	{"long code", "return 1" + strings.Repeat(" + 1", 10_000), nil, "10001"},
	{"changes what texts are", "getmetatable('').__index = nil", nil, "Attempt to modify a readonly table"},
	{"changes a library", "string.rep = function() return 'pwned' end", nil, "Attempt to modify a readonly table"},
	{"waits in coroutines", "local t = {} for i = 1, 2000 do t[i] = coroutine.wrap(function() coroutine.yield() end) t[i]() end return 1", nil, "1"},
}

// Each attack ends as the table says, and the next one to ask gets the right answer.
func TestHarmfulScripts(t *testing.T) {
	racetest.Skip(t)
	p := open(t, box.Options{})
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			began := time.Now()
			got, err := p.Ask(t.Context(), "attacker", box.Question{Script: a.script, Now: now})
			if !errors.Is(err, a.kind) && (!errors.Is(a.kind, errEither) || !errors.Is(err, box.ErrTooLarge) && !errors.Is(err, box.ErrEndless)) {
				t.Errorf("error %v, want %v", err, a.kind)
			}
			text := got.Err
			if err != nil {
				text = err.Error()
			} else if text == "" {
				text = reply(got.Reply)
			}
			if !strings.Contains(text, a.says) {
				t.Errorf("says %.200q, want %q", text, a.says)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %v", took)
			}
			for _, by := range []string{"attacker", "somebody else"} {
				if a, err := p.Ask(t.Context(), by, quiet); err != nil || a.Err != "" || reply(a.Reply) != "ab,OK,1" || len(a.Items) != 1 {
					t.Errorf("%s is answered %+v, %v", by, a, err)
				}
			}
		})
	}
}

// quiet is a question that means no harm.
var quiet = box.Question{
	Script: "return {('abc'):sub(1, 2), redis.call('SET', KEYS[1], string.rep('x', 2)), #redis.call('KEYS', '*')}", Keys: []string{"k"}, Now: now,
}

func reply(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for n, one := range v {
			parts[n] = reply(one)
		}
		return strings.Join(parts, ",")
	default:
		return "nil"
	}
}

// Whatever a script claims about itself harms only its author; a text that closes the
// journal's function does not compile on its own.
func TestTheJournalIsNotClosedEarly(t *testing.T) {
	p := open(t, box.Options{})
	for _, body := range []string{"end) os.exit() (function()", "return 1 end) reply = {} return journal(true, 1), (function()"} {
		if err := p.Check(t.Context(), "me", body); !errors.Is(err, box.ErrSyntax) {
			t.Errorf("%q: %v, want a mistake", body, err)
		}
	}
	body := "redis = {call = function() return 'forged' end}\nreturn redis.call('GET', KEYS[1])"
	if err := p.Check(t.Context(), "me", body); err != nil {
		t.Error(err)
	}
	a, err := p.Ask(t.Context(), "me", box.Question{Script: journal.Wrap(body), Keys: []string{"k"}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	record, told, err := journal.Decode(a.Reply)
	if err != nil || told.Value != "forged" || len(record.Entries) != 0 {
		t.Errorf("%+v, %+v, %v: a forged answer is no command of Redis", record, told, err)
	}
}

// The lines of mistakes in a journal's script are those of somebody's text, and
// one more.
func TestLinesUnderTheJournal(t *testing.T) {
	p := open(t, box.Options{})
	ask := func(body string) (box.Answer, error) {
		return p.Ask(t.Context(), "me", box.Question{Script: journal.Wrap(body), Keys: []string{"k"}, Now: now, Items: []store.Item{{Name: "k", Type: "string", Text: "x"}}})
	}
	for body, want := range map[string]int{"\n\nnothing()": 3, "local t\nlocal function f() return 1 + t.x end\nf()": 2, "\nredis.call('HGET', KEYS[1], 'f')": 2} {
		a, err := ask(body)
		if err != nil || a.Lines.Below(1)-1 != want {
			t.Errorf("%q: lines %v, %v; want %d", body, a.Lines, err, want)
		}
		if _, told, err := journal.Decode(a.Reply); err != nil || told.Err == "" {
			t.Errorf("%q: told %+v, %v", body, told, err)
		}
	}
	_, err := ask("\nlocal n = 0\nwhile true do\nredis.call('GET', KEYS[1]) end")
	var fault *box.Fault
	if !errors.As(err, &fault) || !errors.Is(err, box.ErrEndless) || fault.Lines.Below(1)-1 != 4 && fault.Lines.Below(1)-1 != 3 {
		t.Errorf("%v, want line 4", err)
	}
	_, err = ask("\nreturn (")
	if !errors.As(err, &fault) || !errors.Is(err, box.ErrSyntax) {
		t.Errorf("%v, want a mistake", err)
	}
}

// Many judgements at once get their own answers, from children that never served
// anybody else.
func TestManyAtOnce(t *testing.T) {
	p := open(t, box.Options{Children: 3})
	callers, calls := 12, 20
	if testing.Short() {
		callers, calls = 6, 8
	}
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			for range calls {
				q := quiet
				q.Args = []string{strconv.Itoa(n)}
				q.Script = "return ARGV[1]"
				a, err := p.Ask(t.Context(), n, q)
				if err != nil || a.Reply != strconv.Itoa(n) {
					t.Errorf("%d: %v, %v", n, a.Reply, err)
					return
				}
			}
			p.Leave(n)
		})
	}
	all.Wait()
}

// yielding counts how often work has gone away to wait.
type yielding struct{ away int }

func (*yielding) Pause(ctx context.Context) error { return context.Cause(ctx) }

func (*yielding) Whose() string { return "" }

func (y *yielding) Away(_ context.Context, wait func()) {
	y.away++
	wait()
}

// Those who wait for a child let others go on, and those who have one wait for nothing.
func TestWaitingYields(t *testing.T) {
	p, y := open(t, box.Options{Children: 1}), &yielding{}
	ctx := pause.With(t.Context(), y)
	for i, c := range []struct {
		by   string
		away int
	}{{"me", 1}, {"me", 1}, {"other", 2}, {"me", 3}} {
		if _, err := p.Ask(ctx, c.by, quiet); err != nil || y.away != c.away {
			t.Errorf("question %d: %v, away %d times, want %d", i+1, err, y.away, c.away)
		}
	}
}

// pattern is a bomb: Lua's clock does not look while it is matched.
const pattern = "string.find(string.rep('a', 3000), string.rep('a-', 300) .. 'b')"

func TestCloseEndsQuestions(t *testing.T) {
	p, err := box.New(box.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := p.Ask(t.Context(), "me", box.Question{Script: "while true do end", Now: now})
		done <- err
	}()
	if _, err := p.Ask(t.Context(), "other", quiet); err != nil {
		t.Error(err)
	}
	_ = p.Close()
	if err := <-done; !errors.Is(err, box.ErrClosed) && !errors.Is(err, box.ErrEndless) {
		t.Errorf("%v, want closed", err)
	}
	if _, err := p.Ask(t.Context(), "me", quiet); !errors.Is(err, box.ErrClosed) {
		t.Errorf("%v, want closed", err)
	}
}

func BenchmarkAsk(b *testing.B) {
	p := open(b, box.Options{})
	q := box.Question{
		Script: journal.Wrap("if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then\n redis.call('HINCRBY', KEYS[1], ARGV[1], 1)\n redis.call('PEXPIRE', KEYS[1], 30000)\n return {1, 2}\nend return {0, redis.call('PTTL', KEYS[1])}"),
		Keys:   []string{"k"}, Args: []string{"me"}, Now: now, Items: []store.Item{{Name: "k", Type: "hash", Hash: map[string]string{"me": "1"}, TTL: time.Second}},
	}
	b.Run("box", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Ask(b.Context(), "me", q); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("miniredis", func(b *testing.B) {
		e := store.NewEmbedded(now)
		defer func() { _ = e.Close() }()
		sha := e.Client().ScriptLoad(b.Context(), q.Script).Val()
		for b.Loop() {
			if err := e.Fill(now, q.Items); err != nil {
				b.Fatal(err)
			}
			if err := e.Client().EvalSha(b.Context(), sha, q.Keys, "me").Err(); err != nil {
				b.Fatal(err)
			}
			if _, err := e.Contents(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
