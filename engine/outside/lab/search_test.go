package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/runs"
	"relock/web/words"
)

// model counts the orders of two workers of the kind "lock" without any gate: each asks
// up to twice, and if it is granted the lock sends two marks and a release. One fault of
// a kind may strike a command that is no mark.
type model struct {
	fault          string
	orders, orphan int
}

type modelled struct{ tries, at int } // at: 0 asks, 1 enter, 2 leave, 3 release, 4 over

func (m *model) count(holder int, w [2]modelled, faults int) {
	over := true
	for i := range w {
		if w[i].at == 4 {
			continue
		}
		over = false
		for _, struck := range []bool{false, true} {
			if struck && (faults == 0 || w[i].at == 1 || w[i].at == 2) {
				continue
			}
			holder, w, faults := holder, w, faults
			one := &w[i]
			reaches := !struck || m.fault == lab.LoseReply
			if struck {
				faults--
			}
			switch one.at {
			case 0:
				one.tries++
				granted := holder < 0 && reaches
				if granted {
					holder = i
				}
				if granted && !struck {
					one.at = 1
				} else if one.tries == 2 {
					one.at = 4
				}
			case 3:
				if reaches && holder == i {
					holder = -1
				}
				one.at = 4
			default:
				one.at++
			}
			m.count(holder, w, faults)
		}
	}
	if over {
		m.orders++
		if holder >= 0 {
			m.orphan++
		}
	}
}

// Every order is tried, and none twice: a model of the worker that knows nothing of
// gates and processes counts the same, also as the prototype did with redis-py and
// ioredis (20 orders with two tries).
func TestEveryOrderOnce(t *testing.T) {
	racetest.Skip(t)
	for _, fault := range []string{"", lab.LoseReply, lab.LoseRequest} {
		t.Run(fault, func(t *testing.T) {
			o := options(t, "lock")
			m := model{fault: fault}
			if fault != "" {
				o.Faults, o.MaxFaults = []string{fault}, 1
			}
			m.count(-1, [2]modelled{}, o.MaxFaults)
			found := search(t, o)
			want := ""
			if m.orphan > 0 {
				want = fmt.Sprint("shut-out ", m.orphan)
			}
			if found.Ending != lab.Exhausted || found.Diverged > 0 || found.Orders != m.orders || rules(found) != want {
				t.Errorf("ended as %s with %d orders, %s, %d diverged (%+v); want %d orders, %s",
					found.Ending, found.Orders, rules(found), found.Diverged, found.First, m.orders, want)
			}
		})
	}
}

// Two implementations of the same calls are counted alike: the Go worker here, and the
// shell's in the course, which a lab has tried once and which is kept.
func TestTwoImplementationsAreCountedAlike(t *testing.T) {
	racetest.Skip(t)
	for name, faults := range map[string][]string{"too-late": nil, "lost": {lab.LoseReply}, "never-came": {lab.LoseRequest}, "foreign-script": {lab.LeaseEnds}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, err := os.ReadFile("../../../lessons/course/labs/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			var orders string
			for line := range strings.Lines(string(kept)) {
				var said struct{ Rule, Orders string }
				if err := json.Unmarshal([]byte(line), &said); err != nil {
					t.Fatal(err)
				}
				if said.Rule == "" {
					orders = said.Orders
				} else {
					rule, _ := check.Named(said.Rule) // of the time when that was tried
					want += rule + " " + said.Orders + " "
				}
			}
			o := options(t, "lock")
			o.Faults, o.MaxFaults = faults, len(faults)
			found := search(t, o)
			if have := strings.ReplaceAll(rules(found), ",", ""); fmt.Sprint(found.Orders) != orders || have != strings.TrimSpace(want) {
				t.Errorf("in Go %d orders, %s; in the shell %s orders, %s", found.Orders, have, orders, want)
			}
		})
	}
}

func TestRules(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		kind     string
		faults   string
		resource string
		rules    string // without counts
		by       string
	}{
		{"lock", lab.LeaseEnds, "", "mutual-exclusion", trace.ByMarks},
		{"unmarked", lab.LeaseEnds, "", "mutual-exclusion", trace.ByEffects},
		{"once", lab.LoseReply, "", "shut-out", ""},
		{"foreign", lab.LeaseEnds, "", "foreign-release mutual-exclusion", trace.ByEffects},
		{"same value", lab.LeaseEnds, "", "foreign-release mutual-exclusion", trace.ByEffects},
		{"foreign", lab.Evict, "", "foreign-release mutual-exclusion", trace.ByEffects},
		{"counter", "", "stock", "lost-update", ""},
		{"counter, in a script", "", "stock", "lost-update", ""},
		{"waits", "", "", "shut-out", ""},
		{"queue", "", "", "", ""},
		{"queue", lab.LoseRequest, "", "shut-out", ""},
		{"transaction", "", "", "", ""},
		{"pipeline", "", "", "", ""},
		{"unmarked", lab.LateCopy, "", "shut-out", ""},
		{"unmarked", lab.Delay, "", "", ""},
		{"forever", "", "", "", ""},
		{"optimist", "", "stock", "", ""},
		{"watches", "", "", "shut-out", ""},
		{"listens late", "", "", "shut-out", ""},
		{"listens late, to a script", "", "", "shut-out", ""},
		{"group", "", "", "", ""},
		{"late group", "", "", "shut-out", ""},
	} {
		t.Run(c.kind+" "+c.faults, func(t *testing.T) {
			t.Parallel()
			o := options(t, c.kind)
			o.Resource = c.resource
			if c.faults != "" {
				o.Faults, o.MaxFaults = []string{c.faults}, 1
			}
			found := search(t, o)
			t.Logf("%s with %d orders: %s", found.Ending, found.Orders, rules(found))
			have := map[string]bool{}
			for _, r := range found.Rules {
				have[r.Name] = true
				if c.by != "" && r.By != c.by {
					t.Errorf("%s by %s, want %s", r.Name, r.By, c.by)
				}
			}
			for _, name := range strings.Fields(c.rules) {
				if !have[name] {
					t.Errorf("%s is not broken", name)
				}
				delete(have, name)
			}
			if len(have) > 0 {
				t.Errorf("also broken: %v", have)
			}
			for _, r := range found.Rules {
				opens(t, r, found, o)
			}
		})
	}
}

// opens checks that a rule's smallest order is a trace that tells of it.
func opens(t *testing.T, r lab.Rule, found *lab.Found, o lab.Options) {
	t.Helper()
	h, events, err := r.Order.Trace(found, o, "lab: a worker")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := trace.Write(&b, h, events); err != nil {
		t.Fatal(err)
	}
	read, events, _, err := runs.ReadTrace(t.Context(), b.Bytes())
	if err != nil {
		t.Fatalf("%s: %v\n%s", r.Name, err, b.Bytes())
	}
	if read.Store != trace.StoreLab || read.Lab == nil || len(read.Lab.Order) == 0 {
		t.Errorf("the header is %+v", read)
	}
	told := false
	for _, e := range events {
		v, _ := e.Body.(trace.Violation)
		told = told || v.Rule == r.Name
	}
	if !told {
		t.Errorf("the trace does not tell of %s:\n%s", r.Name, b.Bytes())
	}
}

// A thread whose reply was lost never heard that it holds: when the lease ends and
// another takes the lock, only one believes. A thread that heard goes on believing.
func TestALostReplyTellsNobody(t *testing.T) {
	for _, c := range []struct {
		name  string
		way   []lab.Decision
		rules string
	}{
		{"lost", []lab.Decision{{Thread: "A", Do: lab.LoseReply}, {Do: lab.LeaseEnds}, {Thread: "B"}}, ""},
		{"told", []lab.Decision{{Thread: "A"}, {Do: lab.LeaseEnds}, {Thread: "B"}}, "mutual-exclusion"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t, "unmarked")
			o.Faults, o.MaxFaults = []string{lab.LoseReply, lab.LeaseEnds}, 2
			order, _, err := lab.Replay(t.Context(), o, c.way)
			if err != nil || order.Diverged() != nil {
				t.Fatalf("%+v, %v", order, err)
			}
			if have := strings.Join(order.Rules, " "); have != c.rules {
				t.Errorf("%s breaks %q, want %q", lab.Line(order.Decisions), have, c.rules)
			}
		})
	}
}

// A lease that is an instant of the client's clock is as long in the trace as it was in the round, however late that is written.
func TestALeaseOfTheClientsClock(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "own clock")
	o.Faults, o.MaxFaults, o.Env = []string{lab.LeaseEnds}, 1, append(o.Env, "LAB_TEST_LEASE=5ms")
	found := search(t, o)
	if len(found.Rules) != 1 {
		t.Fatal(rules(found))
	}
	_, events, err := found.Rules[0].Order.Trace(found, o, "lab: a worker")
	if err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, e := range events {
		if c, ok := e.Body.(trace.Command); ok && c.Args[0] == "SET" && c.Reply == "OK" {
			if sets++; sets == 1 && (e.Key.Type != trace.TypeString || e.Key.PTTL <= 0) { // once a lease has ended, Redis' clock is ahead
				t.Errorf("after %v the key is %+v", c.Args, e.Key)
			}
		}
		if v, ok := e.Body.(trace.Violation); ok && v.Rule != found.Rules[0].Name {
			t.Errorf("the trace tells of %s, too", v.Rule)
		}
	}
	if sets != 2 {
		t.Errorf("%d were granted the lock", sets)
	}
}

// Orders that cannot differ are not tried twice, and no broken rule is lost.
func TestReductionLosesNoRule(t *testing.T) {
	racetest.Skip(t)
	for _, faults := range [][]string{nil, {lab.LoseReply}, {lab.LeaseEnds}} {
		t.Run(fmt.Sprint(faults), func(t *testing.T) {
			if testing.Short() && len(faults) > 0 && faults[0] == lab.LoseReply {
				t.Skip("660 orders; the other faults are reduced by the same code")
			}
			t.Parallel()
			kind := "two keys"
			if len(faults) > 0 && faults[0] == lab.LeaseEnds { // with marks there are 20,000 orders
				kind = "key aside"
			}
			o := options(t, kind)
			o.Faults, o.MaxFaults, o.MaxOrders, o.Key = faults, min(len(faults), 1), 20_000, "k"
			reduced := search(t, o)
			o.Full = true
			full := search(t, o)
			t.Logf("%d of %d orders; %s of %s", reduced.Orders, full.Orders, rules(reduced), rules(full))
			names := func(f *lab.Found) (s string) {
				for _, r := range f.Rules {
					s += r.Name + " "
				}
				return s
			}
			if reduced.Ending != lab.Exhausted || full.Ending != lab.Exhausted {
				t.Fatal(reduced.Ending, full.Ending)
			}
			if names(reduced) != names(full) || reduced.Orders >= full.Orders {
				t.Errorf("%d orders break %s; all %d break %s", reduced.Orders, names(reduced), full.Orders, names(full))
			}
		})
	}
}

// Commands that depend on more than their own keys are tried in every order: a message on
// whether somebody listens by then, a transaction on the keys that its connection
// watches.
func TestReductionKnowsWhatWatchesAndListens(t *testing.T) {
	racetest.Skip(t)
	for _, kind := range []string{"watches", "optimist", "listens late", "listens late, to a script", "group", "late group"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := options(t, kind)
			o.Key, o.Resource = "k", "stock"
			reduced := search(t, o)
			o.Full = true
			full := search(t, o)
			t.Logf("%d of %d orders; %s of %s", reduced.Orders, full.Orders, rules(reduced), rules(full))
			if reduced.Ending != lab.Exhausted || full.Ending != lab.Exhausted || len(reduced.Rules) != len(full.Rules) || reduced.Orders > full.Orders {
				t.Errorf("%d orders break %s; all %d break %s", reduced.Orders, rules(reduced), full.Orders, rules(full))
			}
		})
	}
}

// A transaction that was refused has run nothing, also in the trace.
func TestARefusedTransactionIsTold(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "optimist")
	o.Resource = "stock"
	order, found, err := lab.Replay(t.Context(), o, []lab.Decision{{Thread: "A"}, {Thread: "B"}, {Thread: "A"}, {Thread: "B"}, {Thread: "A"}, {Thread: "B"}})
	if err != nil || len(order.Rules) > 0 {
		t.Fatal(order, err)
	}
	_, events, err := order.Trace(found, o, "lab")
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, e := range events {
		if b, ok := e.Body.(trace.Resource); ok && b.Op == trace.OpWrite {
			writes++
		}
		if v, ok := e.Body.(trace.Violation); ok {
			t.Errorf("the trace tells of %s: %s", v.Rule, v.Detail)
		}
	}
	if writes != 2 {
		t.Errorf("%d writes in the trace, and each thread has added one", writes)
	}
}

// To subscribe is no decision: of a subscriber and a publisher there is one order, and
// one in which the message is lost and the subscriber waits for good.
func TestToSubscribeIsNoDecision(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "subscriber")
	o.Faults, o.MaxFaults = []string{lab.LoseMessage}, 1
	found := search(t, o)
	if found.Ending != lab.Exhausted || found.Orders != 2 || rules(found) != "shut-out 1" {
		t.Errorf("%s with %d orders: %s", found.Ending, found.Orders, rules(found))
	}
}

func TestReplay(t *testing.T) {
	o := options(t, "lock")
	o.Faults, o.MaxFaults = []string{lab.LoseReply}, 1
	found := search(t, o)
	if len(found.Rules) == 0 {
		t.Fatal("nothing is broken")
	}
	way, err := lab.ReadOrder(strings.NewReader("order: " + lab.Line(found.Rules[0].Order.Decisions) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := lab.Replay(t.Context(), o, way)
	if err != nil || strings.Join(again.Rules, " ") != "shut-out" {
		t.Fatalf("%+v, %v", again, err)
	}
	if again.Diverged() != nil {
		t.Errorf("the replay diverged: %+v", again.Diverged())
	}
	way[0].Command = "DEL something"
	again, replayed, err := lab.Replay(t.Context(), o, way)
	if err != nil || again.Diverged() == nil || again.Diverged().At != 1 || replayed.Diverged != 1 {
		t.Errorf("another command: %+v, %v", again, err)
	}
}

func TestReadOrder(t *testing.T) {
	racetest.Skip(t)
	for text, n := range map[string]int{
		`[{"thread":"A"},{"thread":"B","do":"lose-reply"},{"do":"lease-ends"}]`:              3,
		"{\"lab\":1,\"broken\":\"1\"}\n{\"rule\":\"orphan\",\"order\":[{\"thread\":\"A\"}]}": 1,
		`{"relock":1,"lab":{"command":["x"],"order":[{"thread":"A"},{"thread":"A"}]}}`:       2,
		"":                          -1,
		"hello":                     -1,
		`[{"thread":""}]`:           -1,
		`[{"do":"explode"}]`:        -1,
		`{"rule":"shut-out"}`:       -1,
		`{"lab":1,"broken":"0"}`:    -1,
		`[{"thread":"A","nth":-1}]`: -1,
	} {
		order, err := lab.ReadOrder(strings.NewReader(text))
		if (err != nil) != (n < 0) || err == nil && len(order) != n || err != nil && !errors.Is(err, lab.ErrOrder) {
			t.Errorf("%s: %v, %v", text, order, err)
		}
	}
}

// Two that take two keys in opposite orders and ask without an end wait for each other in
// some order, and one that looks at a list in vain waits for ever: to be refused another key
// than the lock's, or to read one, changes nothing.
func TestWhoAsksInVainOfOtherKeys(t *testing.T) {
	racetest.Skip(t)
	for kind, want := range map[string]string{"two keys, crosswise": "deadlock", "looks at a list": "shut-out"} {
		o := options(t, kind)
		o.Key = map[string]string{"two keys, crosswise": "x", "looks at a list": "k"}[kind]
		found := search(t, o)
		if found.Ending != lab.Exhausted || !slices.ContainsFunc(found.Rules, func(r lab.Rule) bool { return r.Name == want }) {
			t.Errorf("%s: ended as %s with %d orders, %s; want %s", kind, found.Ending, found.Orders, rules(found), want)
		}
		if most := 40; found.Orders > most { // endless questions in vain are tried once
			t.Errorf("%s: %d orders, want at most %d", kind, found.Orders, most)
		}
	}
}

// Several locks are judged each by itself, and a circle of waiting over all of them: what
// breaks of the second is not seen where only the first is named.
func TestSeveralLocks(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		kind, lock, fault string
		broken            string
		key               string // of the lock whose rule is broken in the trace
		want              verdict.Verdict
	}{
		{"two keys, crosswise", "x,y", "", "shut-out deadlock", "", verdict.Broken},
		{"two locks", "x,y", "", "", "", verdict.Unbroken},
		{"two locks, one of which anybody deletes", "x", "", "", "", verdict.Unbroken},
		{"two locks, one of which anybody deletes", "x,y", "", "mutual-exclusion foreign-release", "y", verdict.Broken},
		{"two locks", "x,y", lab.LeaseEnds, "mutual-exclusion", "y", verdict.Broken},
		{"two locks", "x,nobody's", "", "", "", verdict.Unjudged},
	} {
		o, err := options(t, c.kind).Of(c.lock)
		if err != nil {
			t.Fatal(err)
		}
		if o.MaxOrders = 20_000; c.fault != "" {
			o.Faults, o.MaxFaults = []string{c.fault}, 1
		}
		found := search(t, o)
		var broken []string
		for _, r := range found.Rules {
			broken = append(broken, r.Name)
		}
		if got := strings.Join(broken, " "); found.Ending != lab.Exhausted || got != c.broken || found.Judgement().Verdict != c.want {
			t.Errorf("%s, %s, %s: %d orders (%s) break %q: %+v", c.kind, c.lock, c.fault, found.Orders, found.Ending, got, found.Judgement())
			continue
		}
		if len(found.Rules) > 0 {
			h, events, err := found.Rules[0].Order.Trace(found, o, "test")
			shown := slices.ContainsFunc(events, func(e trace.Event) bool {
				v, is := e.Body.(trace.Violation)
				return is && v.Rule == broken[0] && e.Lock == c.key && len(e.Locks) == 2
			})
			if err != nil || !shown || !strings.Contains(string(h.Scenario), `"locks":["x","y"]`) {
				t.Errorf("%s, %s: its trace is %s, %t, %v", c.kind, c.lock, h.Scenario, shown, err)
			}
		}
	}
}

// Beyond the bound orders are drawn, the same with the same seed, and the search says so.
func TestBoundIsDrawnBeyond(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "lock")
	o.Faults, o.MaxFaults, o.MaxOrders = []string{lab.LoseReply}, 1, 10
	first, second := search(t, o), search(t, o)
	if first.Ending != lab.Bound || first.Orders != 10 || first.Drawn == nil || first.Drawn.Orders == 0 || first.Drawn.High <= first.Drawn.Low {
		t.Fatalf("%+v, %+v", first, first.Drawn)
	}
	if fmt.Sprint(first.Drawn) != fmt.Sprint(second.Drawn) {
		t.Errorf("drawn: %+v, then %+v", first.Drawn, second.Drawn)
	}
}

// Whoever can move may be next, so three come in at once where two may: each of them has looked
// before another joined.
func TestADrawnOrderChangesBetweenThreadsAtAnyPlace(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "looks, then joins")
	o.Threads, o.Kind, o.MaxOrders = 3, check.Kind{Permits: 2}, 60
	if found := search(t, o); found.Drawn == nil || found.Drawn.Broken == 0 || !slices.Contains(found.Drawn.Rules, check.MutualExclusion) || found.Drawn.Low == 0 {
		t.Errorf("of %d orders: %+v", found.Orders, found.Drawn)
	}
}

// A search that ends while it draws says how sure the few that it drew can make it: hardly.
func TestWhatWasDrawnCountsWhereItIsCutShort(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "ends after some rounds")
	o.MaxOrders = 2
	found, err := lab.Search(t.Context(), o)
	if err != nil || found.Ending != lab.Worker {
		t.Fatalf("%+v, %v", found, err)
	}
	if d := found.Drawn; d == nil || d.Orders != 1 || d.Broken == 0 && (d.Low != 0 || d.High < 0.7) || d.High <= d.Low {
		t.Errorf("drawn: %+v", d)
	}
}

func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, "lock")
	o.Progress = func(orders, _, _ int) {
		if orders == 3 {
			cancel()
		}
	}
	found, err := lab.Search(ctx, o)
	if err != nil || found.Ending != lab.Stopped || found.Orders < 3 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A lock whose field expires is searched as one whose key does.
func TestALeaseOfAField(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	var found [2]*lab.Found
	for i, kind := range []string{"a lease of the key", "a lease of the field"} {
		o := options(t, kind)
		o.Faults, o.MaxFaults = []string{lab.LeaseEnds}, 1
		found[i] = search(t, o)
	}
	if key, field := found[0], found[1]; rules(key) == "" || key.Orders != field.Orders || rules(key) != rules(field) || field.Diverged > 0 {
		t.Errorf("of the key %d orders, %s; of the field %d orders, %s", key.Orders, rules(key), field.Orders, rules(field))
	}
}

// If no order ends, it gives that reason and nothing else: not that nobody was inside,
// which nobody knows.
func TestAWorkerDiesOfWhatTheLabRefuses(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	o := options(t, "asks what is not here")
	o.Faults, o.MaxFaults = []string{lab.LeaseEnds}, 1
	found, err := lab.Search(t.Context(), o)
	if err != nil || found.Failed == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	j := found.Evidence.Judge()
	var reasons []verdict.Reason
	for _, l := range j.Unjudged {
		reasons = append(reasons, l.Reason)
	}
	if want := []verdict.Reason{verdict.CommandsFailed, verdict.Cut}; j.Verdict != verdict.Unjudged || !slices.Equal(reasons, want) {
		t.Errorf("%s: %s, want %s", j.Verdict, reasons, want)
	}
	if says := j.Unjudged[0].Says.String(); !strings.Contains(says, "FUNCTION") || !strings.Contains(says, "from 7.0 on") {
		t.Error(says)
	}
}

// If nobody has named the lock, two inside at once may be intended: only for a named one
// does that break a rule.
func TestTwoInsideOfALockThatIsNotKnown(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	for key, want := range map[string]string{"": "unjudged no-key", "k": "broken no-key"} {
		o := options(t, "locks nothing")
		o.Key = key
		found := search(t, o)
		j := found.Evidence.Judge()
		if len(j.Unjudged) != 1 || fmt.Sprint(j.Verdict, " ", j.Unjudged[0].Reason) != want || found.Broken > 0 != (key != "") {
			t.Errorf("with the key %q: %+v, %d orders break %s; want %s", key, j, found.Broken, rules(found), want)
		}
	}
}

// A worker that fails ends the search, and is told of with its last words.
func TestBadWorkers(t *testing.T) {
	for _, c := range []struct{ kind, thread, why, last, words string }{
		{"hangs at once", "A", "talks to nobody", "", ""},
		{"connects, and says nothing", "A", "talks to nobody", "", ""},
		{"talks to somebody else", "A", "talks to nobody", "", ""},
		{"hangs in its round", "A", "hangs", "set k A", "thinking"},
		{"dies at once", "A", "talks to nobody: its process ended with exit status 1", "", "No module named 'redis'"},
		{"dies in its round", "A", "died", "set k A", "boom"},
		{"ends after one round", "A", "died in mid-search", "set k A", ""},
		{"says nothing, and ends", "A", "talks to nobody: its process ended with exit code 0", "", ""},
		{"forgets its round", "A", "forgotten its round", "incr k", ""},
		{"talks nonsense", "A", "talks to nobody", "", ""},
		{"one of two dies", "B", "died", "", "B is broken"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			o := options(t, c.kind)
			switch c.why { // these are waited for: one that hangs has to have come first
			case "hangs":
				o.Timeout = 4 * time.Second
			case "talks to nobody":
				o.Timeout = time.Second
			}
			found, err := lab.Search(t.Context(), o)
			if err != nil || found.Ending != lab.Worker || found.Failed == nil {
				t.Fatalf("%+v, %v", found, err)
			}
			for _, u := range found.Evidence.Judge().Unjudged { // more orders do not help
				if u.Reason == verdict.Cut && words.English.Clause(u.Helps) != "Make it run first: its error says what went wrong." {
					t.Errorf("what helps: %s", words.English.Clause(u.Helps))
				}
			}
			f := found.Failed
			if f.Thread != c.thread && c.thread == "B" || !strings.Contains(f.Why, c.why) || !strings.Contains(f.Words, c.words) {
				t.Errorf("%v", f)
			}
			var came lab.WorkerError // from another process, where it is told in any language
			if sent, err := json.Marshal(f); err != nil || json.Unmarshal(sent, &came) != nil {
				t.Fatal(err)
			}
			if came.Error() != f.Error() || strings.Contains(words.Match("zh").Clause(came.Says()), f.Why) {
				t.Errorf("from another process it says %q, in Chinese %q", &came, words.Match("zh").Clause(came.Says()))
			}
			if c.last != "" && strings.ReplaceAll(f.Last, "B", "A") != c.last {
				t.Errorf("its last command: %q, want %q", f.Last, c.last)
			}
		})
	}
	o := options(t, "")
	o.Command = []string{filepath.Join(t.TempDir(), "no-such-worker")}
	if _, err := lab.Search(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cannot start the worker") {
		t.Errorf("a command that is not there: %v", err)
	}
}

// On the wall's clock a pause stops the process and a crash ends it, both for real.
// In -short the first break is enough.
func TestWallClock(t *testing.T) {
	for _, c := range []struct {
		fault, rule, lease string
		broken             bool
	}{
		{lab.Crash, "shut-out", "0", true},   // the key is still there when the others have ended
		{lab.Crash, "shut-out", "1m", false}, // and ends with the lease that the dead thread had
		{lab.Pause, "mutual-exclusion", "60ms", true},
	} {
		t.Run(c.fault+" "+c.lease, func(t *testing.T) {
			t.Parallel()
			o := options(t, "lock")
			o.Clock, o.Faults, o.MaxFaults, o.MaxOrders = lab.ClockWall, []string{c.fault}, 1, 70
			o.Env = append(o.Env, "LAB_TEST_LEASE="+c.lease)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o.Progress = func(_, _, broken int) {
				if broken > 0 && testing.Short() {
					cancel()
				}
			}
			found, err := lab.Search(ctx, o)
			if err != nil || found.Failed != nil {
				t.Fatalf("%+v, %v", found, err)
			}
			t.Logf("%s with %d orders: %s, drawn %+v", found.Ending, found.Orders, rules(found), found.Drawn)
			if got := slices.ContainsFunc(found.Rules, func(r lab.Rule) bool { return r.Name == c.rule }); got != c.broken {
				t.Errorf("%s breaks %s: %v", c.fault, c.rule, got)
			}
		})
	}
}

// Where only some rules count, the others do not: neither in the counts nor in the verdict.
func TestOnlyTheRulesThatAreAskedForCount(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "lock")
	o.Faults, o.MaxFaults = []string{lab.LeaseEnds}, 1
	all, err := lab.Search(t.Context(), o)
	if err != nil || !strings.Contains(rules(all), "mutual-exclusion") {
		t.Fatalf("%+v, %v", all, err)
	}
	o.Rules = []string{"foreign-release"}
	some, err := lab.Search(t.Context(), o)
	if err != nil || some.Broken != 0 || some.Orders != all.Orders || some.Judgement().Verdict != verdict.Unbroken {
		t.Errorf("%d of %d break a rule, %s: %v", some.Broken, some.Orders, some.Judgement().Verdict, err)
	}
	o.Resource = "stock:7" // which the worker does not know
	if some, err = lab.Search(t.Context(), o); err != nil || some.Judgement().Verdict != verdict.Unjudged {
		t.Errorf("nobody has written %s: %s, %v", o.Resource, some.Judgement().Verdict, err)
	}
}

func TestOptions(t *testing.T) {
	racetest.Skip(t)
	good := lab.Options{Threads: 2, MaxOrders: 1, Clock: lab.ClockGate, Timeout: time.Second}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*lab.Options){
		"-threads":    func(o *lab.Options) { o.Threads = 0 },
		"-max-faults": func(o *lab.Options) { o.MaxFaults = 9 },
		"-max-orders": func(o *lab.Options) { o.MaxOrders = 0 },
		"-clock":      func(o *lab.Options) { o.Clock = "sun" },
		"-timeout":    func(o *lab.Options) { o.Timeout = 0 },
		"-key":        func(o *lab.Options) { o.Key, o.Resource = "k", "k" },
		"-rules":      func(o *lab.Options) { o.Rules = []string{"politeness"} },
		"name that":   func(o *lab.Options) { o.Rules = []string{"lost-update"} },
		"say so":      func(o *lab.Options) { o.Rules, o.Resource = []string{"done-twice"}, "k" },
		"-once":       func(o *lab.Options) { o.Once = true },
		"explode":     func(o *lab.Options) { o.Faults = []string{"explode"} },
		"wall":        func(o *lab.Options) { o.Faults = []string{lab.Crash} },
		"gate":        func(o *lab.Options) { o.Faults, o.Clock = []string{lab.LeaseEnds}, lab.ClockWall },
	} {
		o := good
		change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One Go worker, one search; the figure is orders a second.
func BenchmarkSearch(b *testing.B) {
	me, _ := os.Executable()
	o := lab.Options{
		Command: []string{me}, Env: []string{"LAB_TEST_WORKER=lock"}, Threads: 2, MaxOrders: 2000, Clock: lab.ClockGate, Seed: 1, Timeout: time.Minute,
		Faults: []string{lab.LoseReply}, MaxFaults: 1,
	}
	orders := 0
	for b.Loop() {
		found, err := lab.Search(context.Background(), o)
		if err != nil || found.Failed != nil {
			b.Fatal(found, err)
		}
		orders += found.Orders
	}
	b.ReportMetric(float64(orders)/b.Elapsed().Seconds(), "orders/s")
}
