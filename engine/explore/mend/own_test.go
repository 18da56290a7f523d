package mend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/explore/mend"
	"relock/engine/lock/protocol"
	"relock/engine/outside/ownlock/ownlocktest"
)

// Scripts of a lock that is right.
const (
	takes   = `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[3]) then return 1 end return 0`
	deletes = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
	renews  = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`
)

// Of somebody's own scripts, the cure is a change of what is wrong in them.
func TestCuresOfOwnScripts(t *testing.T) {
	for name, c := range map[string]struct {
		lock, unlock, renew string
		more                string // of the lock
		faults              string
		cure                string // it mends
	}{
		"a renewal in the wrong unit": {
			takes, deletes, strings.ReplaceAll(renews, "PEXPIRE", "EXPIRE"), "watchdog: 300ms, args: {renew: [owner, lease-ms]}", "{thread: A, at: unlock, do: crash}",
			"args: {renew: [owner, lease-s]}",
		},
		"no expiry":         {`return redis.call("SETNX", KEYS[1], ARGV[1])`, deletes, "", "watchdog: off", "{thread: A, at: work, do: crash}", "scripts: lock"},
		"a blind release":   {takes, `return redis.call("DEL", KEYS[1])`, "", "watchdog: off", "{thread: A, at: unlock, do: pause, for: 400ms}", "scripts: unlock"},
		"one id for all":    {takes, deletes, "", `watchdog: off, args: {lock: ["the-job", level, lease-ms], unlock: ["the-job"]}`, "{thread: A, at: unlock, do: pause, for: 400ms}", "args: owner"},
		"an odd reply kept": {`if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 then return "yes" end return "no"`, deletes, "", `watchdog: off, replies: {lock: {entered: "yes", refused: "no"}}`, "{thread: A, at: work, do: crash}", "scripts: lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			renew := ""
			if c.renew != "" {
				renew = ", renew: '" + c.renew + "'"
			}
			sc := parsed(t, fmt.Sprintf(`
lock: {protocol: own, lease: 1s, %s, retry: {times: 8, interval: 250ms}, scripts: {lock: '%s', unlock: '%s'%s}}
threads: [{name: A, work: 900ms}, {name: B, start: 100ms, work: 600ms}]
faults: [%s]
`, c.more, c.lock, c.unlock, renew, c.faults))
			r, err := mend.Search(ownlocktest.Boxed(t), sc, explore.Bounds{MaxStates: 100}, mend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Cures, func(o mend.Cure) bool { return o.Name == c.cure })
			if i < 0 || r.Cures[i].Verdict != mend.Mends {
				var names []string
				for _, one := range r.Cures {
					names = append(names, one.Name+": "+string(one.Verdict))
				}
				t.Errorf("%s of %s break %v; no %q mends it: %q", r.Before.Broken, r.Before.Orders, r.Before.Rules, c.cure, names)
			}
		})
	}
}

// A lock with the same scripts under another name is no cure, however they are written down.
func TestTheSameLockIsNoCure(t *testing.T) {
	base := parsed(t, "lock: {protocol: reentrant, lease: 1s}\nthreads: [{name: A, depth: 2, work: 50ms}, {name: B, work: 50ms}]")
	scripts := map[string]any{}
	for call, source := range protocol.Reentrant.Sources() {
		scripts[call] = "-- ours\n" + strings.ReplaceAll(source, "  ", "\t")
	}
	sc, err := base.Change(map[string]any{"lock": map[string]any{"protocol": "own", "scripts": scripts}})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := mend.Changes(ownlocktest.Boxed(t), sc)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	if slices.Contains(names, "protocol: reentrant") || !slices.Contains(names, "protocol: reentrant-sequenced") {
		t.Errorf("offered: %q", names)
	}
}

// Of scripts that work when they are called otherwise nothing is tried: it says what to write.
func TestNothingIsTriedOfScriptsThatAreCalledOtherwise(t *testing.T) {
	sc := parsed(t, fmt.Sprintf("lock: {protocol: own, lease: 1s, watchdog: off, args: {lock: [lease-ms, level, owner]}, scripts: {lock: '%s', unlock: '%s'}}\nthreads: [{name: A, work: 50ms}, {name: B, work: 50ms}]", takes, deletes))
	r, err := mend.Search(ownlocktest.Boxed(t), sc, explore.Bounds{MaxStates: 200}, mend.Options{Narrow: true})
	if err == nil || !strings.Contains(err.Error(), "under lock: args: {lock: [owner, ") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Nodes that come back empty lose what one that keeps its data has.
func TestARestartThatKeepsItsData(t *testing.T) {
	sc := parsed(t, `
lock: {protocol: mutex, lease: 1s, watchdog: off, retry: {times: 3, interval: 100ms}}
threads: [{name: A, work: 500ms}, {name: B, start: 150ms, work: 100ms}]
faults: [{time: 100ms, do: restart}]
`)
	r, err := mend.Search(t.Context(), sc, explore.Bounds{MaxStates: 100}, mend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keep: true", "for: 1s"} {
		if !slices.ContainsFunc(r.Cures, func(c mend.Cure) bool { return c.Name == name && c.Verdict == mend.Mends }) {
			t.Errorf("%s does not mend it: %+v", name, r.Cures)
		}
	}
}

// One restart at a time loses nothing where the renewal between two of them sets the value again.
func TestNodesThatRestartOneAfterTheOther(t *testing.T) {
	sc := parsed(t, `
lock: {protocol: redsync, nodes: 3, lease: 1s, watchdog: 200ms, retry: {times: 10, interval: 150ms}}
threads: [{name: A, work: 900ms}, {name: B, start: 100ms, work: 50ms}]
faults: [{time: 250ms, node: 1, do: restart}, {time: 550ms, node: 2, do: restart}]
`)
	r, err := mend.Search(t.Context(), sc, explore.Bounds{MaxStates: 600}, mend.Options{Narrow: true})
	if err != nil || r.Before.Broken.Sign() == 0 {
		t.Fatalf("before: %+v, %v", r.Before, err)
	}
	for _, name := range []string{"keep: true", "for: 1s", "protocol: redsync-reset"} {
		i := slices.IndexFunc(r.Cures, func(c mend.Cure) bool { return c.Name == name })
		if i < 0 || r.Cures[i].After.Broken.Sign() > 0 || r.Cures[i].Verdict == mend.Nothing {
			t.Errorf("%s does not mend it: %+v", name, r.Cures)
		}
	}
}
