// Package labtest tries a Go lock in every order, in a test:
//
//	func TestLock(t *testing.T) {
//		labtest.Search(t, labtest.Options{Faults: []string{labtest.LeaseEnds}},
//			func(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
//				l := mylock.New(client, "invoice:7")
//				if l.Lock(ctx) != nil {
//					return // refused: that is one way for a round to end
//				}
//				marks.Enter(ctx)
//				marks.Leave(ctx)
//				l.Unlock(ctx)
//			})
//	}
//
// [Search] runs the round in two threads or more of the test's process, each with a client of its
// own. Between them and an embedded Redis stands a gate that holds each command until it is its
// turn, so that all orders of their commands are tried, and in each a fault at every command, if
// faults are asked for. A rule that breaks fails the test: the log has the smallest order as a
// table, each command with its answer and the lock's key right after it, and a line that replays
// just that order.
//
// The marks say who is inside: [Marks.Enter] comes after the lock was granted, and [Marks.Leave]
// before it is given back. With them the lock may be of any kind. At the end of an order each
// thread plays one more round alone: somebody who cannot get in is shut out.
//
// A round should ask a few times and then return, wait milliseconds between its tries, and leave no
// goroutine behind. It starts on an empty Redis, with what its client knew before. Redis' clock
// stands still, but for [LeaseEnds], and the round's is the wall's.
//
// "No rule is broken" is said only if the test could have found something: two threads were inside,
// each fault has struck, and so on. Otherwise the test fails, too, and says what was missing and
// what helps; [Options.MayBeUnjudged] leaves that out.
//
// With [LeaseEnds] two can be inside of any lock that has a lease. Where what the lock protects
// checks a token, allow it: with Inside 2 and Resource, a lost update still breaks a rule.
package labtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/engine/verdict"
)

// Faults that can strike a command, or Redis.
const (
	LoseRequest = lab.LoseRequest // the command never comes to Redis, and its client gets an error
	LoseReply   = lab.LoseReply   // Redis carries it out, and its client gets an error
	LoseMessage = lab.LoseMessage // a message to a subscriber is lost
	Delay       = lab.Delay       // it comes 300 ms later, by Redis' clock
	LateCopy    = lab.LateCopy    // the network delivers it once more, later
	LeaseEnds   = lab.LeaseEnds   // Redis' clock goes on to the next expiry: the client paused for that long
	Evict       = lab.Evict       // the lock's key is gone
)

// Round is what each thread does once in each order. It must return soon after ctx has ended.
type Round func(ctx context.Context, client *redis.Client, marks *Marks)

// Options say what to try. The zero value is two threads without faults.
type Options struct {
	Threads   int                    // 2 to 4; 0 is 2
	Faults    []string               // kinds that may strike: LoseReply, LeaseEnds, …
	MaxFaults int                    // in one order, 1 to 4; 0 is 1 where there are Faults
	MaxOrders int                    // to try, 1 to 1,000,000; 0 is 2,000. Of more, some are drawn, and the lock is not judged
	Lock      string                 // its key, or several with commas between them; "" finds it
	Inside    int                    // how many may be inside at once; 0 is 1
	Resource  string                 // the key of what the lock protects: its GETs and SETs are reads and writes
	Timeout   time.Duration          // how long a thread may send nothing, and do nothing; 0 is 10 s
	Client    func(o *redis.Options) // changes the options of each thread's client; nil changes nothing

	// MayBeUnjudged lets the test pass though nothing can be said about the lock.
	MayBeUnjudged bool
}

// Order is the variable of the environment that has [Search] play one order alone. A test that has
// failed prints it with its value.
const Order = "RELOCK_ORDER"

// Marks tell the search where its thread is. Its methods are for the goroutine of its round.
type Marks struct {
	// Thread is the thread's name: A, B, …
	Thread string

	client *redis.Client
}

// Enter says that the thread is inside. Several locks have names, given as what; a lock of readers
// and a writer has [Reads] for a reader.
func (m *Marks) Enter(ctx context.Context, what ...string) { m.mark(ctx, infer.MarkEnter, what) }

// Leave says that the thread is about to give the lock back. What is as for Enter.
func (m *Marks) Leave(ctx context.Context, what ...string) { m.mark(ctx, infer.MarkLeave, what) }

// Reads is a mark's word for a reader, who may be inside with other readers.
const Reads = infer.MarkRead

func (m *Marks) mark(ctx context.Context, mark string, what []string) {
	m.client.Echo(ctx, strings.Join(append([]string{mark}, what...), " ")) // a round that is over has no mark
}

// Search plays the round in every order within the options, and fails the test if a rule is broken,
// if the lock cannot be judged, or if a thread hangs or panics. Shortly before the deadline of all
// tests it stops, and says what it has found. It is not for parallel subtests that share what their
// rounds do.
func Search(t testing.TB, o Options, round Round) {
	t.Helper()
	s, err := o.search(round)
	if err != nil {
		t.Fatalf("labtest: %v", err)
	}
	ctx := t.Context()
	if limited, is := t.(interface{ Deadline() (time.Time, bool) }); is {
		if at, is := limited.Deadline(); is { // of all tests: what was found until then is told
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, at.Add(-min(time.Until(at)/10, 5*time.Second)))
			defer cancel()
		}
	}
	found, alone, err := s.play(ctx, os.Getenv(Order))
	if err != nil {
		t.Fatalf("labtest: %v", err)
	}
	r := report{search: s, found: found, alone: alone, name: t.Name()}
	if text, passed := r.text(); passed {
		t.Log(text)
	} else {
		t.Error(text)
	}
}

// search is what Search tries.
type search struct {
	lab.Options

	lenient bool
}

func (o Options) search(round Round) (search, error) {
	faults := 0
	if len(o.Faults) > 0 {
		faults = 1
	}
	for _, n := range []struct {
		name               string
		of                 *int
		usual, least, most int
	}{
		{"Threads", &o.Threads, 2, 2, 4},
		{"MaxFaults", &o.MaxFaults, faults, 1, lab.MaxFaults},
		{"MaxOrders", &o.MaxOrders, 2000, 1, lab.MaxOrders},
		{"Inside", &o.Inside, 1, 1, check.MostPermits},
	} {
		if *n.of == 0 {
			*n.of = n.usual
		} else if *n.of < n.least || *n.of > n.most {
			return search{}, fmt.Errorf("option %s: %d; allowed: %d to %d", n.name, *n.of, n.least, n.most)
		}
	}
	allowed := []string{LoseRequest, LoseReply, LoseMessage, Delay, LateCopy, LeaseEnds, Evict}
	for _, name := range o.Faults {
		if !slices.Contains(allowed, name) {
			return search{}, fmt.Errorf("option Faults: %.40q; allowed: %s", name, strings.Join(allowed, ", "))
		}
	}
	if o.Timeout < 0 {
		return search{}, fmt.Errorf("option Timeout: %s; allowed: more than 0", o.Timeout)
	}
	kind, err := check.Inside(o.Inside)
	if err != nil {
		return search{}, err
	}
	s := search{lab.Options{
		Rounds: rounds(round, o.Client), Threads: o.Threads, Faults: o.Faults, MaxFaults: o.MaxFaults, MaxOrders: o.MaxOrders,
		Kind: kind, Resource: o.Resource, Clock: lab.ClockGate, Seed: 1, Timeout: cmp.Or(o.Timeout, 10*time.Second),
	}, o.MayBeUnjudged}
	if o.Lock != "" {
		if s.Options, err = s.Of(o.Lock); err != nil {
			return search{}, fmt.Errorf("option Lock: %w", err)
		}
	}
	return s, s.Check()
}

// rounds plays a thread's rounds on a client of its own.
func rounds(round Round, change func(*redis.Options)) lab.Rounds {
	return func(ctx context.Context, thread string, addresses []string) error {
		o := &redis.Options{Addr: addresses[0], ContextTimeoutEnabled: true, DisableIdentity: true}
		if change != nil {
			change(o)
		}
		client := redis.NewClient(o)
		closes := context.AfterFunc(ctx, func() { _ = client.Close() }) // a read does not end with its context
		defer func() {
			if closes() {
				_ = client.Close()
			}
		}()
		marks := &Marks{thread, client}
		for {
			if err := client.Echo(ctx, infer.MarkRound).Err(); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("ask for a round: %w", err)
			}
			round(ctx, client, marks)
		}
	}
}

// play plays all orders, or the one given.
func (s search) play(ctx context.Context, order string) (*lab.Found, *lab.Order, error) {
	if order == "" {
		found, err := lab.Search(ctx, s.Options)
		return found, nil, err
	}
	way, err := lab.ReadOrder(strings.NewReader(order))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", Order, err)
	}
	one, found, err := lab.Replay(ctx, s.Options, way)
	return found, one, err
}

// report says what a search has found.
type report struct {
	search

	found *lab.Found
	alone *lab.Order // that was replayed, or nil
	name  string     // the test's
}

// text is all that it says, and whether the test has passed.
func (r report) text() (text string, passed bool) {
	f, j := r.found, r.found.Judgement()
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch {
	case f.Failed != nil:
		line("%v", f.Failed)
	case r.alone != nil:
		line("one order, replayed:")
		r.table(&b, r.alone)
	default:
		line("%s %d orders a second.", lab.Ended(f.Ending, strconv.Itoa(f.Orders), strconv.Itoa(f.Broken), f.Diverged, j.Verdict), int(float64(f.Orders)/max(f.Took, time.Millisecond).Seconds()))
	}
	told := map[*lab.Order]bool{r.alone: true}
	for _, rule := range f.Rules {
		line("%s (%s): in %d of %d orders", r.Kind.Title(rule.Name), rule.Name, rule.Orders, f.Orders)
		if told[rule.Order] {
			continue
		}
		told[rule.Order] = true
		line("The smallest order that breaks it:")
		r.table(&b, rule.Order)
		line("Replay it: %s=%s go test -run %s", Order, quoted(lab.Line(rule.Order.Decisions)), quoted("^"+strings.ReplaceAll(regexp.QuoteMeta(r.name), "/", "$/^")+"$"))
	}
	switch {
	case f.Failed != nil || j.Verdict == verdict.Broken:
		return b.String(), false
	case r.alone != nil || j.Verdict == verdict.Unbroken:
		return b.String(), true
	}
	line("The lock cannot be judged:")
	for _, lack := range j.Unjudged {
		line("- %s %s", lack.Says, helps(lack))
	}
	return b.String(), r.lenient
}

// quoted is a word as a shell reads it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// table writes an order.
func (r report) table(b *strings.Builder, o *lab.Order) {
	for _, row := range o.Rows(r.found, r.Options) {
		mark := "  "
		if row.Bad {
			mark = "! "
		}
		fmt.Fprintf(b, "%s%s\n", mark, row.Says)
	}
}

// settings are this package's names for what advice says to set.
var settings = map[verdict.Setting]string{
	verdict.TheLock:   "Options.Lock",
	verdict.Faults:    "Options.Faults",
	verdict.MaxOrders: "Options.MaxOrders",
	verdict.RealRedis: "playground lab -redis URL",
}

// helps says what a person can do about what is missing, with the names of this package.
func helps(l verdict.Lack) string {
	switch l.Reason {
	case verdict.NobodyInside, verdict.OneInside:
		return "Let the round call marks.Enter and marks.Leave, and try more often to get the lock."
	case verdict.KindUnknown:
		return "Let the round call marks.Enter and marks.Leave."
	}
	says := l.Helps.String()
	if l.Set != "" {
		says += " (" + settings[l.Set] + ")"
	}
	return says
}
