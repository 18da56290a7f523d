package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

const ownerA, ownerB = "aaaa", "bbbb"

func held(fields ...string) trace.KeyState {
	k := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{}, PTTL: 100}
	for i := 0; i < len(fields); i += 2 {
		k.Fields[fields[i]] = fields[i+1]
	}
	return k
}

// living is a key that has so much time left.
func living(pttl int64, k trace.KeyState) trace.KeyState {
	k.PTTL = pttl
	return k
}

func scored(owner, score string) trace.KeyState {
	return trace.KeyState{Type: trace.TypeZSet, Fields: map[string]string{owner: score}, PTTL: 100}
}

func text(value string) trace.KeyState {
	return trace.KeyState{Type: trace.TypeString, Value: &value, PTTL: 100}
}

// believing is an event after which threads act as if they held levels.
func believing(thread string, body trace.Body, key trace.KeyState, belief map[string]int) trace.Event {
	return trace.Event{Thread: thread, Body: body, Key: key, Belief: belief}
}

// leaving is an event after which its thread has called its last unlock and
// has no answer yet.
func leaving(e trace.Event) trace.Event {
	e.Leaving = []string{e.Thread}
	return e
}

// onNode is a command that goes to a node, from 1.
func onNode(node int, c trace.Command) trace.Command {
	c.Node = node
	return c
}

// onNodes is an event after which the nodes have these keys.
func onNodes(e trace.Event, keys ...trace.KeyState) trace.Event {
	e.Nodes = keys
	return e
}

// at is an event at an instant.
func at(ms trace.Millis, e trace.Event) trace.Event {
	e.At = ms
	return e
}

func TestRules(t *testing.T) {
	outcome := func(r trace.Result) trace.Outcome { return trace.Outcome{Call: "lock", Result: r} }
	del := func(reply int64) trace.Command {
		return trace.Command{Call: "unlock", Args: []string{"DEL", "k"}, Reply: reply}
	}
	set := func(reply any) trace.Command {
		return trace.Command{Call: "lock", Args: []string{"SET", "k", ownerA, "XX"}, Reply: reply}
	}
	renew := func(reply int64) trace.Command {
		return trace.Command{Call: "renew", Args: []string{"PEXPIRE", "k", "200"}, Reply: reply}
	}
	late := func(name string, reply any) trace.Command {
		return trace.Command{Call: "unlock", Args: []string{name, "k"}, Reply: reply, Late: true}
	}
	unlock := func(r trace.Result) trace.Outcome { return trace.Outcome{Call: "unlock", Result: r} }
	givesBack := func(r trace.Result) trace.Outcome {
		return trace.Outcome{Call: "unlock", Result: r, GivesBack: true}
	}
	token := func(n int64) trace.Outcome {
		return trace.Outcome{Call: "lock", Result: trace.Acquired, Token: n}
	}
	begin := trace.Work{State: trace.WorkBegin}
	skip, delay := trace.Fault{Do: "skip-unlock"}, trace.Fault{Do: "delay", At: "unlock", ForMS: 300}
	a1, a2, both, none := map[string]int{"A": 1}, map[string]int{"A": 2}, map[string]int{"A": 1, "B": 1}, map[string]int{}
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string // rule, threads and proving events of all violations
	}{
		{"one inside", []trace.Event{believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1)}, ""},
		{"one after the other", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", outcome(trace.Released), trace.Absent(), none),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), map[string]int{"B": 1}),
		}, ""},
		{"two inside, reported once", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), both),
			believing("B", begin, held(ownerB, "1"), both),
		}, "mutual-exclusion A,B [1 2]"},
		{"two inside, twice", []trace.Event{
			believing("B", begin, held(ownerB, "1"), both),
			believing("B", begin, trace.Absent(), a1),
			believing("B", begin, held(ownerB, "1"), both),
		}, "mutual-exclusion A,B [1]; mutual-exclusion A,B [1 3]"},
		{"own release", []trace.Event{
			believing("A", begin, held(ownerA, "0"), none),
			believing("A", del(1), trace.Absent(), none),
		}, ""},
		{"foreign release of a hash", []trace.Event{
			believing("B", begin, held(ownerB, "1"), none),
			believing("A", del(1), trace.Absent(), none),
		}, "foreign-release A,B [1 2]"},
		{"foreign release of a string", []trace.Event{
			believing("B", begin, text(ownerB), none),
			believing("A", del(1), trace.Absent(), none),
		}, "foreign-release A,B [1 2]"},
		{"nothing was there to delete", []trace.Event{
			believing("B", begin, held(ownerB, "1"), none),
			believing("A", del(0), held(ownerB, "1"), none),
		}, ""},
		{"nothing was left to delete", []trace.Event{
			believing("B", begin, held(ownerB, "1"), none),
			believing("A", del(0), trace.Absent(), none),
		}, ""},
		{"a lock put over another's", []trace.Event{
			believing("B", begin, text(ownerB), none),
			believing("A", set("OK"), text(ownerA), none),
		}, "replaced A,B [1 2]"},
		{"a count put over another's", []trace.Event{
			believing("B", begin, held(ownerB, "1"), none),
			believing("A", trace.Command{Call: "lock", Args: []string{"HSET", "k"}, Reply: int64(1)}, held(ownerA, "1"), none),
		}, "replaced A,B [1 2]"},
		{"a lock put over one's own", []trace.Event{
			believing("A", begin, text(ownerA), none),
			believing("A", set("OK"), text(ownerA), none),
		}, ""},
		{"a lock put where none was", []trace.Event{
			believing("B", begin, text(ownerB), none),
			believing("", trace.Expired{Was: text(ownerB)}, trace.Absent(), none),
			believing("A", set("OK"), text(ownerA), none),
		}, ""},
		{"another's lock, whose value everybody writes, deleted", []trace.Event{
			believing("B", set("OK"), text("1"), none),
			believing("A", del(1), trace.Absent(), none),
		}, "foreign-release A,B [1 2]"},
		{"one's own lock, whose value everybody writes, deleted", []trace.Event{
			believing("A", set("OK"), text("1"), none),
			believing("", trace.Expired{Was: text("1")}, trace.Absent(), none),
			believing("B", set("OK"), text("1"), none),
			believing("B", del(1), trace.Absent(), none),
		}, ""},
		{"a value put over the same of another", []trace.Event{
			believing("B", set("OK"), text("1"), none),
			believing("A", set("OK"), text("1"), none),
		}, "replaced A,B [1 2]"},
		{"a value that was not put over the same of another", []trace.Event{
			believing("B", set("OK"), text("1"), none),
			believing("A", set(nil), text("1"), none),
			believing("B", del(1), trace.Absent(), none),
		}, ""},
		{"the same value put into another key", []trace.Event{
			believing("B", set("OK"), text("1"), none),
			believing("A", trace.Command{Call: "lock", Args: []string{"SET", "other", "1"}, Reply: "OK"}, text("1"), none),
			believing("B", del(1), trace.Absent(), none),
		}, ""},
		{"a lease renewed of a value with a prefix", []trace.Event{
			believing("B", set("OK"), text("lock-"+ownerB), none),
			believing("A", renew(1), living(200, text("lock-"+ownerB)), none),
		}, "foreign-renewal A,B [1 2]"},
		{"another's field, which everybody writes, deleted", []trace.Event{
			believing("B", trace.Command{Call: "lock", Args: []string{"HSET", "k"}, Reply: int64(1)}, held("n", "1"), none),
			believing("A", del(1), trace.Absent(), none),
		}, "foreign-release A,B [1 2]"},
		{"a count that goes on is still its first's", []trace.Event{
			believing("B", trace.Command{Call: "lock", Args: []string{"INCR", "k"}, Reply: int64(1)}, text("1"), none),
			believing("A", trace.Command{Call: "lock", Args: []string{"INCR", "k"}, Reply: int64(2)}, text("2"), none),
			believing("B", del(1), trace.Absent(), none),
		}, ""},
		{"a count at 0 is nobody's", []trace.Event{
			believing("B", trace.Command{Call: "lock", Args: []string{"INCR", "k"}, Reply: int64(1)}, text("1"), none),
			believing("B", trace.Command{Call: "unlock", Args: []string{"DECR", "k"}, Reply: int64(0)}, text("0"), none),
			believing("A", del(1), trace.Absent(), none),
		}, ""},
		{"after a fail-over nobody knows whose it is", []trace.Event{
			believing("B", set("OK"), text("1"), none),
			believing("", trace.Fault{Do: "fail-over"}, text("1"), none),
			believing("A", del(1), trace.Absent(), none),
		}, ""},
		{"a look at another's", []trace.Event{
			believing("B", begin, text(ownerB), none),
			believing("A", trace.Command{Call: "lock", Args: []string{"GET", "k"}, Reply: ownerB}, text(ownerA), none),
		}, ""},
		{"own renewal", []trace.Event{believing("A", renew(1), held(ownerA, "1"), a1)}, ""},
		{"foreign renewal", []trace.Event{
			believing("B", set("OK"), held(ownerB, "1"), none), at(50, believing("A", renew(1), held(ownerB, "1"), a1)),
		}, "foreign-renewal A,B [1 2]"},
		{"a foreign renewal by a call that is refused", []trace.Event{
			believing("B", set("OK"), held(ownerB, "1"), none),
			at(50, believing("A", trace.Command{Call: "lock", Args: []string{"PEXPIRE", "k", "100"}, Reply: int64(1)}, held(ownerB, "1"), none)),
		}, "foreign-renewal A,B [1 2]"},
		{"a lease that ends no later", []trace.Event{
			believing("B", set("OK"), held(ownerB, "1"), none), at(50, believing("A", trace.Command{Call: "lock", Args: []string{"PEXPIRE", "k", "50"}, Reply: int64(1)}, living(50, held(ownerB, "1")), none)),
		}, ""},
		{"a lease that has no end any more", []trace.Event{
			believing("B", set("OK"), held(ownerB, "1"), none),
			believing("A", trace.Command{Call: "lock", Args: []string{"PERSIST", "k"}, Reply: int64(1)}, living(trace.NoExpiry, held(ownerB, "1")), none),
		}, "foreign-renewal A,B [1 2]"},
		{"a count below 1 holds nothing", []trace.Event{
			believing("B", set("OK"), held(ownerB, "1"), none),
			believing("A", trace.Command{Call: "unlock", Args: []string{"HINCRBY", "k", ownerA, "-1"}, Reply: int64(-1)}, held(ownerB, "1", ownerA, "-1"), none),
			believing("A", del(1), trace.Absent(), none),
		}, "foreign-release A,B [1 3]"},
		{"own renewal on one node, where others hold the majority", []trace.Event{
			onNodes(believing("A", onNode(2, renew(1)), held(ownerB, "1"), a1), held(ownerB, "1"), held(ownerA, "1"), held(ownerB, "1")),
		}, ""},
		{"foreign renewal on one node, though the majority is one's own", []trace.Event{
			onNodes(believing("B", onNode(3, set("OK")), held(ownerA, "1"), a1), held(ownerA, "1"), held(ownerA, "1"), held(ownerB, "1")),
			onNodes(believing("A", onNode(3, renew(1)), held(ownerA, "1"), a1), held(ownerA, "1"), held(ownerA, "1"), living(200, held(ownerB, "1"))),
		}, "foreign-renewal A,B [2]"},
		{"a foreign renewal that was refused", []trace.Event{believing("A", renew(0), held(ownerB, "1"), a1)}, ""},
		{"refused by oneself, reported once", []trace.Event{
			believing("A", outcome(trace.Acquired), text(ownerA), a1),
			believing("A", outcome(trace.Refused), text(ownerA), a1),
			believing("A", outcome(trace.Refused), text(ownerA), a1),
		}, "self-deadlock A [1 2]"},
		{"refused by another", []trace.Event{believing("A", outcome(trace.Refused), text(ownerB), none)}, ""},
		{"tokens that grow", []trace.Event{
			believing("A", token(1), held(ownerA, "1"), a1), believing("B", token(2), held(ownerB, "1"), map[string]int{"B": 1}),
		}, ""},
		{"a token that was given before", []trace.Event{
			believing("A", token(2), held(ownerA, "1"), a1), believing("B", token(2), held(ownerB, "1"), map[string]int{"B": 1}),
		}, "token-regression B,A [1 2]"},
		{"a fate that is not known yet", []trace.Event{believing("A", outcome(trace.Failed), held(ownerA, "1"), none)}, ""},
		{"count as believed", []trace.Event{believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2)}, ""},
		{"count too high, reported once", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "2"), a1),
			believing("A", outcome(trace.Acquired), held(ownerA, "2"), a1),
		}, "count-mismatch A [1]"},
		{"count of a lost lock", []trace.Event{believing("A", outcome(trace.Lost), held(ownerB, "1"), a1)}, ""},
		{"a late copy takes the count below the levels", []trace.Event{
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
			believing("A", late("HGET", "2"), held(ownerA, "2"), a2),
			believing("A", late("HINCRBY", int64(1)), held(ownerA, "1"), a2),
			believing("A", late("PEXPIRE", int64(1)), held(ownerA, "1"), a2),
			believing("A", trace.Outcome{Call: "unlock", Result: trace.Lost}, held(ownerA, "1"), a2),
		}, "count-mismatch A [3]"},
		{"a late copy counts down to 0 and deletes", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", late("HINCRBY", int64(0)), held(ownerA, "0"), a1),
			believing("A", late("DEL", int64(1)), trace.Absent(), a1),
		}, ""},
		{"a late copy of what is asked again", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", late("HINCRBY", int64(2)), held(ownerA, "2"), a1),
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
		}, ""},
		{"a late copy of who has left", []trace.Event{
			believing("A", outcome(trace.Released), trace.Absent(), none),
			believing("A", late("HINCRBY", int64(1)), held(ownerA, "1"), none),
		}, ""},
		{"a late copy that counts nothing", []trace.Event{
			believing("A", trace.Outcome{Call: "lock", Result: trace.Failed}, held(ownerA, "1"), a2),
			believing("A", late("PEXPIRE", int64(1)), held(ownerA, "1"), a2),
		}, ""},
		{"a command that its thread waits for", []trace.Event{
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
			believing("A", trace.Command{Call: "unlock", Args: []string{"HINCRBY", "k"}, Reply: int64(1)}, held(ownerA, "1"), a2),
		}, ""},
		{"a late copy deletes another's lock", []trace.Event{
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), map[string]int{"B": 1}),
			believing("A", late("DEL", int64(1)), trace.Absent(), map[string]int{"B": 1}),
		}, "foreign-release A,B [1 2]"},

		// Being inside and believing are two things.
		{"one is leaving as another enters", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			leaving(believing("A", delay, held(ownerA, "1"), a1)),
			{Thread: "B", Body: outcome(trace.Acquired), Key: held(ownerB, "1"), Belief: both, Leaving: []string{"A"}},
			believing("A", unlock(trace.Failed), held(ownerB, "1"), map[string]int{"B": 1}),
		}, ""},
		{"an inner unlock is on its way", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
			believing("A", unlock(trace.Failed), trace.Absent(), a1),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), both),
		}, "mutual-exclusion A,B [1 3 4]"},
		{"one forgot its last unlock", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", skip, trace.Absent(), a1),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), both),
		}, ""},
		{"one forgot an inner unlock", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
			believing("A", skip, trace.Absent(), a2),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), map[string]int{"A": 2, "B": 1}),
		}, "mutual-exclusion A,B [1 3 4]"},
		{"one entered again after it forgot", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", skip, trace.Absent(), a1),
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), map[string]int{"A": 2, "B": 1}),
		}, "mutual-exclusion A,B [3 4]"},
		{"one entered level 1 again after it forgot", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("A", skip, trace.Absent(), a1),
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), both),
		}, "mutual-exclusion A,B [3 4]"},
		{"one that forgot once leaves as another enters", []trace.Event{
			believing("A", outcome(trace.Reentered), held(ownerA, "2"), a2),
			leaving(believing("A", delay, held(ownerA, "2"), a2)),
			believing("A", unlock(trace.Decremented), held(ownerA, "1"), a1), // what it forgot is left
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), both),
		}, ""},
		{"one entered again after it left", []trace.Event{
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			leaving(believing("A", delay, held(ownerA, "1"), a1)),
			believing("A", unlock(trace.Released), trace.Absent(), none),
			believing("A", outcome(trace.Acquired), held(ownerA, "1"), a1),
			believing("B", outcome(trace.Acquired), held(ownerB, "1"), both),
		}, "mutual-exclusion A,B [4 5]"},

		{"a DEL that came too late", []trace.Event{
			leaving(believing("A", delay, held(ownerA, "1"), a1)),
			{Thread: "B", Body: outcome(trace.Acquired), Key: held(ownerB, "1"), Belief: both, Leaving: []string{"A"}},
			leaving(believing("A", del(1), trace.Absent(), none)),
		}, "foreign-release A,B [2 3]"},
		{"a DEL of another key", []trace.Event{
			believing("B", begin, held(ownerB, "1"), none),
			believing("A", del(1), held(ownerB, "1"), none),
		}, ""},

		// A hold count is judged where it must be right.
		{"a grant that came as one gave up", []trace.Event{believing("A", outcome(trace.Exhausted), held(ownerA, "1"), none)}, ""},
		{"a grant that came since the refusal", []trace.Event{believing("A", outcome(trace.Refused), held(ownerA, "1"), none)}, ""},
		{"a give-back that was not answered", []trace.Event{
			believing("A", givesBack(trace.Failed), held(ownerA, "1"), none),
			believing("A", outcome(trace.Lost), held(ownerA, "1"), none),
		}, ""},
		{"a give-back that was not answered, and a count of a later call", []trace.Event{
			believing("A", givesBack(trace.Failed), held(ownerA, "1"), none),
			believing("A", outcome(trace.Acquired), held(ownerA, "2"), a1),
		}, "count-mismatch A [2]"},
		{"an unlock is on its way, and then it is not", []trace.Event{
			at(100, believing("A", delay, held(ownerA, "2"), a2)),
			at(300, believing("A", unlock(trace.Failed), held(ownerA, "2"), a1)),
			at(310, believing("A", unlock(trace.Decremented), held(ownerA, "1"), none)),
			at(400, believing("A", unlock(trace.NotHeld), held(ownerA, "1"), none)),
		}, "count-mismatch A [3 4]"},

		// A sorted set has scores and no counts, and every thread that asks drops expired
		// members.
		{"a score is no count", []trace.Event{believing("A", outcome(trace.Acquired), scored(ownerA, "700"), a1)}, ""},
		{"a member that is over", []trace.Event{
			believing("A", outcome(trace.Lost), scored(ownerA, "700"), none),
			believing("B", trace.Command{Call: "lock", Args: []string{"ZREMRANGEBYSCORE", "k", "-inf", "800"}, Reply: int64(1)}, trace.Absent(), none),
		}, ""},
		{"a member that another removes", []trace.Event{
			believing("A", outcome(trace.Lost), scored(ownerA, "700"), none),
			believing("B", trace.Command{Call: "unlock", Args: []string{"ZREM", "k", ownerA}, Reply: int64(1)}, trace.Absent(), none),
		}, "foreign-release B,A [1 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker := check.New(map[string]string{ownerA: "A", ownerB: "B"}, protocol.InRedis, check.Kind{})
			var got []string
			for i, e := range c.events {
				e.Seq = i + 1
				for _, v := range checker.Observe(e) {
					got = append(got, fmt.Sprint(v.Rule, " ", strings.Join(v.Threads, ","), " ", v.Events))
					if v.Detail == "" {
						t.Error("a violation without words")
					}
				}
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("violations %q, want %q", s, c.want)
			}
		})
	}
}

// What is left at the end is told with whose it is, for how long it shuts others out, and why.
func TestShutOut(t *testing.T) {
	c := check.New(map[string]string{ownerA: "A"}, protocol.InRedis, check.Kind{})
	if v := c.Finish(trace.Absent()); len(v) != 0 {
		t.Errorf("no key: %+v", v)
	}
	for pttl, says := range map[int64]string{trace.NoExpiry: "refused for ever, though nobody is inside: A's key stays.", 50: "refused for 50ms, though nobody is inside: A's key stays."} {
		k := held(ownerA, "1")
		k.PTTL = pttl
		v := c.Finish(k)
		if why := v[0].Why.String(); !strings.HasSuffix(why, says) {
			t.Errorf("PTTL %d: %q, want …%s", pttl, why, says)
		}
		if len(v) != 1 || v[0].Rule != check.ShutOut || len(v[0].Threads) != 1 || v[0].Threads[0] != "A" || v[0].For != trace.Millis(pttl) {
			t.Errorf("PTTL %d: %+v, want A's key", pttl, v)
		}
	}
	c = check.New(map[string]string{ownerA: "A", ownerB: "B"}, protocol.InRedis, check.Kind{})
	for i, thread := range []string{"A", "B", "A", ""} {
		e := believing(thread, trace.Work{State: trace.WorkBegin}, held(ownerA, "1"), nil)
		e.Seq = i + 1
		c.Observe(e)
	}
	if v := c.Stuck([]string{"A", "B"}, nil); v.Rule != check.ShutOut || !strings.HasPrefix(v.Detail, "A and B") || !slices.Equal(v.Events, []int{2, 3}) {
		t.Errorf("stuck: %+v, want the last events of both, 2 and 3", v)
	}
	// A took the lock in event 1, and did its last in event 3.
	if v := c.Finish(held(ownerA, "1")); len(v) != 1 || !slices.Equal(v[0].Events, []int{1, 3}) {
		t.Errorf("left behind: %+v, proved by events 1 and 3", v)
	}
}

// After a crash others may be shut out up to the lease of the dead thread, counted from what
// Redis heard of it last; of a thread that lives, not at all.
func TestALeaseGoesOnAfterACrash(t *testing.T) {
	const lease = time.Second
	crash := trace.End{Result: trace.Crashed}
	for _, c := range []struct {
		name         string
		fell, others trace.Body
		after        time.Duration
		says         string
	}{
		{"its own lease", crash, nil, 900 * time.Millisecond, ""},
		{"its own lease, to the millisecond", crash, nil, 901 * time.Millisecond, ""},
		{"longer", crash, nil, 950 * time.Millisecond, "nobody is inside, and nobody gets in for 950ms: A crashed, and its key stays"},
		{"for ever", crash, nil, check.Never, "nobody is inside, and nobody ever gets in: A crashed, and its key stays"},
		{"it was heard of again", crash, trace.Command{Call: "lock", Late: true, Args: []string{"PEXPIRE", "k", "1000"}, Reply: int64(1)}, 950 * time.Millisecond, ""},
		{"it hangs", trace.Fault{Do: fault.Stall}, nil, 900 * time.Millisecond, ""},
		{"it hangs, for ever", trace.Fault{Do: fault.Stall}, nil, check.Never, "nobody else ever gets in: A hangs, and its key stays"},
		{"its request is lost", trace.Fault{Do: fault.LoseRequest}, nil, 900 * time.Millisecond, "nobody is inside, and nobody gets in for 900ms: A's request was lost, and its key stays"},
		{"nothing befell it", trace.End{Result: trace.Done}, nil, 900 * time.Millisecond, "nobody is inside, and nobody gets in for 900ms: A's key stays"},
	} {
		left := living(c.after.Milliseconds(), held(ownerA, "1"))
		if c.after == check.Never {
			left.PTTL = trace.NoExpiry
		}
		checker := check.New(map[string]string{ownerA: "A"}, protocol.InRedis, check.Kind{})
		checker.Observe(at(100, believing("A", c.fell, left, nil)))
		if c.others != nil {
			checker.Observe(at(200, believing("A", c.others, left, nil)))
		}
		for _, one := range []*check.Checker{checker, checker.Clone()} {
			got := one.ShutOut(200*time.Millisecond, c.after, lease, nil, left)
			if (len(got) > 0) != (c.says != "") || len(got) > 0 && got[0].Detail != c.says {
				t.Errorf("%s: %+v, want %q", c.name, got, c.says)
			}
		}
	}
}

// Where another's key is left, a crash excuses nothing; where nobody's is, it does.
func TestACrashExcusesNoOthersKey(t *testing.T) {
	checker := check.New(map[string]string{ownerA: "A", ownerB: "B"}, protocol.InRedis, check.Kind{})
	checker.Observe(believing("A", trace.End{Result: trace.Crashed}, held(ownerB, "1"), nil))
	if got := checker.ShutOut(0, time.Millisecond, time.Second, nil, held(ownerB, "1")); len(got) != 1 || !slices.Equal(got[0].Threads, []string{"B"}) {
		t.Errorf("B's key: %+v", got)
	}
	if got := checker.ShutOut(0, time.Millisecond, time.Second, nil, trace.Absent()); len(got) != 0 {
		t.Errorf("nobody's key: %+v", got)
	}
}

// The names that the rule had before name it, and others are as they were.
func TestOlderNamesOfRules(t *testing.T) {
	for name, want := range map[string]string{"orphan": check.ShutOut, "stuck": check.ShutOut, check.ShutOut: check.ShutOut, check.Deadlock: check.Deadlock, "what-else": ""} {
		if rule, ok := check.Named(name); ok != (want != "") || ok && rule != want {
			t.Errorf("%s: %q, %t", name, rule, ok)
		}
	}
	if check.Title("orphan").String() != check.Title(check.ShutOut).String() {
		t.Error("an older name has another title")
	}
}

// A key whose value is a deadline shuts nobody out: who comes after it takes it. A number that
// no clock was asked for is one, and so is an instant that is over.
func TestAKeyWithADeadlineShutsNobodyOut(t *testing.T) {
	for _, c := range []struct {
		value string
		asked bool
		found int
	}{{"207", true, 0}, {"1207", true, 0}, {"7000", true, 0}, {"207", false, 1}, {"0", true, 1}, {"taken", true, 1}, {"NaN", true, 1}} {
		checker := check.New(map[string]string{ownerA: "A"}, protocol.InRedis, check.Kind{})
		key := trace.KeyState{Type: trace.TypeString, Value: &c.value, PTTL: trace.NoExpiry}
		if c.asked {
			checker.Observe(believing("A", trace.Command{Call: "lock", Args: []string{"TIME"}, Reply: []any{"0", "7000"}}, trace.Absent(), nil))
		}
		checker.Observe(believing("A", trace.Command{Call: "lock", Args: []string{"GETSET", "k", c.value}}, key, nil))
		checker.Observe(believing("A", trace.End{Result: trace.Done}, key, nil))
		if got := checker.Finish(key); len(got) != c.found {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A key that its last release has kept is meant to be there; one that was kept before somebody
// was granted the lock again is not, nor is one that has lost its expiry.
func TestAKeptKeyIsMeantToBe(t *testing.T) {
	value := ownerA
	key := func(pttl int64) trace.KeyState {
		return trace.KeyState{Type: trace.TypeString, Value: &value, PTTL: pttl}
	}
	keeps := trace.Command{Call: "unlock", Script: protocol.MutexKeep.Name, Args: []string{"PEXPIRE", "k", "60000"}, Reply: int64(1)}
	refused := keeps
	refused.Reply = int64(0)
	for _, c := range []struct {
		name    string
		release trace.Command
		again   bool // the lock was granted afterwards
		left    int64
		found   int
	}{
		{"kept", keeps, false, 50_000, 0},
		{"nothing to keep", refused, false, 50_000, 1},
		{"granted again", keeps, true, 50_000, 1},
		{"without an expiry", keeps, false, trace.NoExpiry, 1},
	} {
		checker := check.New(map[string]string{ownerA: "A"}, protocol.InRedis, check.Kind{})
		checker.Observe(believing("A", c.release, key(60_000), nil))
		if c.again {
			checker.Observe(believing("A", trace.Outcome{Call: "lock", Result: trace.Acquired, Level: 1}, key(60_000), nil))
		}
		checker.Observe(believing("A", trace.End{Result: trace.Done}, key(60_000), nil))
		after := check.Never
		if c.left >= 0 {
			after = time.Duration(c.left) * time.Millisecond
		}
		if got := checker.Finish(key(c.left)); len(got) != c.found || len(checker.ShutOut(0, after, time.Second, nil, key(c.left))) != c.found {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// If the lease of one of two ended before the other got in, the sentence says how long
// ago; not if it ends as the other gets in.
func TestTogetherSaysWhoseKeyWasDropped(t *testing.T) {
	for _, c := range []struct {
		enters trace.Millis
		want   string
	}{
		{150, "A and B are inside at once: Redis dropped A's key 50ms ago."},
		{100, "A and B are inside at once, and in Redis the lock is B's."},
	} {
		checker := check.New(map[string]string{ownerA: "A", ownerB: "B"}, protocol.InRedis, check.Kind{})
		acquired := trace.Outcome{Call: "lock", Result: trace.Acquired}
		a, both := map[string]int{"A": 1}, map[string]int{"A": 1, "B": 1}
		var last []check.Finding
		for i, e := range []trace.Event{
			believing("A", acquired, held(ownerA, "1"), a),
			at(100, believing("", trace.Expired{Was: held(ownerA, "1")}, trace.Absent(), a)),
			at(c.enters, believing("B", acquired, held(ownerB, "1"), both)),
		} {
			e.Seq = i + 1
			last = checker.Observe(e)
		}
		if len(last) != 1 || last[0].Why.String() != c.want {
			t.Errorf("B enters at %v: %+v, want %q", c.enters, last, c.want)
		}
	}
}

// A foreign trace can say what no rule finds.
func TestAViolationThatNoRuleFinds(t *testing.T) {
	for _, c := range []struct {
		v    trace.Violation
		want string
	}{
		{trace.Violation{Rule: check.ShutOut, Detail: "it hangs"}, "Redis and the threads have broken a rule: shut-out."},
		{trace.Violation{Rule: "orphan", Detail: "a key"}, "Redis and the threads have broken a rule: shut-out."},
		{trace.Violation{Rule: "what-else", Threads: []string{"A"}, Detail: "it did"}, "A has broken a rule: what-else."},
	} {
		b := check.NewFindings(map[string]string{ownerA: "A"}, protocol.InRedis, check.Kind{}, nil)
		e := trace.Event{Seq: 1, Body: c.v, Key: trace.Absent()}
		b.See(e)
		if got := b.Of(e, c.v); got.Why.String() != c.want || got.Says.String() != c.v.Detail {
			t.Errorf("%s says %q, %q", c.v.Rule, got.Says, got.Why)
		}
	}
}
