package labtest_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/outside/lab"
	"relock/engine/outside/labtest"
)

// judge is a test that is searched, and that may fail.
type judge struct {
	testing.TB

	failed bool
	text   string
	name   string        // "" is TestLock/inside
	left   time.Duration // until the deadline of all tests; 0 is none
}

func (j *judge) Helper()                  {}
func (j *judge) Name() string             { return cmp.Or(j.name, "TestLock/inside") }
func (j *judge) Context() context.Context { return context.Background() }
func (j *judge) Log(args ...any)          { j.text += fmt.Sprintln(args...) }

func (j *judge) Deadline() (time.Time, bool) { return time.Now().Add(j.left), j.left > 0 }

func (j *judge) Error(args ...any) {
	j.failed = true
	j.Log(args...)
}

func (j *judge) Fatalf(format string, args ...any) {
	j.Error(fmt.Sprintf(format, args...))
	panic(j) // which ends it, as FailNow does
}

func (j *judge) String() string {
	if j.failed {
		return "failed"
	}
	return "passed"
}

// searched is what a search says, and whether it has passed.
func searched(o labtest.Options, round labtest.Round) *judge {
	return (&judge{}).searched(o, round)
}

func (j *judge) searched(o labtest.Options, round labtest.Round) (same *judge) {
	same = j
	defer func() {
		if told := recover(); told != nil && told != any(j) {
			panic(told)
		}
	}()
	labtest.Search(j, o, round)
	return j
}

// plain is a lock of SET NX and DEL.
func plain(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
	if ok, err := client.SetNX(ctx, "invoice:7", marks.Thread, time.Second).Result(); !ok || err != nil {
		return
	}
	marks.Enter(ctx)
	marks.Leave(ctx)
	client.Del(ctx, "invoice:7")
}

// counted is a lock of two commands, with no expiry between them.
func counted(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
	if n, err := client.Incr(ctx, "invoice:7").Result(); n != 1 || err != nil {
		return
	}
	client.PExpire(ctx, "invoice:7", time.Second)
	marks.Enter(ctx)
	marks.Leave(ctx)
	client.Del(ctx, "invoice:7")
}

// permits lets in two, by a count that it looks at before it takes one.
func permits(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
	if n, err := client.Get(ctx, "seats").Int(); n >= 2 || err != nil && err != redis.Nil { //nolint:errorlint // as go-redis documents it
		return
	}
	client.Incr(ctx, "seats")
	marks.Enter(ctx)
	marks.Leave(ctx)
	client.Decr(ctx, "seats")
}

func TestLocksAreJudged(t *testing.T) {
	unretried := func(o *redis.Options) { o.MaxRetries = -1 }
	for name, c := range map[string]struct {
		o      labtest.Options
		round  labtest.Round
		passes bool
		want   []string // what it says
	}{
		"one at a time":        {labtest.Options{}, plain, true, []string{"none breaks a rule"}},
		"deletes another's":    {labtest.Options{Faults: []string{labtest.LeaseEnds}}, plain, false, []string{"foreign-release", "! another's lock released", "lease-ends", "Replay it: " + labtest.Order + "='[{"}},
		"stays without expiry": {labtest.Options{Faults: []string{labtest.LoseReply}, Client: unretried}, counted, false, []string{"shut-out", "incr invoice:7 → 1", "(lose-reply)"}},
		"a race for a seat":    {labtest.Options{Threads: 3, Inside: 2, MaxOrders: 100}, permits, false, []string{"more inside than permits"}},
		"enough seats":         {labtest.Options{Inside: 2}, permits, true, []string{"none breaks a rule"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := searched(c.o, c.round)
			if j.failed == c.passes {
				t.Errorf("%v", j)
			}
			for _, want := range c.want {
				if !strings.Contains(j.text, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() {
				t.Log(j.text)
			}
		})
	}
}

// The line that a failed test prints replays its order, and says whether it still breaks the rule.
func TestAnOrderIsReplayed(t *testing.T) {
	o := labtest.Options{Faults: []string{labtest.LeaseEnds}}
	line := regexp.MustCompile(labtest.Order + `='(.*)' go test -run '\^TestLock\$/\^inside\$'`).FindStringSubmatch(searched(o, plain).text)
	if line == nil {
		t.Fatal("no line to replay an order")
	}
	t.Setenv(labtest.Order, line[1])
	if j := searched(o, plain); !j.failed || !strings.HasPrefix(j.text, "one order, replayed:") || !strings.Contains(j.text, "! two inside at once") {
		t.Errorf("the same lock: %v\n%s", j, j.text)
	}
	unending := func(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
		if ok, err := client.SetNX(ctx, "invoice:7", marks.Thread, 0).Result(); ok && err == nil {
			marks.Enter(ctx)
			marks.Leave(ctx)
			client.Del(ctx, "invoice:7")
		}
	}
	if j := searched(o, unending); j.failed || !strings.HasPrefix(j.text, "one order, replayed:") {
		t.Errorf("without an expiry: %v\n%s", j, j.text)
	}
	t.Setenv(labtest.Order, "no order")
	if j := searched(o, plain); !j.failed || !strings.Contains(j.text, "it is not an order; allowed:") {
		t.Errorf("no order: %v\n%s", j, j.text)
	}
}

// A shell and go test read the line as it is meant, whatever the subtest is called.
func TestALineToReplayIsQuoted(t *testing.T) {
	j := (&judge{name: "TestLock/another's_(v2)"}).searched(labtest.Options{Faults: []string{labtest.LeaseEnds}}, plain)
	_, line, _ := strings.Cut(j.text, "Replay it: ")
	line, _, _ = strings.Cut(line, "\n")
	_, command, _ := strings.Cut(line, " go test")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n'`+command).Output()
	if want := "-run\n^TestLock$/^another's_\\(v2\\)$\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q; the line: %s", err, out, want, line)
	}
}

// What was found until the deadline of all tests is told.
func TestADeadlineIsKept(t *testing.T) {
	j := (&judge{left: time.Second}).searched(labtest.Options{Threads: 4, Faults: []string{labtest.Evict, labtest.LoseRequest}, MaxFaults: 4, MaxOrders: 1_000_000}, plain)
	if !j.failed || !strings.HasPrefix(j.text, "The search was stopped: ") {
		t.Errorf("%v\n%s", j, j.text)
	}
}

// A lock of which nothing can be said fails the test, and what helps has this package's names.
func TestWhatCannotBeJudgedFails(t *testing.T) {
	silent := func(ctx context.Context, client *redis.Client, _ *labtest.Marks) { client.Get(ctx, "invoice:7") }
	for _, c := range []struct {
		name  string
		o     labtest.Options
		round labtest.Round
		helps string
	}{
		{"no key", labtest.Options{}, silent, "Options.Lock"},
		{"a named key that nobody makes", labtest.Options{Lock: "invoice:7"}, silent, "It is not invoice:7."},
		{"of an unknown kind", labtest.Options{Lock: "invoice:7"}, func(ctx context.Context, client *redis.Client, _ *labtest.Marks) {
			client.RPush(ctx, "invoice:7", "a", "b")
		}, "marks.Enter"},
		{"a fault that never strikes", labtest.Options{Faults: []string{labtest.LoseMessage}}, plain, "Options.Faults"},
		{"too many orders", labtest.Options{MaxOrders: 3}, plain, "Options.MaxOrders"},
	} {
		if j := searched(c.o, c.round); !j.failed || !strings.Contains(j.text, "cannot be judged") || !strings.Contains(j.text, c.helps) {
			t.Errorf("%s: %v; want a failure that says %s\n%s", c.name, j, c.helps, j.text)
		}
		c.o.MayBeUnjudged = true
		if j := searched(c.o, c.round); j.failed || !strings.Contains(j.text, "cannot be judged") {
			t.Errorf("%s, which may be: %v\n%s", c.name, j, j.text)
		}
	}
}

func TestAThreadFails(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	for name, c := range map[string]struct {
		round labtest.Round
		want  string
	}{
		"panics": {func(context.Context, *redis.Client, *labtest.Marks) { panic("no script") }, "it panicked: no script"},
		"gives up": {func(ctx context.Context, client *redis.Client, _ *labtest.Marks) {
			client.Get(ctx, "invoice:7")
			(&testing.T{}).FailNow()
		}, "it called runtime.Goexit"},
		"hangs":          {func(ctx context.Context, _ *redis.Client, _ *labtest.Marks) { <-ctx.Done() }, "hangs: it has been silent for 200"},
		"hangs for ever": {func(context.Context, *redis.Client, *labtest.Marks) { <-over }, "hangs: it has been silent for 200"},
	} {
		if j := searched(labtest.Options{Timeout: 200 * time.Millisecond}, c.round); !j.failed || !strings.Contains(j.text, c.want) {
			t.Errorf("%s: %v; want %q\n%s", name, j, c.want, j.text)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o    labtest.Options
		want string
	}{
		{labtest.Options{Threads: 1}, "Threads: 1; allowed: 2 to 4"},
		{labtest.Options{Threads: 5}, "Threads: 5; allowed: 2 to 4"},
		{labtest.Options{Faults: []string{"crash"}}, `Faults: "crash"; allowed: lose-request`},
		{labtest.Options{Faults: []string{labtest.Delay}, MaxFaults: 9}, "MaxFaults: 9; allowed: 1 to 4"},
		{labtest.Options{MaxOrders: -1}, "MaxOrders: -1; allowed: 1 to 1000000"},
		{labtest.Options{Inside: -1}, "Inside: -1; allowed: 1 to"},
		{labtest.Options{Timeout: -1}, "Timeout: -1ns; allowed: more than 0"},
		{labtest.Options{Lock: "a,a"}, "Lock"},
	} {
		if j := searched(c.o, plain); !j.failed || !strings.Contains(j.text, c.want) {
			t.Errorf("%+v: %s; want %q", c.o, j.text, c.want)
		}
	}
}

// The same round in goroutines of this process, and in processes of their own.
func BenchmarkOrders(b *testing.B) {
	worker := filepath.Join(b.TempDir(), "worker")
	build := exec.Command("go", "build", "-o", worker, "../../../lessons/libraries/_workers/relock.go")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var ours sync.Map // by client
	round := func(ctx context.Context, client *redis.Client, marks *labtest.Marks) {
		locks, ok := ours.Load(client)
		if !ok {
			made, err := lock.New(client, lock.Options{Lease: 2 * time.Second, Retries: 2, Interval: time.Millisecond})
			if err != nil {
				panic(err)
			}
			locks, _ = ours.LoadOrStore(client, made)
		}
		_ = locks.(*lock.Locker).Do(ctx, "invoice:7", func(ctx context.Context) error {
			marks.Enter(ctx)
			marks.Leave(ctx)
			return nil
		})
	}
	each := func(b *testing.B, search func() int) {
		orders := 0
		for b.Loop() {
			orders += search()
		}
		b.ReportMetric(float64(orders)/b.Elapsed().Seconds(), "orders/s")
	}
	counted := regexp.MustCompile(`All (\d+) orders`)
	b.Run("goroutines", func(b *testing.B) {
		each(b, func() (n int) {
			j := searched(labtest.Options{Faults: []string{labtest.LoseReply}}, round)
			if _, err := fmt.Sscanf(counted.FindString(j.text), "All %d orders", &n); err != nil || j.failed {
				b.Fatal(j.text)
			}
			return n
		})
	})
	b.Run("processes", func(b *testing.B) {
		each(b, func() int {
			found, err := lab.Search(b.Context(), lab.Options{Command: []string{worker}, Env: os.Environ(), Threads: 2, Faults: []string{lab.LoseReply}, MaxFaults: 1, MaxOrders: 2000, Clock: lab.ClockGate, Seed: 1, Timeout: time.Minute})
			if err != nil || found.Ending != lab.Exhausted {
				b.Fatal(found.Ending, err)
			}
			return found.Orders
		})
	})
}
