package mend

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// count reads "100 orders: 5 broken, 5 mutual-exclusion, 2 orphan"; "cut" behind "orders" says that not all
// were tried.
func count(t *testing.T, text string) Count {
	t.Helper()
	head, rest, _ := strings.Cut(text, ": ")
	var orders, n int64
	_, err := fmt.Sscan(head, &orders)
	if err != nil {
		t.Fatal(err)
	}
	c := Count{Orders: big.NewInt(orders), Broken: new(big.Int), All: !strings.HasSuffix(head, "cut")}
	for one := range strings.SplitSeq(rest, ", ") {
		var rule string
		if _, err := fmt.Sscan(one, &n, &rule); rest != "" && err != nil {
			t.Fatal(err)
		}
		switch rule {
		case "":
		case "broken":
			c.Broken = big.NewInt(n)
		default:
			c.Rules = append(c.Rules, Broken{Rule: rule, Orders: big.NewInt(n)})
		}
	}
	return c
}

// The verdict on a change, from how many orders break what before it and after it.
func TestVerdicts(t *testing.T) {
	const (
		none  = "100 orders"
		two   = "100 orders: 40 broken, 40 mutual-exclusion"
		both  = "100 orders: 40 broken, 40 mutual-exclusion, 20 orphan"
		harms = "100 orders: 40 broken, 40 mutual-exclusion, 20 lost-update"
	)
	for _, c := range []struct {
		name          string
		before, after string
		kind          Kind
		longer        string // "": it is tried with no longer pause
		want          Verdict
	}{
		{"nothing is left", two, none, Lock, "", Mends},
		{"nothing is left, whatever the pause", two, none, Watchdog, none, Mends},
		{"nothing is left, but with a longer pause", two, none, OnLost, "100 orders: 1 broken, 1 mutual-exclusion", UpTo},
		{"a lease is long enough for no pause", two, none, Lease, none, UpTo},
		{"a lease without a longer pause, too", two, none, Lease, "", UpTo},
		{"nothing was seen in those that were tried", two, "100 orders cut", Lock, "", Unsure},
		{"the longer pause was cut", two, none, Watchdog, "100 orders cut", UpTo},
		{"far fewer", two, "100 orders: 10 broken, 10 mutual-exclusion", Lock, "", Partly},
		{"just as many", two, two, Lock, "", Nothing},
		{"a few fewer", two, "100 orders: 31 broken, 31 mutual-exclusion", Lock, "", Nothing},
		{"clearly fewer", two, "100 orders: 29 broken, 29 mutual-exclusion", Lock, "", Partly},
		{"far fewer of those that were tried", two, "100 orders cut: 10 broken, 10 mutual-exclusion", Lock, "", Nothing},
		{"more", two, "100 orders: 80 broken, 80 mutual-exclusion", Lock, "", Nothing},
		{"a smaller part, of more orders", two, "1000 orders: 200 broken, 200 mutual-exclusion", Lock, "", Partly},
		{"fewer of one rule, as many of the other", both, "100 orders: 40 broken, 40 mutual-exclusion, 5 orphan", Lock, "", Partly},
		{"fewer of one rule, clearly more of the other", both, "100 orders: 40 broken, 10 mutual-exclusion, 40 orphan", Lock, "", Nothing},
		{"fewer of one rule, and a new one", two, "100 orders: 40 broken, 10 mutual-exclusion, 35 orphan", Lock, "", Nothing},
		{"no order comes to its end", two, "0 orders: 0 broken, 0 stuck", Lock, "", Nothing},
		{"what it protects comes to no harm", harms, "100 orders: 40 broken, 40 mutual-exclusion", Resource, "", Protects},
		{"a lock that does the same protects nothing", harms, "100 orders: 40 broken, 40 mutual-exclusion", Lock, "", Partly},
		{"where nothing was harmed nothing is protected", two, "100 orders: 40 broken, 40 mutual-exclusion", Resource, "", Nothing},
		{"it is harmed less", harms, "100 orders: 40 broken, 40 mutual-exclusion, 2 lost-update", Resource, "", Partly},
		{"no harm, but the lock is clearly worse", harms, "100 orders: 80 broken, 80 mutual-exclusion", Resource, "", Nothing},
		{"no harm, but a new rule is broken", harms, "100 orders: 40 broken, 40 mutual-exclusion, 1 stuck", Resource, "", Nothing},
		{"no harm in those that were tried", harms, "100 orders cut: 40 broken, 40 mutual-exclusion", Resource, "", Nothing},
	} {
		r := &Report{Before: count(t, c.before)}
		cure := &Cure{Change: Change{Kind: c.kind}, After: count(t, c.after)}
		if c.longer != "" {
			cure.Longer = &Longer{Count: count(t, c.longer)}
		}
		if have := r.verdict(cure); have != c.want {
			t.Errorf("%s: %s, want %s", c.name, have, c.want)
		}
	}
}

// Where nothing is left, a change mends; but one that holds only if the right replica takes
// over, or if the work pauses and not its process, does so up to there.
func TestAChangeThatHoldsOnlySometimes(t *testing.T) {
	waits := func(of int) *scenario.Scenario {
		return &scenario.Scenario{Lock: scenario.Lock{Wait: scenario.Sync{Count: of, Of: 2}}}
	}
	for name, c := range map[string]struct {
		change Change
		want   Verdict
	}{
		"it waits for both replicas":         {Change{Kind: Replicas, Scenario: waits(2)}, Mends},
		"it waits for one of two":            {Change{Kind: Replicas, Scenario: waits(1)}, UpTo},
		"a watchdog":                         {Change{Kind: Watchdog}, Mends},
		"a watchdog that runs apart from it": {Change{Kind: Watchdog, Name: apartName}, UpTo},
	} {
		r := &Report{Before: count(t, "100 orders: 40 broken, 40 mutual-exclusion")}
		if have := r.verdict(&Cure{Change: c.change, After: count(t, "100 orders")}); have != c.want {
			t.Errorf("%s: %s, want %s", name, have, c.want)
		}
	}
}

// No lock can mend an order in which a thread stands still for longer than its lease. A
// change after which only such orders break a rule mends, unless no others did before.
func TestWhatIsLeftStandsStill(t *testing.T) {
	broken := func(n, standing int64) Count {
		c := count(t, fmt.Sprintf("100 orders: %[1]d broken, %[1]d mutual-exclusion", n))
		c.Standing = big.NewInt(standing)
		return c
	}
	for _, c := range []struct {
		before, after Count
		want          Verdict
	}{
		{broken(40, 20), broken(10, 10), Mends},
		{broken(40, 20), broken(10, 9), Partly},
		{broken(40, 40), broken(10, 10), Partly},
		{broken(40, 20), broken(100, 100), Nothing},
	} {
		r := &Report{Before: c.before}
		if have := r.verdict(&Cure{Change: Change{Kind: Lock}, After: c.after}); have != c.want {
			t.Errorf("%v of %v stand still, then %v of %v: %s, want %s", c.before.Standing, c.before.Broken, c.after.Standing, c.after.Broken, have, c.want)
		}
	}
}

// The better of two cures stands first: by its verdict, then by what is left whatever the pause, of
// harm above all, then by what it costs.
func TestTheBetterCureIsFirst(t *testing.T) {
	r := &Report{Before: count(t, "100 orders: 40 broken, 40 mutual-exclusion, 20 lost-update")}
	cure := func(v Verdict, kind Kind, after, longer string) *Cure {
		c := &Cure{Change: Change{Kind: kind}, Verdict: v, After: count(t, after)}
		if longer != "" {
			c.Longer = &Longer{Count: count(t, longer)}
		}
		return c
	}
	const none = "100 orders"
	renewed, fewer := cure(Mends, Watchdog, "100 orders: 1 broken, 1 orphan", ""), cure(Mends, Watchdog, none, "")
	renewed.New, fewer.Lacks = []string{check.ShutOut}, 1
	for name, c := range map[string]struct{ first, second *Cure }{
		"mends before protects":              {cure(Mends, Lock, none, ""), cure(Protects, Resource, "100 orders: 1 broken, 1 orphan", "")},
		"protects before unsure":             {cure(Protects, Resource, "100 orders: 9 broken, 9 orphan", ""), cure(Unsure, Lock, none, "")},
		"unsure before up to a pause":        {cure(Unsure, Lock, none, ""), cure(UpTo, Lease, none, "100 orders: 1 broken, 1 orphan")},
		"partly before nothing":              {cure(Partly, Lock, "100 orders: 39 broken, 39 orphan", ""), cure(Nothing, Watchdog, "100 orders: 1 broken, 1 orphan", "")},
		"less with a longer pause":           {cure(Partly, Lock, "100 orders: 5 broken, 5 orphan", ""), cure(UpTo, Lease, none, "100 orders: 9 broken, 9 orphan")},
		"less harm before fewer broken":      {cure(Partly, Lock, "100 orders: 30 broken, 30 orphan", ""), cure(Partly, Watchdog, "100 orders: 5 broken, 5 lost-update", "")},
		"of those that mend, a setting":      {cure(Mends, Watchdog, "341 orders: 3 broken, 3 mutual-exclusion", ""), cure(Mends, OnLost, none, "")},
		"a setting before another lock":      {cure(Mends, Watchdog, none, ""), cure(Mends, Lock, none, "")},
		"another lock before the resource's": {cure(Mends, Lock, none, ""), cure(Mends, Resource, none, "")},
		"what breaks no new rule":            {cure(Mends, Lock, none, ""), renewed},
		"what was tried with all faults":     {cure(Mends, Lock, none, ""), fewer},
	} {
		if r.compare(c.first, c.second) >= 0 || r.compare(c.second, c.first) <= 0 {
			t.Errorf("%s: it is not so", name)
		}
	}
}

// It says that no lock mends it if two are inside, it tried every change, and none of the lock's
// helps.
func TestOnlyTheResourceHelps(t *testing.T) {
	sc := &scenario.Scenario{}
	inside, left := count(t, "100 orders: 40 broken, 40 mutual-exclusion"), count(t, "100 orders: 40 broken, 40 orphan")
	for _, c := range []struct {
		name string
		r    Report
		want bool
	}{
		{"nothing helps", Report{Before: inside}, true},
		{"the resource does", Report{Before: inside, Cures: []Cure{{Change: Change{Kind: Resource}, Verdict: Mends}}}, true},
		{"up to a pause", Report{Before: inside, Cures: []Cure{{Change: Change{Kind: Lease}, Verdict: UpTo}}}, true},
		{"a lock does", Report{Before: inside, Cures: []Cure{{Change: Change{Kind: Lock}, Verdict: Mends}}}, false},
		{"a lock may", Report{Before: inside, Cures: []Cure{{Change: Change{Kind: Lock}, Verdict: Unsure}}}, false},
		{"not all were tried", Report{Before: inside, Stopped: true}, false},
		{"another rule", Report{Before: left}, false},
		{"nothing is broken", Report{Before: count(t, "100 orders")}, false},
	} {
		c.r.Scenario = sc
		if c.r.NeedsResource() != c.want {
			t.Errorf("%s (%s): %v", c.name, check.MutualExclusion, !c.want)
		}
	}
}

// A lock that was played to see whether it can do the scenario is not played again to see
// who gives up: that run is known, and is the one that a run would be.
func TestAChangedLockIsPlayedOnce(t *testing.T) {
	sc, err := scenario.Parse([]byte(`
lock: {protocol: mutex-unsafe, lease: 100ms, retry: {times: 5, interval: 50ms}}
threads: [{name: A, work: 130ms}, {name: B, start: 10ms, work: 80ms}]
`))
	if err != nil {
		t.Fatal(err)
	}
	m := maker{sc: sc, seen: map[string]bool{sc.Lock.Protocol: true}}
	if err := cmp.Or(m.scripts(t.Context()), m.locks(t.Context())); err != nil || len(m.list) == 0 {
		t.Fatal(len(m.list), err)
	}
	for i := range m.list {
		c := &m.list[i]
		again, err := ends(t.Context(), c.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		if c.calm == nil || !slices.Equal(c.calm.results, again.results) || c.calm.itself != again.itself || c.calm.broken != again.broken {
			t.Errorf("%s: kept %+v, played again %+v", c.Name, c.calm, again)
		}
		c.calm = &outcome{results: []trace.Result{trace.Exhausted}} // only what is kept says so
	}
	if err := m.warn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.list {
		if !strings.Contains(c.Note.String(), "gives up") {
			t.Errorf("%s was played again: %s", c.Name, c.Note)
		}
	}
}

func TestTheLongestHold(t *testing.T) {
	const threads = "threads: [{name: A, depth: 2, work: 10ms, after: 5ms}, {name: B, work: 15ms}]\n"
	for faults, want := range map[string]time.Duration{
		"": 25 * time.Millisecond,
		"{thread: A, at: work, do: pause, for: 100ms}":                                   125 * time.Millisecond,
		"{thread: B, at: work, do: pause, for: 100ms}":                                   115 * time.Millisecond,
		"{time: 1ms, do: restart, for: 200ms}":                                           225 * time.Millisecond,
		"{time: 1ms, do: clock-jump, by: 300ms}":                                         325 * time.Millisecond,
		"{time: 1ms, do: clock-jump, by: -300ms}":                                        25 * time.Millisecond,
		"{thread: A, at: work, do: pause, for: 7ms}, {time: 1ms, do: restart, for: 9ms}": 41 * time.Millisecond,
	} {
		if got := longestHold(parse(t, threads+"faults: ["+faults+"]")); got != want {
			t.Errorf("%s: %s, want %s", faults, got, want)
		}
	}
}

// The longest pause is the one that is made longer, and the others stay.
func TestALongerPause(t *testing.T) {
	sc := parse(t, "threads: [{name: A}, {name: B}]\nfaults: [{thread: A, at: work, do: pause, for: 20ms}, {thread: B, at: work, do: pause, for: 50ms}, {thread: B, at: work, do: pause, for: 10ms}]")
	var got []time.Duration
	for _, f := range paused(sc, time.Second).Faults {
		got = append(got, f.For)
	}
	if want := []time.Duration{20 * time.Millisecond, time.Second, 10 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("pauses of %v, want %v", got, want)
	}
}

// Who gives back already is not told to.
func TestWhoGivesBackNeedNotBeTold(t *testing.T) {
	m := maker{sc: parse(t, "locks: [a, b]\nlock: {protocol: mutex}\nthreads: [{name: A, retry: {give-back: true}}, {name: B}, {name: C, takes: [b]}]")}
	m.giveBack()
	if len(m.list) != 1 || m.list[0].Name != "give-back: true, jitter: 0ms-50ms" {
		t.Fatalf("%+v", m.list)
	}
	was, now := m.sc.Threads, m.list[0].Scenario.Threads
	if now[0].Retry != was[0].Retry || !now[1].Retry.GiveBack || now[1].Retry.Jitter.Max == 0 || now[2].Retry != was[2].Retry {
		t.Errorf("A %+v, B %+v, C %+v", now[0].Retry, now[1].Retry, now[2].Retry)
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
