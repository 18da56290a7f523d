package run_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"relock/engine/fault"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// walk is a run that is stepped, beginning with the given moves.
type walk struct {
	*run.Stepper

	r     *run.Run
	moves []scenario.Move
}

func begin(t *testing.T, sc *scenario.Scenario, moves ...scenario.Move) *walk {
	t.Helper()
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(nil) })
	w := &walk{Stepper: s, r: r}
	for _, m := range moves {
		w.must(t, m)
	}
	return w
}

func (w *walk) must(t *testing.T, m scenario.Move) {
	t.Helper()
	if err := w.Apply(t.Context(), m); err != nil {
		t.Fatalf("after %d moves: %+v: %v", len(w.moves), m, err)
	}
	w.moves = append(w.moves, m)
}

// toTheEnd lets the policy move, and returns what was written.
func (w *walk) toTheEnd(t *testing.T) string {
	t.Helper()
	for !w.Over() {
		if _, err := w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return w.written(t)
}

func (w *walk) written(t *testing.T) string {
	t.Helper()
	events, _ := w.r.Log().Since(0)
	var b bytes.Buffer
	if err := trace.Write(&b, w.r.Header(), events); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// numbers are those of a trace's events and rows.
var numbers = regexp.MustCompile(`"(?:seq|step)":\d+,?|"events":\[[^]]*\],?`)

// but is a trace without what it says of a kind of fault, and without numbers.
func but(do, written string) string {
	var lines []string
	for line := range strings.Lines(numbers.ReplaceAllString(written, "")) {
		if !strings.Contains(line, `"kind":"fault"`) || !strings.Contains(line, `"do":"`+do+`"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// handy are the faults that can be struck by hand, some with other lengths.
func handy(sc *scenario.Scenario, r *rand.Rand) []scenario.Fault {
	var list []scenario.Fault
	for _, s := range sc.Strikes() {
		if s.Never != "" {
			continue
		}
		list = append(list, s.Fault)
		switch other := s.Fault; other.Do {
		case fault.Pause:
			other.For /= 10
			list = append(list, other)
		case fault.FailOver:
			other.Behind = 3 * r.IntN(2)
			list = append(list, other)
		case fault.ClockJump:
			other.By /= -100
			list = append(list, other)
		}
	}
	return list
}

// struckAtRandom are the scenarios of the walks below, each another lock.
func struckAtRandom(t *testing.T, seed uint64) *scenario.Scenario {
	t.Helper()
	lock := []string{
		"lease: 100ms, watchdog: 30ms",
		"lease: 100ms, watchdog: off",
		"protocol: reentrant-notify, lease: 100ms, watchdog: 30ms",
		"protocol: reentrant-fair, lease: 100ms",
		"protocol: fenced, lease: 100ms",
		"protocol: mutex-unsafe, lease: 100ms",
		"protocol: redlock, nodes: 3, lease: 100ms",
		"protocol: spin",
		"protocol: redsync, nodes: 3, lease: 100ms, watchdog: 30ms",
		"protocol: mutex-blind, lease: 40ms, watchdog: 20ms",
	}[seed%10]
	return parse(t, "lock: {"+lock+", retry: {times: 6, interval: 9ms}}\nseed: "+fmt.Sprint(seed)+`
threads: [{name: A, depth: 2}, {name: B, repeat: 2}, {name: C, start: 4ms, on-lost: stop}]
defaults: {work: 5ms-60ms}
`)
}

// Refuses and Apply are of one mind about every fault at every position, and
// to be asked changes nothing.
func TestRefusesSaysWhatApplyDoes(t *testing.T) {
	racetest.Skip(t)
	type verdict struct {
		do      string
		refused bool
	}
	seen := map[verdict]int{}
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 3))
		sc := struckAtRandom(t, seed)
		asked := begin(t, sc)
		for len(asked.moves) < 60 && !asked.Over() {
			var can []scenario.Fault
			for _, f := range handy(sc, r) {
				why := asked.Refuses(t.Context(), f)
				if why == nil {
					can = append(can, f)
					continue
				}
				seen[verdict{f.Do, true}]++
				err := asked.Apply(t.Context(), scenario.Move{Fault: &f})
				var refused *run.Refusal
				if !errors.As(err, &refused) || err.Error() != why.Error() {
					t.Fatalf("seed %d, after %d moves: %+v: Apply says %v, Refuses %v", seed, len(asked.moves), f, err, why)
				}
			}
			if _, err := asked.Pointless(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r.IntN(6) == 0 && len(can) > 0 {
				f := can[r.IntN(len(can))]
				for _, other := range can { // what is possible seldom has its turn, too
					if seen[verdict{other.Do, false}] == 0 {
						f = other
					}
				}
				seen[verdict{f.Do, false}]++
				asked.must(t, scenario.Move{Fault: &f})
				continue
			}
			m, err := asked.Step(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			asked.moves = append(asked.moves, m)
		}
		if asked.Over() {
			for _, f := range handy(sc, r) {
				var refused *run.Refusal
				if err := asked.Refuses(t.Context(), f); !errors.As(err, &refused) || refused.Reason != run.IsOver {
					t.Errorf("seed %d, at the end: %+v: %v", seed, f, err)
				}
			}
		}
		if quiet := begin(t, sc, asked.moves...); quiet.written(t) != asked.written(t) {
			t.Errorf("seed %d: another trace where nobody has asked", seed)
		}
	}
	for _, k := range struckAtRandom(t, 2).Strikes() {
		for _, refused := range []bool{false, true} {
			if v := (verdict{k.Fault.Do, refused}); seen[v] == 0 {
				t.Errorf("never tried: %+v", v)
			}
		}
	}
}

// What Pointless says beyond Refuses is true: the fault is taken, and then
// nothing comes of it, whatever happens next.
func TestAFaultWhoseMomentIsOverChangesNothing(t *testing.T) {
	racetest.Skip(t)
	seen := map[string]int{}
	seeds := uint64(16)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 4))
		sc := struckAtRandom(t, seed)
		w := begin(t, sc)
		for len(w.moves) < 60 && !w.Over() {
			list, err := w.Pointless(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range list {
				switch why := w.Refuses(t.Context(), *p.Fault); {
				case why != nil && why.Error() != p.Why.Error():
					t.Errorf("seed %d: %+v: Pointless says %v, Refuses %v", seed, *p.Fault, &p.Why, why)
				case why == nil && (seen[p.Fault.Do+p.Fault.At] < 5 || r.IntN(8) == 0):
					seen[p.Fault.Do+p.Fault.At]++
					without := begin(t, sc, w.moves...).toTheEnd(t)
					shown := func(written string) string { return written }
					if p.Fault.Thread == "" { // its own row is all there is of it
						shown = func(written string) string { return but(p.Fault.Do, written) }
					}
					with := begin(t, sc, append(w.moves[:len(w.moves):len(w.moves)], scenario.Move{Fault: p.Fault})...)
					if diff := cmp.Diff(shown(without), shown(with.toTheEnd(t))); diff != "" {
						t.Fatalf("seed %d, after %d moves: %+v changes something; it was said that %v:\n%s", seed, len(w.moves), *p.Fault, &p.Why, diff)
					}
				}
			}
			if can := handy(sc, r); r.IntN(10) == 0 {
				if f := can[r.IntN(len(can))]; w.Refuses(t.Context(), f) == nil {
					w.must(t, scenario.Move{Fault: &f})
					continue
				}
			}
			m, err := w.Step(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w.moves = append(w.moves, m)
		}
	}
	for _, want := range []string{"lose-replylock", "lose-requestlock", "delaylock", "lose-message", "stall", "panic", "skip-unlock", "restart", "fail-over"} {
		if seen[want] == 0 {
			t.Errorf("never too late: %s", want)
		}
	}
}

func TestPointlessSaysWhyAtEachStep(t *testing.T) {
	w := begin(t, parse(t, "lock: {lease: 200ms, watchdog: off}\nthreads: [{name: A, work: 50ms}, {name: B, start: 10ms, work: 500ms}]\n"))
	// reasons are those of A and of Redis, as "do at: reason".
	reasons := func() string {
		list, err := w.Pointless(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, p := range list {
			if p.Fault.Thread != "B" {
				lines = append(lines, strings.TrimSpace(p.Fault.Do+" "+p.Fault.At)+": "+p.Why.Error())
			}
		}
		return strings.Join(lines, "\n")
	}
	hand := func(f scenario.Fault) scenario.Move { return scenario.Move{Fault: &f} }
	const up = "\nup: Redis is up"
	for _, c := range []struct {
		name string
		move *scenario.Move
		want []string
		not  []string
	}{
		{"nothing has happened", nil, []string{
			"evict: there is no key", "restart: Redis has no data", "fail-over: Redis has no data", "clock-jump: there is no key with an expiry", up,
		}, []string{"A ", "crash", "script-flush"}},
		{"A is in", &scenario.Move{}, []string{"lose-reply lock: A has no lock ahead of it", "delay lock: A", up}, []string{"evict", "restart", "fail-over", "unlock", "stall"}},
		{"a fault waits", ptr(hand(scenario.Fault{Do: fault.LoseReply, Thread: "A", At: fault.AtUnlock})), []string{
			"lose-reply unlock: the same fault is waiting in A already",
		}, []string{"lose-request unlock"}},
		{"A is paused", ptr(hand(scenario.Fault{Do: fault.Pause, Thread: "A", For: 300 * time.Millisecond})), []string{"pause: A is paused until 300ms"}, []string{"crash"}},
		{"Redis is down", ptr(hand(scenario.Fault{Do: fault.Down, Node: 1})), []string{"down: Redis is down already"}, []string{"up:"}},
		{"A is gone", ptr(hand(scenario.Fault{Do: fault.Crash, Thread: "A"})), []string{
			"pause: A has ended", "crash: A has ended", "skip-unlock: A has ended", "lose-reply unlock: A has ended",
		}, []string{"evict"}},
	} {
		if c.move != nil {
			w.must(t, *c.move)
		}
		got := reasons()
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.name, got, want)
			}
		}
		for _, not := range c.not {
			if strings.Contains("\n"+got, "\n"+not) {
				t.Errorf("%s: %q has %q", c.name, got, not)
			}
		}
	}
	before, _ := w.Pointless(t.Context())
	if after, _ := w.Pointless(t.Context()); len(before) == 0 || &before[0] != &after[0] {
		t.Error("what is the same is kept twice")
	}
	w.toTheEnd(t)
	if list, err := w.Pointless(t.Context()); list != nil || err != nil {
		t.Errorf("at the end: %v, %v", list, err)
	}
}

// A fail-over takes the listeners' subscriptions with it, whatever is in Redis.
func TestAFailOverIsNotPointlessToWhoListens(t *testing.T) {
	sc := parse(t, `
lock: {protocol: reentrant-notify, lease: 100ms, watchdog: off, retry: {times: 6, interval: 50ms}}
threads: [{name: A, work: 500ms}, {name: B, start: 10ms, work: 50ms}, {name: C, start: 20ms, work: 80ms}]
`)
	w := begin(t, sc, scenario.Move{}, scenario.Move{}, scenario.Move{Fault: &scenario.Fault{Do: fault.Restart, Node: 1}})
	list, err := w.Pointless(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Fault.Do == fault.FailOver {
			t.Errorf("a fail-over is refused: %v", &p.Why)
		}
	}
	with := begin(t, sc, append(w.moves, scenario.Move{Fault: &scenario.Fault{Do: fault.FailOver, Behind: 1, Node: 1}})...)
	if but(fault.FailOver, with.toTheEnd(t)) == but(fault.FailOver, w.toTheEnd(t)) {
		t.Error("it has changed nothing")
	}
}

// A waiter that was sent the lock hears of it before it would ask again, unless the
// message was lost, or there is no watchdog to renew it.
func TestAnOptionSaysThatTheLockWasHandedOver(t *testing.T) {
	const threads = "threads: [{name: A, work: 40ms}, {name: B, start: 10ms, work: 20ms}]\n"
	for _, c := range []struct {
		name, watchdog, faults string
		want                   bool
	}{
		{"a message came", "100ms", "", true},
		{"it was lost", "100ms", "faults: [{thread: B, at: lock, do: lose-message}]\n", false},
		{"there is no watchdog", "off", "", false},
	} {
		sc := parse(t, "lock: {protocol: reentrant-fair, lease: 300ms, watchdog: "+c.watchdog+", retry: {times: 5, interval: 50ms, wait: notify}}\n"+threads+c.faults)
		w := begin(t, sc, scenario.Move{}, scenario.Move{})
		handed := func() bool {
			return slices.ContainsFunc(w.Options(), func(o run.Option) bool { return o.Thread == "B" && o.Handed })
		}
		if handed() {
			t.Errorf("%s: while A has the lock", c.name)
		}
		w.must(t, scenario.Move{})
		if handed() != c.want {
			t.Errorf("%s: %v after A has left: %+v", c.name, !c.want, w.Options())
		}
		w.must(t, scenario.Move{})
		if handed() {
			t.Errorf("%s: after it has heard", c.name)
		}
	}
}

func ptr[T any](v T) *T { return &v }
