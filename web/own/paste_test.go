package own_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/verdict"
	"relock/web/webtest"
)

// Scripts that are pasted into the form, one after the other, are called as they work, and the
// YAML says how. What their writer says then stays.
func TestPastedScriptsAreCalledAsTheyWork(t *testing.T) {
	racetest.Skip(t)
	ctx := ownlocktest.Boxed(t)
	s := webtest.OpenOwn(t)
	const begun = "lock: {protocol: own, like: reentrant, lease: 2s, watchdog: 600ms, retry: {times: 10, interval: 500ms}}\nthreads: [{name: A, work: 500ms}, {name: B, start: 50ms, work: 500ms}]\ndefaults: {depth: 2}\n"
	for name, c := range map[string]struct {
		scripts [][2]string // in the order in which they are pasted
		says    []string    // of the YAML
		without string
	}{
		"a string": {[][2]string{
			{"lock", "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2])"},
			{"unlock", "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"},
		}, []string{"args: {lock: [owner, lease-s]}", "replies: {lock: {entered: \"OK\", refused: nil}}"}, "depth"},
		"a hash": {[][2]string{
			{"unlock", "if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return nil end\nif redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 0 end\nredis.call('DEL', KEYS[1]) redis.call('PUBLISH', KEYS[2], ARGV[1]) return 1"},
			{"lock", "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then redis.call('HINCRBY', KEYS[1], ARGV[2], 1) redis.call('PEXPIRE', KEYS[1], ARGV[1]) return nil end\nreturn redis.call('PTTL', KEYS[1])"},
			{"renew", "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then return redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return 0"},
		}, []string{"lock: [lease-ms, owner]", "renew: [lease-ms, owner]", "keys: ['{key}', '{key}:2']", "refused: pttl"}, ""},
		"a latch of each request": {[][2]string{
			{"lock", "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then redis.call('HINCRBY', KEYS[1], ARGV[2], 1) redis.call('PEXPIRE', KEYS[1], ARGV[1]) return nil end\nreturn redis.call('PTTL', KEYS[1])"},
			{"unlock", "local val = redis.call('get', KEYS[3]) if val ~= false then return tonumber(val) end\nif redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end\nif redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then redis.call('pexpire', KEYS[1], ARGV[2]) redis.call('set', KEYS[3], 0, 'px', ARGV[5]) return 0 end\nredis.call('del', KEYS[1]) redis.call(ARGV[4], KEYS[2], ARGV[1]) redis.call('set', KEYS[3], 1, 'px', ARGV[5]) return 1"},
			{"renew", "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then return redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return 0"},
		}, []string{`unlock: [1, lease-ms, owner, "PUBLISH", 1]`, "'{key}:{request}'"}, ""},
		"a key that the script makes": {[][2]string{
			{"lock", "local k = KEYS[1] .. ':lock'\nif redis.call('SETNX', k, ARGV[1]) == 1 then redis.call('PEXPIRE', k, ARGV[2]) return 1 end\nreturn 0"},
			{"unlock", "local k = KEYS[1] .. ':lock'\nif redis.call('GET', k) == ARGV[1] then return redis.call('DEL', k) end\nreturn 0"},
		}, []string{"args: {lock: [owner, lease-ms]}", "key: EXAMPLE_LOCK:lock", "keys: [EXAMPLE_LOCK]"}, "depth"},
	} {
		t.Run(name, func(t *testing.T) {
			at := s.Convert(t, url.Values{"yaml": {begun}, "base": {begun}, "action": {"show"}, "lock.like": {"reentrant"}})
			for _, one := range c.scripts {
				at = s.Convert(t, url.Values{"yaml": {at.YAML}, "base": {at.Base}, "action": {"show"}, "lock.scripts." + one[0]: {one[1]}})
			}
			for _, want := range c.says {
				if !strings.Contains(at.YAML, want) {
					t.Errorf("no %q in\n%s", want, at.YAML)
				}
			}
			if c.without != "" && strings.Contains(at.YAML, c.without) {
				t.Errorf("%q in\n%s", c.without, at.YAML)
			}
			if !strings.Contains(at.Status, "was tried") && !strings.Contains(at.Status, "takes it once") && !strings.Contains(at.Status, "can be run") {
				t.Errorf("said is %q", at.Status)
			}
			sc, err := scenario.Parse([]byte(at.YAML))
			if err != nil {
				t.Fatalf("%v\n%s", err, at.YAML)
			}
			space, err := explore.Search(ctx, sc, explore.Bounds{}, explore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if j := space.Judgement(nil); j.Verdict != verdict.Unbroken {
				t.Errorf("%s: %v\n%s", j.Verdict, j.Unjudged, at.YAML)
			}
			if !strings.Contains(s.Convert(t, url.Values{"yaml": {at.YAML}, "base": {at.Base}, "action": {"show"}, "title": {"mine"}}).Status, "can be run") {
				t.Errorf("what was filled in cannot be run\n%s", at.YAML)
			}
			said := s.Convert(t, url.Values{"yaml": {at.YAML}, "base": {at.Base}, "action": {"show"}, "lock.args.lock": {"level, owner"}})
			if !strings.Contains(said.YAML, "lock: [level, owner]") || !strings.Contains(said.Form, `value="level owner"`) {
				t.Errorf("what was said is\n%s", said.YAML)
			}
			used := s.Convert(t, url.Values{"yaml": {said.YAML}, "base": {said.Base}, "action": {"fit"}})
			if !strings.Contains(used.YAML, c.says[0]) || strings.Contains(used.YAML, "[level, owner]") {
				t.Errorf("it is used as\n%s", used.YAML)
			}
			emptied := s.Convert(t, url.Values{"yaml": {at.YAML}, "base": {at.Base}, "action": {"show"}, "lock.scripts.renew": {""}})
			if len(emptied.Mistakes) > 0 || strings.Contains(emptied.YAML, "renew: [") {
				t.Errorf("%v without renew\n%s", emptied.Mistakes, emptied.YAML)
			}
		})
	}
}

// Where EXPIRE takes whole seconds, all times become longer together, so that a pause that
// outlasts the lease lets the next one in, and what is wrong with a script is found.
func TestAPastedScriptInSeconds(t *testing.T) {
	racetest.Skip(t)
	ctx := ownlocktest.Boxed(t)
	s := webtest.OpenOwn(t)
	const begun = "lock: {protocol: own, like: reentrant, lease: 200ms, watchdog: 100ms, retry: {times: 5, interval: 50ms}}\nthreads: [{name: A, work: 50ms-100ms}, {name: B, work: 50ms-100ms}]\n"
	const says = "EXPIRE takes whole seconds"
	paste := func(scripts ...string) (at webtest.Converted) {
		at.YAML, at.Base = begun, begun
		for i := 0; i < len(scripts); i += 2 {
			at = s.Convert(t, url.Values{"yaml": {at.YAML}, "base": {at.Base}, "action": {"show"}, "lock.scripts." + scripts[i]: {scripts[i+1]}})
		}
		return at
	}
	const (
		deletes = "return redis.call('del', KEYS[1])"
		millis  = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0"
	)
	seconds := strings.Replace(millis, "PX", "EX", 1)
	for name, c := range map[string]struct {
		scripts []string
		longer  bool
	}{
		"an argument in seconds":   {[]string{"unlock", deletes, "lock", seconds}, true},
		"seconds that are made":    {[]string{"unlock", deletes, "lock", millis, "renew", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire', KEYS[1], math.floor(ARGV[2] / 1000)) end return 0"}, true},
		"milliseconds":             {[]string{"unlock", deletes, "lock", millis}, false},
		"milliseconds of a second": {[]string{"unlock", deletes, "lock", strings.Replace(millis, "ARGV[2]", "ARGV[2] * 1000", 1)}, true},
	} {
		at := paste(c.scripts...)
		longer := strings.Contains(at.YAML, "lease: 1s") && strings.Contains(at.YAML, "watchdog: 500ms") && strings.Contains(at.YAML, "interval: 250ms") && strings.Contains(at.YAML, "work: 250ms-500ms")
		if longer != c.longer || strings.Contains(at.Status, says) != c.longer {
			t.Errorf("%s: said is %q, %v\n%s", name, at.Status, at.Mistakes, at.YAML)
		}
	}
	at := paste("unlock", deletes, "lock", seconds)
	sc, err := scenario.Parse([]byte(at.YAML))
	if err != nil {
		t.Fatal(err)
	}
	space, err := explore.Search(ctx, sc, explore.Bounds{Kinds: []string{"pause"}, MaxFaults: 1}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(space.Rules(), func(r explore.Rule) bool { return r.Name == "mutual-exclusion" }) {
		t.Errorf("a pause breaks %v\n%s", space.Rules(), at.YAML)
	}
}
