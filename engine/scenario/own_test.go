package scenario_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
)

const ownText = `title: mine
lock:
  protocol: own
  lease: 200ms
  scripts:
    lock: |
      if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then
        return 1
      end
      return 0
    unlock: |
      return redis.call('DEL', KEYS[1])
threads: [{name: A}, {name: B}]
`

func TestALockOfOnesOwn(t *testing.T) {
	sc := parse(t, ownText)
	same(t, sc)
	how := sc.Lock.Implementation()
	if how.Name != protocol.Own || how.HasWatchdog() || len(how.Scripts) != 2 || how.FirstCommand("lock", 2) != "SET" {
		t.Errorf("%+v", how)
	}
	if how != sc.Lock.Implementation() {
		t.Error("it is made a second time")
	}
	if line := sc.ScriptLine("unlock", 1); line != 12 {
		t.Errorf("the first line of unlock is line %d of the file", line)
	}
	if line := sc.ScriptLine("renew", 1); line != 0 {
		t.Errorf("there is no renew, and it is on line %d", line)
	}
	if other := sc.With("mutex"); other.Lock.Scripts != (scenario.Scripts{}) || other.Lock.Own() {
		t.Errorf("%+v", other.Lock)
	}
	like := parse(t, strings.Replace(ownText, "protocol: own", "protocol: own\n  like: mutex", 1))
	same(t, like)
	if how := like.Lock.Implementation(); !how.HasWatchdog() || len(how.Scripts) != 3 || how.Base != exhibit.Mutex {
		t.Errorf("like a mutex: %+v", how)
	}
}

func TestMistakesOfALockOfOnesOwn(t *testing.T) {
	for name, c := range map[string]struct{ lock, want string }{
		"no scripts":       {"{protocol: own}", "given no scripts"},
		"without an own":   {"{protocol: mutex, scripts: {lock: return 1}}", "only with protocol: own"},
		"like without":     {"{like: mutex}", "only with protocol: own"},
		"half of them":     {"{protocol: own, scripts: {lock: return 1}}", "both lock and unlock"},
		"another call":     {"{protocol: own, scripts: {lock: return 1, unlock: return 1, leave: return 1}}", `given the key "leave"`},
		"none of them":     {"{protocol: own, like: mutex, scripts: {}}", "at least one of lock, unlock, renew"},
		"not in memory":    {"{protocol: own, like: spin, scripts: {lock: return 1}}", `given "spin"`},
		"not on nodes":     {"{protocol: own, like: redlock, scripts: {lock: return 1}}", `given "redlock"`},
		"empty":            {`{protocol: own, like: mutex, scripts: {unlock: " "}}`, "a Lua script of 1 to"},
		"no text":          {`{protocol: own, like: mutex, scripts: {unlock: [1]}}`, "given a list"},
		"a bell":           {`{protocol: own, like: mutex, scripts: {unlock: "return 1 \a"}}`, "without control characters"},
		"too long":         {`{protocol: own, like: mutex, scripts: {unlock: "` + strings.Repeat("-", scenario.MaxScript+1) + `"}}`, "1 to 16384 bytes"},
		"several nodes":    {"{protocol: own, like: mutex, nodes: 3, scripts: {unlock: return 1}}", "lock.nodes"},
		"a wait it hasn't": {"{protocol: own, like: mutex, retry: {wait: notify}, scripts: {unlock: return 1}}", "lock.retry.wait"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scenario.Parse([]byte("lock: " + c.lock + "\nthreads: [{name: A}]"))
			var mistakes scenario.Mistakes
			if !errors.As(err, &mistakes) || len(mistakes) != 1 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// The form's first text runs as it is, for each lock that it offers.
func TestEachBeginningIsALock(t *testing.T) {
	for _, like := range append(scenario.Writable(), "") {
		lock := map[string]any{"protocol": "own", "scripts": scenario.Beginning(like)}
		if like != "" {
			lock["like"] = like
		}
		text, err := json.Marshal(map[string]any{"lock": lock, "threads": []any{map[string]any{"name": "A"}}})
		if err != nil {
			t.Fatal(err)
		}
		parse(t, string(text))
	}
}

func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}
