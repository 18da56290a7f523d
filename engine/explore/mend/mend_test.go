package mend_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/engine/check"
	"relock/engine/explore"
	"relock/engine/explore/mend"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

func parsed(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func bundled(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	text, err := os.ReadFile("../../../lessons/scenarios/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, string(text))
}

// The changes known to mend these scenarios do, and the others do not.
func TestKnownCures(t *testing.T) {
	for _, c := range []struct {
		scenario string
		before   string // broken of all
		best     string // "": nothing mends it
		resource bool   // no lock does
		short    int    // states with -short, enough for all but locks of a majority; 0: not then
		verdicts map[string]mend.Verdict
	}{
		{"lease-expiry", "38 of 53", "watchdog: 66ms", false, 1_000, map[string]mend.Verdict{
			"lease: 500ms": mend.UpTo, "on-lost: stop": mend.Mends, "watchdog: 66ms": mend.Mends, "protocol: fenced": mend.Nothing,
		}},
		{"mutex-get-del", "7 of 99", "protocol: mutex", false, 1_000, map[string]mend.Verdict{
			"protocol: reentrant": mend.Mends, "protocol: redlock": mend.Unsure, "on-lost: stop": mend.Nothing, "lease: 500ms": mend.Nothing,
		}},
		{"naive-lost-reply", "80 of 96", "protocol: reentrant", false, 0, map[string]mend.Verdict{
			"protocol: reentrant-sequenced": mend.Mends, "watchdog: 66ms": mend.Partly, "lease: 500ms": mend.Nothing,
		}},
		{"late-write-without-a-token", "42 of 55", "checks: version", true, 3_000, map[string]mend.Verdict{
			"checks: version": mend.Protects, "checks: token, protocol: fenced": mend.Partly, "on-lost: stop": mend.Partly, "lease: 500ms": mend.UpTo, "protocol: reentrant-sequenced": mend.Nothing,
		}},
		{"invoice-sent-twice", "77 of 96", "checks: key", true, 0, map[string]mend.Verdict{
			"checks: token, protocol: fenced": mend.Partly, "protocol: mutex": mend.Nothing, "on-lost: stop": mend.Nothing,
		}},
		{"two-threads", "0 of 1574", "", false, 3_000, nil},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			if c.short == 0 && testing.Short() {
				t.Skip("long: make soak does it")
			}
			sc := bundled(t, c.scenario)
			told := 0
			b := mend.BoundsOf(sc)
			if testing.Short() {
				b.MaxStates = c.short
			}
			r, err := mend.Search(t.Context(), sc, b, mend.Options{Found: func(r *mend.Report, cure *mend.Cure) {
				if told != r.Tried || told > 0 != (cure != nil) {
					t.Errorf("told %d times, %d tried, %v", told, r.Tried, cure)
				}
				told++
			}})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s of %s", r.Before.Broken, r.Before.Orders); got != c.before {
				t.Errorf("before: %s, want %s", got, c.before)
			}
			best := ""
			if b := r.Best(); b != nil {
				best = b.Name
			}
			if best != c.best || r.NeedsResource() != c.resource {
				t.Errorf("best %q, needs the resource %v; want %q, %v", best, r.NeedsResource(), c.best, c.resource)
			}
			if r.Tried != r.Changes || len(r.Cures) != r.Tried || told != r.Tried+1 || r.Stopped {
				t.Errorf("%d of %d tried, %d cures, told %d times", r.Tried, r.Changes, len(r.Cures), told)
			}
			seen := map[string]mend.Verdict{}
			for _, cure := range r.Cures {
				if seen[cure.Name] != "" {
					t.Errorf("%s is there twice", cure.Name)
				}
				seen[cure.Name] = cure.Verdict
			}
			for name, want := range c.verdicts {
				if seen[name] != want {
					t.Errorf("%s: %q, want %q", name, seen[name], want)
				}
			}
		})
	}
}

// Of a deadlock one order of the locks is the cure, and giving back; a longer lease, or
// another lock, is none.
func TestTheCuresOfADeadlock(t *testing.T) {
	bounds := explore.Bounds{Delays: 1}
	if testing.Short() { // then no delay is needed to find it
		bounds.Delays = 0
	}
	for _, times := range []string{"3", "unlimited"} {
		sc := bundled(t, "two-locks-deadlock")
		if times != "3" {
			other, err := sc.Change(map[string]any{"lock": map[string]any{"retry": map[string]any{"times": times}}, "expect": nil})
			if err != nil {
				t.Fatal(err)
			}
			sc = other
		}
		r, err := mend.Search(t.Context(), sc, bounds, mend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Before.Breaks(check.Deadlock) == nil {
			t.Errorf("%s retries: no deadlock before", times)
		}
		want := map[string]mend.Verdict{
			"takes: in the order of locks": mend.Mends, "give-back: true, jitter: 0ms-50ms": mend.Mends,
			"lease: 1m": mend.Nothing, "on-lost: stop": mend.Nothing, "protocol: reentrant": mend.Nothing,
		}
		for _, c := range r.Cures {
			if v, known := want[c.Name]; known && v != c.Verdict {
				t.Errorf("%s retries, %s: %q, want %q", times, c.Name, c.Verdict, v)
			}
			delete(want, c.Name)
		}
		if len(want) > 0 {
			t.Errorf("%s retries: not tried: %v", times, want)
		}
		if best := r.Best(); best == nil || best.Kind != mend.Order {
			t.Errorf("%s retries: the best is %+v", times, best)
		}
	}
}

// Each number equals a separate search of the changed scenario, and each example breaks
// what it says.
func TestACureIsWhatASearchFinds(t *testing.T) {
	sc := bundled(t, "late-write-without-a-token")
	b := explore.Bounds{Delays: 1}
	r, err := mend.Search(t.Context(), sc, b, mend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n, cure := range r.Cures {
		if testing.Short() && n%3 > 0 {
			continue
		}
		space, err := explore.Search(t.Context(), cure.Scenario, explore.Bounds{Delays: 1, MaxStates: mend.States}, explore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if cure.After.Orders.Cmp(space.Schedules()) != 0 || cure.After.Broken.Cmp(space.Broken()) != 0 {
			t.Errorf("%s: %s of %s, but alone %s of %s", cure.Name, cure.After.Broken, cure.After.Orders, space.Broken(), space.Schedules())
		}
		example := cure.After.Example()
		if len(cure.After.Rules) > 0 != (len(example.Schedule) > 0) {
			t.Errorf("%s: the example has %d moves", cure.Name, len(example.Schedule))
		}
		if example.Expect != nil || r.Scenario.Expect != nil && cure.Scenario.Expect != nil {
			t.Errorf("%s expects what the scenario did", cure.Name)
		}
	}
}

// The same on one worker as on several.
func TestTheSameOnAnyNumberOfWorkers(t *testing.T) {
	sc := bundled(t, "mutex-unsafe")
	var texts []string
	for _, workers := range []int{1, 3} {
		var text strings.Builder
		_, err := mend.Search(t.Context(), sc, explore.Bounds{Delays: 1}, mend.Options{Workers: workers, Found: func(r *mend.Report, c *mend.Cure) {
			if c != nil {
				fmt.Fprintln(&text, c.Name, c.Verdict, c.After.Orders, c.After.Broken, c.Gone, c.Left, c.New)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text.String())
	}
	if texts[0] != texts[1] || texts[0] == "" {
		t.Errorf("on one:\n%s\non three:\n%s", texts[0], texts[1])
	}
}

// Stopped, it returns what was found so far.
func TestItCanBeStopped(t *testing.T) {
	sc := bundled(t, "mutex-get-del")
	ctx, stop := context.WithCancel(t.Context())
	r, err := mend.Search(ctx, sc, mend.BoundsOf(sc), mend.Options{Found: func(r *mend.Report, _ *mend.Cure) {
		if r.Tried == 2 {
			stop()
		}
	}})
	if err != nil || !r.Stopped || r.Tried != 2 || len(r.Cures) != 2 || r.Changes <= 2 || r.NeedsResource() {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = mend.Search(ctx, sc, mend.BoundsOf(sc), mend.Options{})
	if err != nil || !r.Stopped || len(r.Cures) != 0 {
		t.Errorf("stopped before: %+v, %v", r, err)
	}
}

func TestBoundsOf(t *testing.T) {
	for _, c := range []struct {
		schedule string
		want     explore.Bounds
	}{
		{"[]", explore.Bounds{Delays: 2, MaxStates: mend.States}},
		{"[0, {until: 5ms}, {until: 6ms}, {until: 7ms}]", explore.Bounds{Delays: 3, MaxStates: mend.States}},
		{"[{do: crash, thread: A}]", explore.Bounds{Delays: 2, Kinds: []string{"crash"}, MaxFaults: 1, MaxStates: mend.States}},
		{"[{do: evict}, {do: evict}, {do: crash, thread: A}]", explore.Bounds{Delays: 2, Kinds: []string{"evict", "crash"}, MaxFaults: 2, MaxStates: mend.States}},
	} {
		got := mend.BoundsOf(parsed(t, "threads: [{name: A}]\nschedule: "+c.schedule))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.schedule, diff)
		}
	}
}

// If there are too many orders with so many delays, it searches fewer delays to the end;
// if somebody asked for just these, it cuts the search short.
func TestBoundsAreNarrowed(t *testing.T) {
	sc, b := bundled(t, "lease-expiry"), explore.Bounds{Delays: 2, MaxStates: 60}
	r, err := mend.Search(t.Context(), sc, b, mend.Options{Narrow: true})
	if err != nil || r.Bounds.Delays != 1 || !r.Before.All {
		t.Errorf("narrowed: %+v, %v", r.Bounds, err)
	}
	r, err = mend.Search(t.Context(), sc, b, mend.Options{})
	if err != nil || r.Bounds.Delays != 2 || r.Before.All {
		t.Errorf("as asked: %+v, %v", r.Bounds, err)
	}
}

// A lease is a length that a person would choose, beyond what is held and beyond the
// pause that was struck by hand.
func TestTheLeaseOutlastsWhatIsHeld(t *testing.T) {
	for _, c := range []struct{ scenario, want string }{
		{"lock: {lease: 200ms}\nthreads: [{name: A, work: 300ms}]", "lease: 500ms"},
		{"lock: {lease: 30s}\nthreads: [{name: A, work: 4s}]\nfaults: [{thread: A, at: work, do: pause, for: 35s}]", "lease: 1m"},
		{"lock: {lease: 30s}\nthreads: [{name: A, work: 0ms}]\nschedule: [{do: pause, thread: A, for: 2m}]", "lease: 3m"},
		{"lock: {lease: 1h}\nthreads: [{name: A}]", ""},
		{"lock: {protocol: none}\nthreads: [{name: A}]", ""},
	} {
		changes, err := mend.Changes(t.Context(), parsed(t, c.scenario))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if i := slices.IndexFunc(changes, func(c mend.Change) bool { return c.Kind == mend.Lease }); i >= 0 {
			got = changes[i].Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.scenario, got, c.want)
		}
	}
}

// A lock that its own holder cannot enter again is no cure for a run that does so.
func TestOnlyLocksThatCanDoIt(t *testing.T) {
	changes, err := mend.Changes(t.Context(), bundled(t, "naive-lost-reply"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := mend.Changes(t.Context(), bundled(t, "two-threads"))
	if err != nil {
		t.Fatal(err)
	}
	has := func(list []mend.Change, name string) bool {
		return slices.ContainsFunc(list, func(c mend.Change) bool { return c.Name == name })
	}
	if !has(changes, "protocol: redlock") || has(two, "protocol: redlock") || !has(two, "protocol: fenced") {
		t.Errorf("%v, %v", has(changes, "protocol: redlock"), has(two, "protocol: redlock"))
	}
}

// Where a check protects what the lock does, and leaves a rule that another lock keeps,
// the two are tried together; and what has the check already is said to be safe.
func TestACheckAndALockTogether(t *testing.T) {
	const text = `
lock: {protocol: mutex-get-del, lease: 3s, retry: {times: %d, interval: %s}}
resource: {kind: effect%s}
threads:
  - {name: A, work: 200ms}
  - {name: B, start: 500ms, work: 200ms}
faults:
  - {do: pause, thread: A, at: work, for: 3500ms}
`
	search := func(times int, interval, checks string) *mend.Report {
		sc := parsed(t, fmt.Sprintf(text, times, interval, checks))
		b := mend.BoundsOf(sc)
		b.MaxStates = 600 // of locks of a majority a quarter
		r, err := mend.Search(t.Context(), sc, b, mend.Options{Narrow: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := search(20, "200ms", "") // an attempt at 3,500 ms lets B end its work as A does
	var names []string
	for _, c := range r.Cures {
		if c.Verdict == mend.Protects {
			names = append(names, c.Name)
			if c.After.Breaks(check.DoneTwice) != nil {
				t.Errorf("%s: done twice all the same", c.Name)
			}
		}
	}
	if want := []string{"checks: key", "checks: key, protocol: mutex, watchdog: 1s"}; !slices.Equal(names, want) || r.Protected() {
		t.Errorf("what protects: %q, want %q", names, want)
	}
	if c := r.Cures[1]; c.After.Breaks(check.ForeignRelease) != nil || r.Cures[0].After.Breaks(check.ForeignRelease) == nil {
		t.Errorf("another's lock released: %v", c.After.Rules)
	}
	if safe := search(5, "1s", ", checks: key"); !safe.Broken() || !safe.Protected() || safe.NeedsResource() {
		t.Errorf("with the key: broken %v, protected %v", safe.Broken(), safe.Protected())
	}
}

// Where each pod runs the tick of a schedule and none looks whether another has, the key
// is kept after the work, or the tick has a key of its own; no other lock helps. A lock
// that cannot keep its key is changed to one that can, and what looks needs no such thing.
func TestATickIsKeptOrHasAKey(t *testing.T) {
	for i, c := range []struct {
		lock, resource, best string
		orders               string
	}{
		{"protocol: mutex", "{kind: effect, looks: false, once-per: 1m}", "keep: 1m", "16 of 23"},
		{"protocol: reentrant", "{kind: effect, looks: false, once-per: 1m}", "protocol: mutex, keep: 1m", "16 of 23"},
		{"protocol: mutex", "{kind: effect, looks: false}", "checks: key", "16 of 23"},
		{"protocol: mutex, keep: 1m", "{kind: effect, looks: false, once-per: 1m}", "", "0 of 26"},
		{"protocol: mutex", "{kind: effect}", "", "0 of 23"},
	} {
		if testing.Short() && i > 0 {
			break
		}
		sc := parsed(t, "lock: {"+c.lock+", lease: 10s, watchdog: off, retry: {times: 1, interval: 1ms}}\nresource: "+c.resource+
			"\nthreads: [{name: A, work: 50ms}, {name: B, start: 300ms, work: 50ms}]\n")
		b := mend.BoundsOf(sc)
		b.MaxStates = 300 // of locks of a majority
		r, err := mend.Search(t.Context(), sc, b, mend.Options{Narrow: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s of %s", r.Before.Broken, r.Before.Orders); got != c.orders {
			t.Errorf("%s, %s: %s broken, want %s", c.lock, c.resource, got, c.orders)
		}
		best := ""
		if b := r.Best(); b != nil {
			best = b.Name
		}
		if best != c.best {
			t.Errorf("%s, %s: best %q, want %q", c.lock, c.resource, best, c.best)
		}
		for _, cure := range r.Cures {
			if kept := cure.Kind == mend.Keep; !kept && !cure.Helped() && cure.Verdict == mend.Mends {
				t.Errorf("%s, %s: %s mends it", c.lock, c.resource, cure.Name)
			}
		}
	}
}

// Each incident's cure is found from its broken file, and mends it. The two that break no
// rule, because somebody is only kept out for too long, are not mended here.
func TestTheCuresOfIncidents(t *testing.T) {
	wanted := map[string]mend.Verdict{"scope: work": mend.UpTo} // the whole process can pause, too
	for name, cure := range map[string]string{
		"bitnami-5418":   "wait: 1 of 1 in 500ms",
		"bull-476":       "scope: work",
		"hangfire-67":    "watchdog: 20s",
		"horizon-1738":   "protocol: mutex",
		"laravel-26213":  "protocol: mutex, watchdog: 3.333s",
		"redbeat-163":    "protocol: redlock",
		"redisson-5697":  "on-lost: stop",
		"redisson-7272":  "protocol: mutex",
		"redlocknet-101": "protocol: redlock, watchdog: 10s",
		"redlocknet-48":  "protocol: mutex, on-lost: stop",
		"redlocknet-68":  "max-hold: 15s",
		"tuf-151":        "watchdog: 1.666s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "redlocknet-68" {
				t.Skip("long")
			}
			text, err := os.ReadFile("../../../lessons/incidents/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			sc := parsed(t, string(text))
			b := mend.BoundsOf(sc)
			if testing.Short() {
				b.MaxStates = 1_000
			}
			r, err := mend.Search(t.Context(), sc, b, mend.Options{Narrow: true})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(r.Cures, func(c mend.Cure) bool { return c.Name == cure })
			if at < 0 || !slices.Contains([]mend.Verdict{mend.Mends, mend.Protects, wanted[cure]}, r.Cures[at].Verdict) {
				var list []string
				for _, c := range r.Cures {
					list = append(list, fmt.Sprint(c.Verdict, " ", c.Name, " ", c.After.Broken, " of ", c.After.Orders))
				}
				t.Errorf("%s of %s; %s does not mend it:\n%s", r.Before.Broken, r.Before.Orders, cure, strings.Join(list, "\n"))
			}
			if alone := wanted[cure] != mend.UpTo; alone == r.NeedsResource() {
				t.Errorf("a lock mends it alone: %v, needs the resource: %v", alone, r.NeedsResource())
			}
		})
	}
}

// A lock that is tried in place of one that does not renew renews only where the change
// says so.
func TestAWatchdogIsNamed(t *testing.T) {
	sc := parsed(t, `
lock: {protocol: mutex-unsafe, lease: 100ms, retry: {times: 5, interval: 50ms}}
threads: [{name: A, work: 130ms}, {name: B, start: 10ms, work: 80ms}]
`)
	changes, err := mend.Changes(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, c := range changes {
		l := c.Scenario.Lock
		renews := l.Implementation().HasWatchdog() && l.Watchdog > 0
		if says := strings.Contains(c.Name, "watchdog:"); says != renews {
			t.Errorf("%s renews: %v", c.Name, renews)
		} else if says {
			named++
		}
	}
	if named == 0 {
		t.Error("no change has a watchdog")
	}
}

// A change whose price is that a thread gives up says so, whatever kind it is of, and no
// other does.
func TestAChangeTellsWhoGivesUp(t *testing.T) {
	changes, err := mend.Changes(t.Context(), bundled(t, "lease-expiry"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[bool]int{}
	for _, c := range changes {
		calm := *c.Scenario.WithSchedule(nil)
		calm.Faults = nil
		r, err := run.New(&calm, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		events, _ := r.Log().Since(0)
		gives := slices.ContainsFunc(events, func(e trace.Event) bool {
			end, is := e.Body.(trace.End)
			return is && end.Result == trace.Exhausted
		})
		if says := strings.Contains(c.Note.String(), "A thread gives up"); says != gives {
			t.Errorf("%s: a thread gives up: %t; it says %q", c.Name, gives, c.Note)
		}
		told[gives]++
	}
	if told[true] == 0 || told[false] == 0 {
		t.Errorf("of the changes %d make a thread give up, and %d do not", told[true], told[false])
	}
}
