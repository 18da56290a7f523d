package check_test

import (
	"slices"
	"strings"
	"testing"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// bank is a run with locks that are strings, told event by event.
type bank struct {
	checker *check.Checker
	keys    []string
	owner   map[string]string // by lock: the thread
	belief  map[string]map[string]int
	seq     int
	found   []string
}

func newBank(threads, keys string) *bank {
	b := &bank{keys: strings.Fields(keys), owner: map[string]string{}, belief: map[string]map[string]int{}}
	owners := map[string]string{}
	for _, name := range strings.Fields(threads) {
		owners["id "+name] = name
	}
	for _, key := range b.keys {
		b.belief[key] = map[string]int{}
	}
	b.checker = check.New(owners, protocol.InRedis, check.Kind{}, b.keys...)
	return b
}

func (b *bank) tell(thread, about string, body trace.Body) {
	b.seq++
	e := trace.Event{Seq: b.seq, Thread: thread, Lock: about, Body: body, Belief: map[string]int{}}
	for _, key := range b.keys {
		one := trace.LockState{Lock: key, Key: trace.Absent(), Belief: map[string]int{}}
		if owner := b.owner[key]; owner != "" {
			id := "id " + owner
			one.Key = trace.KeyState{Type: trace.TypeString, Value: &id, PTTL: 100}
		}
		for thread, levels := range b.belief[key] {
			one.Belief[thread] = levels
			e.Belief[thread] += levels
		}
		e.Locks = append(e.Locks, one)
	}
	e.Key = e.Locks[0].Key
	for _, f := range b.checker.Observe(e) {
		b.found = append(b.found, f.Rule+": "+f.Detail)
	}
}

// does tells of steps such as "A+x" (A gets x), "B?x" (B is refused x and waits), "B!x" (B is
// refused x and gives up), "A-x" (A releases x), "0x" (x's lease ends).
func (b *bank) does(steps string) {
	for _, step := range strings.Fields(steps) {
		thread, do, key := step[:1], step[1], step[len(step)-1:]
		level := 1
		switch do {
		case '+':
			b.owner[key], b.belief[key][thread] = thread, 1
			b.tell(thread, key, trace.Outcome{Call: lock.CallLock, Result: trace.Acquired, Level: level})
		case '?', '!':
			b.tell(thread, key, trace.Outcome{Call: lock.CallLock, Result: trace.Refused, Level: level})
			if do == '?' {
				b.tell(thread, key, trace.Wait{For: 50, Why: trace.WaitRetry})
			}
		case '-':
			delete(b.belief[key], thread)
			if b.owner[key] == thread {
				b.owner[key] = ""
			}
			b.tell(thread, key, trace.Outcome{Call: lock.CallUnlock, Result: trace.Released, Level: level})
		default:
			b.owner[key] = ""
			b.tell("", key, trace.Expired{})
		}
	}
}

// Threads that wait for one another in a circle are in a deadlock: reported once as long as
// it lasts. A thread that gives back, or never waited, is in none.
func TestDeadlock(t *testing.T) {
	const crosswise = "deadlock: A has x and waits for y; B has y and waits for x"
	for _, c := range []struct{ name, threads, keys, steps, want string }{
		{"crosswise", "A B", "x y", "A+x B+y A?y B?x", crosswise},
		{"and they ask again", "A B", "x y", "A+x B+y A?y B?x A?y B?x", crosswise},
		{"the other one is first", "A B", "x y", "B+y A+x B?x A?y", crosswise},
		{"three in a circle", "A B C", "x y z", "A+x B+y C+z A?y B?z C?x", "deadlock: A has x and waits for y; B has y and waits for z; C has z and waits for x"},
		{"one waits, and nobody for it", "A B", "x y", "A+x B+y A?y", ""},
		{"in one order", "A B", "x y", "A+x B?x A+y A-y A-x B+x B+y", ""},
		{"who is refused gives back", "A B", "x y", "A+x B+y A!y B!x A-x B-y", ""},
		{"one of them gives back", "A B", "x y", "A+x B+y A?y B!x B-y A+y", ""},
		{"a lease has ended meanwhile", "A B", "x y", "A+x B+y A?y 0y B?x", ""},
		{"it is over, and there is another", "A B", "x y", "A+x B+y A?y B?x B-y A+y A-y A-x A+x B+y A?y B?x", crosswise + " | " + crosswise},
		{"beside who waits for one of them", "A B C", "x y", "A+x B+y C?x A?y B?x C?x", crosswise},
	} {
		b := newBank(c.threads, c.keys)
		b.does(c.steps)
		if got := strings.Join(b.found, " | "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Each lock has its rules for itself: two threads may be inside of two locks, and not of one.
func TestEachLockIsJudgedByItself(t *testing.T) {
	b := newBank("A B", "x y")
	b.does("A+x B+y")
	if len(b.found) > 0 {
		t.Errorf("each in a lock of its own: %q", b.found)
	}
	b.does("0y A+y")
	if len(b.found) != 1 || !strings.HasPrefix(b.found[0], "mutual-exclusion: y: A and B are in their critical sections at once") {
		t.Errorf("both in y: %q", b.found)
	}
}

// Two checkers' states differ if they will find different rules broken.
func TestWhoWaitsIsOfTheState(t *testing.T) {
	of := func(steps string) string {
		b := newBank("A B", "x y")
		b.does(steps)
		clone := b.checker.Clone()
		b.does("B?x")
		return string(clone.AppendState(nil, 0, func(thread string) string { return thread }))
	}
	states := []string{of("A+x B+y"), of("A+x B+y A?y"), of("A+x B+y A?y B?x")}
	slices.Sort(states)
	if len(slices.Compact(states)) != 3 {
		t.Errorf("%q", states)
	}
	if a, b := of("A+x B+y A!y"), of("A+x B+y"); a != b {
		t.Errorf("%q and %q", a, b)
	}
}
