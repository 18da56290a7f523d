package ownlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/outside/ownlock"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/scenario"
)

// scenarioOf is two threads with a lock, in JSON.
func scenarioOf(t *testing.T, lock map[string]any, depth int) *scenario.Scenario {
	t.Helper()
	lock["lease"], lock["watchdog"] = "200ms", "80ms"
	lock["retry"] = map[string]any{"times": 4, "interval": "60ms"}
	text, err := json.Marshal(map[string]any{"lock": lock, "threads": []any{
		map[string]any{"name": "A", "depth": depth, "work": "50ms"}, map[string]any{"name": "B", "start": "5ms", "depth": depth, "work": "50ms"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// found is what a search comes to.
func found(ctx context.Context, t *testing.T, sc *scenario.Scenario) string {
	t.Helper()
	delays := 1
	if testing.Short() {
		delays = 0
	}
	space, err := explore.Search(ctx, sc, explore.Bounds{Delays: delays, Kinds: []string{"lose-reply"}, MaxFaults: 1, MaxStates: 100_000}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s: %v of %v", space.Ending(), space.Broken(), space.Schedules())
	for _, r := range space.Rules() {
		text += fmt.Sprintf(", %s %v", r.Name, r.Schedules)
	}
	return text
}

// A bundled lock that is given as one's own does what it does, in every order.
func TestABundledLockAsOnesOwn(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	tried := 0
	for _, p := range exhibit.All() {
		if !p.Writable() || len(p.Scripts) == 0 { // without scripts its commands are sent one by one
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			scripts := map[string]string{}
			for _, s := range p.Scripts {
				scripts[s.Call] = s.Source
			}
			depth := 1
			if p.Counts {
				depth = 2
			}
			want := found(ctx, t, scenarioOf(t, map[string]any{"protocol": p.Name}, depth))
			got := found(ctx, t, scenarioOf(t, map[string]any{"protocol": "own", "like": p.Name, "scripts": scripts}, depth))
			if got != want {
				t.Errorf("as one's own: %s\nas bundled: %s", got, want)
			}
			if p == protocol.Reentrant {
				bare := found(ctx, t, scenarioOf(t, map[string]any{"protocol": "own", "scripts": scripts}, depth))
				if bare != want {
					t.Errorf("like no other: %s\nas bundled: %s", bare, want)
				}
			}
		})
		tried++
	}
	if tried != 14 {
		t.Errorf("%d locks were tried", tried)
	}
}

// plain is a mutex whose replies are plain numbers.
const (
	plainLock   = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end\nreturn 0"
	plainUnlock = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end\nreturn 0"
	plainRenew  = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end\nreturn 0"
)

func TestPlainNumbersAreReplies(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	want := found(ctx, t, scenarioOf(t, map[string]any{"protocol": "mutex"}, 1))
	for name, lock := range map[string]map[string]any{
		"like a mutex":  {"protocol": "own", "like": "mutex", "scripts": map[string]string{"lock": plainLock, "unlock": plainUnlock, "renew": plainRenew}},
		"only a script": {"protocol": "own", "like": "mutex", "scripts": map[string]string{"unlock": plainUnlock}},
	} {
		if got := found(ctx, t, scenarioOf(t, lock, 1)); got != want {
			t.Errorf("%s: %s\na mutex: %s", name, got, want)
		}
	}
}

func TestWithoutABox(t *testing.T) {
	sc := scenarioOf(t, map[string]any{"protocol": "own", "like": "mutex", "scripts": map[string]string{"unlock": plainUnlock}}, 1)
	if _, err := explore.Search(t.Context(), sc, explore.Bounds{MaxStates: 100}, explore.Options{}); !errors.Is(err, ownlock.ErrNoBox) {
		t.Errorf("%v", err)
	}
}

// A mistake in a script comes with its line, which is the second.
func TestMistakes(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	for name, c := range map[string]struct {
		unlock, want string
		line         int
	}{
		"no Lua":             {"return (", "this is not Lua: unexpected symbol near", 2},
		"closes the frame":   {"end) os.exit() (function()", "this is not Lua: '<eof>' expected near 'end'", 2},
		"no function":        {"redis.cal('DEL', KEYS[1])", "attempt to call field 'cal' (a nil value)", 2},
		"no variable":        {"nothing()", "nonexistent global variable 'nothing'", 2},
		"no command":         {"return redis.call('DELL', KEYS[1])", "Redis refuses DELL", 2},
		"a text":             {"return 'OK'", `it returns "OK"; allowed: {1, count}`, 0},
		"nothing":            {"local x = 1", "it returns nil", 0},
		"a large number":     {"return 2", "it returns 2", 0},
		"a list of one":      {"return {1}", "it returns {1}", 0},
		"another key":        {"return redis.call('DEL', 'other')", `DEL asks for the key "other"`, 2},
		"a second key":       {"return redis.call('DEL', KEYS[1], 'other')", `DEL asks for the key "other"`, 2},
		"writes, and fails":  {"redis.call('DEL', KEYS[1]) return redis.call('HGET', KEYS[1])", "Redis refuses HGET", 2},
		"writes, and stops":  {"redis.call('DEL', KEYS[1]) error({err = 'ERR no'})", "it writes here and then fails, and Redis does not undo the write: ERR no", 2},
		"no end":             {"while true do end", "it does not end", 2},
		"no end, caught":     {"pcall(function() while true do end end) return 1", "it does not end", 2},
		"a long text":        {"return string.rep('x', 1e9)", "more memory than a script may have", 2},
		"many commands":      {"for i = 1, 101 do redis.call('GET', KEYS[1]) end return 1", "it sends 101 commands", 2},
		"nil for a text":     {"redis.call('DEL', KEYS[2]) return 1", "DEL is given something that is neither text nor number", 2},
		"no argument":        {"redis.call() return 1", "at least one argument", 2},
		"a global":           {"x = 1 return x", "it sets a global variable", 2},
		"recurses":           {"local function f() return 1 + f() end return f()", "stack overflow", 2},
		"yields":             {"return coroutine.yield(1)", "yield", 2},
		"no place":           {"error('far', 3)", "far", 2},
		"a table":            {"error({})", "error", 2},
		"a place not there":  {"error('user_script:99: far', 0)", "far", 0},
		"past the guard":     {"_G.redis.call('DEL', 'other') return 1", `DEL asks for the key "other"`, 2},
		"around the guard":   {"return getmetatable(_G).__index.redis.call('DEL', 'other')", "index", 2},
		"clears the journal": {"redis.call('DEL', 'other') journal(true, 1)[1][1] = nil return 1", `DEL asks for the key "other"`, 2},
		"every key":          {"redis.call('FLUSHALL') return 1", `FLUSHALL asks for the key "*"`, 2},
		"a long key":         {"redis.call('GET', string.rep('x', 1000)) return 1", strings.Repeat("x", 100) + "…\"", 2},
		"a long reply":       {"return string.rep('x', 1000)", strings.Repeat("x", 99) + "…;", 0},
		"false":              {"return false", "it returns nil, as false and no return do", 0},
		"a large key":        {"redis.call('SET', KEYS[1], string.rep('x', 10000)) return 1", "it keeps more in Redis than a lock does", 0},
	} {
		t.Run(name, func(t *testing.T) {
			sc := scenarioOf(t, map[string]any{"protocol": "own", "like": "mutex", "scripts": map[string]string{"unlock": "-- one\n" + c.unlock}}, 1)
			_, err := explore.Search(ctx, sc, explore.Bounds{MaxStates: 1000}, explore.Options{})
			var m *ownlock.Mistake
			if !errors.As(err, &m) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			if m.Call != "unlock" || m.Line != c.line || !strings.Contains(m.Error(), c.want) {
				t.Errorf("%v, line %d; want %q, line %d", m, m.Line, c.want, c.line)
			}
		})
	}
}

// What Redis or the script refuses before anything was written is an answer like
// any other; a SET NX that was refused has written nothing.
func TestARefusalIsNoMistake(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	for _, scripts := range []map[string]string{
		{"unlock": "return redis.call('HDEL', KEYS[1], ARGV[1])"}, // a string is no hash
		{"lock": "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end return redis.error_reply('LOCKED by another')"},
	} {
		sc := scenarioOf(t, map[string]any{"protocol": "own", "like": "mutex", "scripts": scripts}, 1)
		if got := found(ctx, t, sc); !strings.HasPrefix(got, "exhausted: ") {
			t.Errorf("%v: %s", scripts, got)
		}
	}
}
