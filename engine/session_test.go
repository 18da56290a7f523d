package engine_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"relock/engine"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons/lessonstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func open(t *testing.T, sc *scenario.Scenario) *engine.Session {
	t.Helper()
	s, err := engine.Open(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// whole is a run of sc from beginning to end.
func whole(t *testing.T, sc *scenario.Scenario) (trace.Header, []trace.Event) {
	t.Helper()
	r, err := engine.Start(t.Context(), sc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	events, _ := r.Log().Since(0)
	return r.Header(), events
}

func written(t *testing.T, h trace.Header, events []trace.Event) []string {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Write(&b, h, events); err != nil {
		t.Fatal(err)
	}
	return strings.Split(b.String(), "\n")
}

func same(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the traces differ: %s", diff)
	}
}

func toTheEnd(t *testing.T, s *engine.Session, id int) *engine.Branch {
	t.Helper()
	for {
		b, err := s.Branch(id)
		if err != nil {
			t.Fatal(err)
		}
		if b.Positions[len(b.Positions)-1].Over {
			return b
		}
		if _, err := s.Step(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// Stepping through a scenario gives what running it gives, and so does the
// schedule that was written down meanwhile.
func TestSteppedIsRunIsReplayed(t *testing.T) {
	racetest.Skip(t)
	for i, name := range lessonstest.Names(t) {
		for _, policy := range []string{scenario.PolicyInOrder, scenario.PolicyRandom} {
			if testing.Short() && i%3 != 0 {
				continue
			}
			t.Run(name+" "+policy, func(t *testing.T) {
				sc := lessonstest.Scenario(t, name)
				sc.Policy = policy
				s := open(t, sc)
				b := toTheEnd(t, s, 0)
				header, events, err := s.Trace(0)
				if err != nil {
					t.Fatal(err)
				}
				h, run := whole(t, sc)
				same(t, written(t, h, run)[1:], written(t, h, events)[1:])
				h, replayed := whole(t, sc.WithSchedule(b.Moves))
				same(t, written(t, h, replayed), written(t, header, events))
			})
		}
	}
}

const contended = `
lock: {lease: 100ms, watchdog: 30ms, retry: {times: 6, interval: 9ms, jitter: 0-6ms}}
threads: [{name: A, depth: 2}, {name: B}, {name: C, start: 4ms, on-lost: stop}]
defaults: {work: 5ms-60ms}
faults: [{time: 70ms, do: evict}, {thread: B, at: lock, do: delay, for: 3ms}]
`

func randomFault(r *rand.Rand) scenario.Fault {
	threads := []string{"A", "B", "C"}
	calls := []string{fault.AtLock, fault.AtUnlock, fault.AtRenew}
	d := time.Duration(1+r.IntN(200)) * ms
	thread, at := threads[r.IntN(3)], calls[r.IntN(3)]
	return []scenario.Fault{
		{Do: fault.Pause, Thread: thread, For: d},
		{Do: fault.Crash, Thread: thread},
		{Do: fault.Panic, Thread: thread},
		{Do: fault.Stall, Thread: thread},
		{Do: fault.SkipUnlock, Thread: thread},
		{Do: fault.ExtraUnlock, Thread: thread},
		{Do: fault.LoseRequest, Thread: thread, At: at},
		{Do: fault.LoseReply, Thread: thread, At: at},
		{Do: fault.Delay, Thread: thread, At: at, For: d},
		{Do: fault.LateCopy, Thread: thread, At: at, For: d},
		{Do: fault.Evict},
		{Do: fault.Restart, Keep: d > 100*ms},
		{Do: fault.FailOver, Behind: r.IntN(3)},
		{Do: fault.ScriptFlush},
		{Do: fault.ClockJump, By: d - 100*ms + 1*ms},
		{Do: fault.Down},
		{Do: fault.Up},
	}[r.IntN(17)]
}

// wander does this and that.
func wander(t *testing.T, s *engine.Session, r *rand.Rand) {
	t.Helper()
	for range 60 {
		var err error
		id := s.Branches()[r.IntN(len(s.Branches()))].ID
		b, _ := s.Branch(id)
		at := len(b.Moves)
		if r.IntN(20) == 0 {
			at = r.IntN(at + 1)
		}
		switch r.IntN(9) {
		case 0:
			_, err = s.Apply(t.Context(), id, at, move(randomFault(r)))
		case 1:
			_, err = s.PassTime(t.Context(), id, at, []engine.Passage{engine.ToEvent, engine.ToExpiry, engine.ByLength}[r.IntN(3)], time.Duration(1+r.IntN(30))*ms)
		case 2:
			_, err = s.StepNetwork(t.Context(), id, at, []string{"A", "B", "C"}[r.IntN(3)], 0)
		case 3, 4, 5:
			_, err = s.StepThread(t.Context(), id, at, []string{"A", "B", "C"}[r.IntN(3)], r.IntN(5) == 0)
		default:
			_, err = s.Step(t.Context(), id)
		}
		var refused *run.Refusal
		if err != nil && !errors.As(err, &refused) && !errors.Is(err, engine.ErrBranches) {
			t.Fatalf("%v", err)
		}
	}
}

// Whatever a person does, in whatever order, the moves written down give the
// same trace to the byte, and what was refused has changed nothing.
func TestWhateverIsDoneCanBeRepeated(t *testing.T) {
	racetest.Skip(t)
	seeds := uint64(20)
	if testing.Short() {
		seeds = 8 // two of each lock
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		text := contended
		switch seed % 4 {
		case 1:
			text = strings.Replace(text, "{lease", "{protocol: reentrant-fair, lease", 1)
		case 2:
			text = strings.Replace(text, "{lease", "{protocol: reentrant-notify, lease", 1)
		case 3:
			text = strings.Replace(text, "{lease", "{protocol: redlock, nodes: 3, lease", 1)
		}
		sc := parse(t, text)
		s, err := engine.Open(t.Context(), sc)
		if err != nil {
			t.Fatal(err)
		}
		wander(t, s, r)
		for _, b := range s.Branches() {
			wellFormed(t, b)
			h, events, err := s.Trace(b.ID)
			if err != nil {
				t.Fatal(err)
			}
			again := open(t, sc.WithSchedule(b.Moves))
			h2, events2, err := again.Trace(0)
			if err != nil {
				t.Fatal(err)
			}
			same(t, written(t, h, events), written(t, h2, events2))
			again.Close()
			if t.Failed() {
				t.Fatalf("seed %d, branch %d", seed, b.ID)
			}
		}
		s.Close()
	}
}

func move(f scenario.Fault) scenario.Move { return scenario.Move{Fault: &f} }

func wellFormed(t *testing.T, b *engine.Branch) {
	t.Helper()
	if len(b.Positions) != len(b.Moves)+1 {
		t.Fatalf("%d positions for %d moves", len(b.Positions), len(b.Moves))
	}
	for i, p := range b.Positions {
		if p.Seq > len(b.Events) || p.Seq > 0 && b.Events[p.Seq-1].Step != p.Row {
			t.Errorf("position %d: seq %d is not of row %d", i, p.Seq, p.Row)
		}
		choices := 0
		for _, o := range p.Options {
			if (o.Choice >= 0) == (o.Reason != "") {
				t.Errorf("position %d: %+v", i, o)
			}
			if o.Choice >= 0 {
				choices++
			}
		}
		if p.Over && choices > 0 && b.Events[p.Seq-1].Kind() != trace.KindEnd {
			t.Errorf("position %d is the end, and %d can move", i, choices)
		}
	}
}

const twoThreads = `
lock: {lease: 200ms, watchdog: off, retry: {times: 5, interval: 50ms}}
threads: [{name: A, depth: 2}, {name: B}]
defaults: {work: 60ms}
`

func TestActingInThePastMakesABranch(t *testing.T) {
	s := open(t, parse(t, twoThreads))
	main := toTheEnd(t, s, 0)
	moves, events := len(main.Moves), len(main.Events)
	// At first both can move, and by the policy A does. Now B does.
	b, err := s.StepThread(t.Context(), 0, 0, "B", false)
	if err != nil {
		t.Fatal(err)
	}
	if b.ID != 1 || b.Parent != 0 || b.Fork != 0 || b.Events[0].Thread != "B" {
		t.Errorf("branch %d of %d after %d, first event of %s", b.ID, b.Parent, b.Fork, b.Events[0].Thread)
	}
	if len(main.Moves) != moves || len(main.Events) != events {
		t.Error("the branch that was left has changed")
	}
	cut, err := s.Cut(t.Context(), 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(cut.Moves) != 3 || cut.Parent != 0 || cut.Fork != 3 {
		t.Errorf("cut at 3: %d moves, of %d after %d", len(cut.Moves), cut.Parent, cut.Fork)
	}
	same(t, written(t, main.Header, main.Events[:main.Positions[3].Seq]), written(t, cut.Header, cut.Events))
	// Going on where it was cut gives the same again.
	same(t, written(t, main.Header, main.Events), written(t, main.Header, toTheEnd(t, s, cut.ID).Events))
}

func TestWhatHappensBeforeTheFirstMoveIsThere(t *testing.T) {
	s := open(t, parse(t, leaseEnds+"faults: [{time: 0ms, do: down}]\n"))
	b := toTheEnd(t, s, 0)
	if p := b.Positions[0]; p.Seq != 1 || p.Row != 1 {
		t.Errorf("at the start: %+v, want the fault's row", p)
	}
	for i, e := range b.Events {
		if e.Seq != i+1 {
			t.Fatalf("event %d has the number %d", i, e.Seq)
		}
	}
}

func TestDoingTheSameAgainMakesNoBranch(t *testing.T) {
	s := open(t, parse(t, leaseEnds))
	main := toTheEnd(t, s, 0)
	moves := len(main.Moves)
	for at, thread := range []string{"A", "B", "B", "B", "B"} { // B's retries lie in the future each time
		b, err := s.StepThread(t.Context(), 0, at, thread, false)
		if err != nil || b.ID != 0 || len(s.Branches()) != 1 || len(main.Moves) != moves {
			t.Errorf("the same step at %d: %v, %d branches", at, err, len(s.Branches()))
		}
	}
	if b, err := s.PassTime(t.Context(), 0, 5, engine.ToExpiry, 0); err != nil || b.ID != 0 {
		t.Errorf("to the expiry, which came next: %v", err)
	}
	if b, err := s.PassTime(t.Context(), 0, 5, engine.ByLength, ms); err != nil || b.ID != 1 {
		t.Errorf("something else: %v", err)
	}
}

const leaseEnds = `
lock: {lease: 200ms, watchdog: off, retry: {times: 5, interval: 50ms}}
threads: [{name: A, work: 300ms}, {name: B, start: 10ms, work: 50ms}]
`

func TestBranchesAreLimited(t *testing.T) {
	s := open(t, parse(t, twoThreads))
	if _, err := s.Step(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range engine.MaxBranches - 1 {
		if _, err := s.Cut(t.Context(), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.StepThread(t.Context(), 0, 0, "B", false); !errors.Is(err, engine.ErrBranches) {
		t.Errorf("one branch too many: %v", err)
	}
	if b, err := s.StepThread(t.Context(), 0, 0, "A", false); err != nil || b.ID != 0 {
		t.Errorf("along the branch, which needs no other one: %v", err)
	}
	if err := s.Drop(3); err != nil {
		t.Fatal(err)
	}
	b, err := s.StepThread(t.Context(), 0, 0, "B", false)
	if err != nil || b.ID != engine.MaxBranches {
		t.Errorf("after one was dropped: %v", err)
	}
	if _, err := s.Step(t.Context(), 3); !errors.Is(err, engine.ErrNoBranch) {
		t.Errorf("a step on a branch that was dropped: %v", err)
	}
	if _, err := s.Cut(t.Context(), 0, 7); !errors.Is(err, engine.ErrNoMove) {
		t.Errorf("a cut beyond the end: %v", err)
	}
}

// options are those of a branch's end in short.
func options(b *engine.Branch) []string {
	var out []string
	for _, o := range b.Positions[len(b.Positions)-1].Options {
		what := o.Thread
		if o.Background {
			what += "*"
		}
		if o.Network {
			what += "~"
		}
		what += " " + string(o.Next)
		if o.Next != run.NextNothing {
			what += " " + o.Call.String()
		}
		if o.Node > 0 {
			what += ", node " + strconv.Itoa(o.Node)
		}
		if o.Reason != "" {
			what += ": " + string(o.Reason)
		}
		if o.Reason == run.Waits || o.Reason == run.IsPaused {
			what += " " + phrase.Duration(o.At)
		}
		out = append(out, what+string(o.Ended))
	}
	return out
}

func TestOptionsSayWhatWouldHappenAndWhyNot(t *testing.T) {
	s := open(t, parse(t, `
lock: {lease: 300ms, retry: {times: 2, interval: 50ms}}
threads: [{name: A, depth: 2, work: 40ms}, {name: B, work: 30ms}]
`))
	b := s.Branches()[0]
	want := func(wanted ...string) {
		t.Helper()
		if got := options(b); !slices.Equal(got, wanted) {
			t.Errorf("after %d moves:\n%s\nwant\n%s", len(b.Moves), strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
	step := func(thread string) {
		t.Helper()
		if _, err := s.StepThread(t.Context(), 0, len(b.Moves), thread, false); err != nil {
			t.Error(err)
		}
	}
	want("A start lock, level 1", "B start lock, level 1")
	step("A") // holds level 1, works until 40 ms
	want("A work lock, level 2: waits 40ms", "A* renew renew, level 0: waits 100ms", "B start lock, level 1")
	step("B") // refused, retries at 50 ms
	want("A work lock, level 2: waits 40ms", "A* renew renew, level 0: waits 100ms", "B retry lock, level 1, attempt 2: waits 50ms")
	if _, err := s.Apply(t.Context(), 0, 2, move(scenario.Fault{Do: fault.Pause, Thread: "A", For: 500 * ms})); err != nil {
		t.Error(err)
	}
	want("A work lock, level 2: paused 540ms", "A* renew renew, level 0: paused 500ms", "B retry lock, level 1, attempt 2: waits 50ms")
	step("B")
	step("B")
	want("A work lock, level 2: paused 540ms", "A* renew renew, level 0: paused 500ms", "B nothing: endedexhausted")

	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"step who has ended", func() error { _, err := s.StepThread(t.Context(), 0, len(b.Moves), "B", false); return err }, "B has ended"},
		{"step the later one", func() error { _, err := s.StepThread(t.Context(), 0, len(b.Moves), "A", false); return err }, "A moves at 540ms, after A"},
		{"step nobody", func() error { _, err := s.StepThread(t.Context(), 0, len(b.Moves), "Z", false); return err }, "nothing more happens by itself"},
		{"strike who has ended", func() error {
			_, err := s.Apply(t.Context(), 0, len(b.Moves), move(scenario.Fault{Do: fault.Crash, Thread: "B"}))
			return err
		}, "B has ended"},
		{"pause for less", func() error {
			_, err := s.Apply(t.Context(), 0, len(b.Moves), move(scenario.Fault{Do: fault.Pause, Thread: "A", For: 10 * ms}))
			return err
		}, "A is paused until 500ms"},
		{"go back in time", func() error {
			_, err := s.Apply(t.Context(), 0, len(b.Moves), scenario.Move{Until: 1 * ms})
			return err
		}, "it is already 100ms, and time does not go back"},
		{"choose too high", func() error { _, err := s.Apply(t.Context(), 0, len(b.Moves), scenario.Move{Choice: 9}); return err }, "choice 9 cannot be made: only 0 can move"},
		{"answer while up", func() error {
			_, err := s.Apply(t.Context(), 0, len(b.Moves), move(scenario.Fault{Do: fault.Up}))
			return err
		}, "Redis is up"},
	} {
		moves, events := len(b.Moves), len(b.Events)
		if err := c.do(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if len(b.Moves) != moves || len(b.Events) != events || len(s.Branches()) != 1 {
			t.Errorf("%s: something has changed", c.name)
		}
	}
}

// A thread that asks several nodes at once has an option for each, and each can be taken.
func TestNodesThatAreAskedAtOnceAreOptions(t *testing.T) {
	s := open(t, parse(t, `
lock: {protocol: redsync, nodes: 3, lease: 300ms, retry: {times: 2, interval: 50ms}}
threads: [{name: A, work: 200ms}, {name: B, start: 1ms, work: 30ms}]
`))
	b := s.Branches()[0]
	want := func(wanted ...string) {
		t.Helper()
		got := slices.DeleteFunc(options(b), func(o string) bool { return strings.HasPrefix(o, "A* renew") })
		if !slices.Equal(got, wanted) {
			t.Errorf("after %d moves:\n%s\nwant\n%s", len(b.Moves), strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
	ask := func(node int) {
		t.Helper()
		if _, err := s.StepNode(t.Context(), 0, len(b.Moves), "A", node); err != nil {
			t.Error(err)
		}
		c, ok := b.Events[len(b.Events)-1].Body.(trace.Command)
		if last := b.Events[len(b.Events)-1]; ok && c.Node != node || last.Thread != "A" {
			t.Errorf("node %d was to be asked: %+v", node, last)
		}
	}
	if _, err := s.StepThread(t.Context(), 0, 0, "A", false); err != nil {
		t.Fatal(err)
	}
	want("A nothing: awaits-node", "A* ask lock, level 1, node 1", "A* ask lock, level 1, node 2", "A* ask lock, level 1, node 3", "B start lock, level 1: waits 1ms")
	ask(3)
	want("A nothing: awaits-node", "A* ask lock, level 1, node 1", "A* ask lock, level 1, node 2", "B start lock, level 1: waits 1ms")
	if _, err := s.StepNode(t.Context(), 0, len(b.Moves), "A", 3); err == nil {
		t.Error("node 3 has answered, and is asked again")
	}
	if _, err := s.Apply(t.Context(), 0, len(b.Moves), move(scenario.Fault{Do: fault.Pause, Thread: "A", For: 5 * ms})); err != nil {
		t.Error(err)
	}
	want("A nothing: awaits-node", "A* ask lock, level 1, node 1: paused 5ms", "A* ask lock, level 1, node 2: paused 5ms", "B start lock, level 1: waits 1ms")
	if _, err := s.PassTime(t.Context(), 0, len(b.Moves), engine.ByLength, 5*ms); err != nil {
		t.Error(err)
	}
	ask(1)
	if _, err := s.StepNode(t.Context(), 0, len(b.Moves), "A", 2); err != nil {
		t.Error(err)
	}
	want("A work unlock, level 1: waits 205ms", "B start lock, level 1")
}

func TestPassingTime(t *testing.T) {
	s := open(t, parse(t, `
lock: {lease: 200ms, watchdog: off}
threads: [{name: A, work: 500ms}]
`))
	b, err := s.Step(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(want time.Duration) {
		t.Helper()
		if got := b.Positions[len(b.Positions)-1].At; got != want {
			t.Errorf("it is %v, want %v", got, want)
		}
	}
	for _, c := range []struct {
		to   engine.Passage
		d    time.Duration
		want time.Duration
	}{
		{engine.ByLength, 30 * ms, 30 * ms},
		{engine.ToEvent, 0, 200 * ms}, // Redis drops the key; that the holder's context ends at 196 ms does not show
		{engine.ToEvent, 0, 500 * ms},
	} {
		if _, err := s.PassTime(t.Context(), 0, len(b.Moves), c.to, c.d); err != nil {
			t.Fatal(err)
		}
		at(c.want)
	}
	last := b.Events[len(b.Events)-1]
	if _, ok := last.Body.(trace.Expired); !ok || last.At != 200 {
		t.Errorf("last event %+v, want the expiry at 200 ms", last)
	}
	var refused *run.Refusal
	if _, err := s.PassTime(t.Context(), 0, len(b.Moves), engine.ToExpiry, 0); !errors.As(err, &refused) || refused.Reason != run.NoExpiry {
		t.Errorf("to the expiry of no key: %v", err)
	}
	// A thread that stops when the lock is lost shows it.
	s = open(t, parse(t, `
lock: {lease: 200ms, watchdog: off}
threads: [{name: A, work: 500ms, on-lost: stop}]
`))
	if b, err = s.Step(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if seen := b.Positions[len(b.Positions)-1].Seen; seen != 196*ms {
		t.Errorf("next to be seen is %v, want the end of the holder's context at 196 ms", seen)
	}
	for _, c := range []struct {
		to   engine.Passage
		want time.Duration
	}{{engine.ToEvent, 196 * ms}, {engine.ToExpiry, 200 * ms}} {
		if b, err = s.PassTime(t.Context(), 0, len(b.Moves), c.to, 0); err != nil {
			t.Fatal(err)
		}
		at(c.want)
	}
}

// A fault by hand happens at the moment that it is meant for.
func TestFaultsByHand(t *testing.T) {
	const one = "lock: {lease: 300ms, watchdog: 100ms}\nthreads: [{name: A, work: 50ms}]\n"
	for _, c := range []struct {
		fault scenario.Fault
		end   trace.Result
		rule  string
	}{
		{scenario.Fault{Do: fault.Crash, Thread: "A"}, trace.Crashed, ""},
		{scenario.Fault{Do: fault.Panic, Thread: "A"}, trace.Failed, ""},
		{scenario.Fault{Do: fault.Stall, Thread: "A"}, "", "stuck"},
		{scenario.Fault{Do: fault.SkipUnlock, Thread: "A"}, trace.Done, "orphan"},
		{scenario.Fault{Do: fault.ExtraUnlock, Thread: "A"}, trace.Done, ""},
		{scenario.Fault{Do: fault.LoseReply, Thread: "A", At: fault.AtUnlock}, trace.Done, ""},
		{scenario.Fault{Do: fault.LoseRequest, Thread: "A", At: fault.AtUnlock}, trace.Done, ""},
		{scenario.Fault{Do: fault.Delay, Thread: "A", At: fault.AtUnlock, For: 20 * ms}, trace.Done, ""},
		{scenario.Fault{Do: fault.LateCopy, Thread: "A", At: fault.AtUnlock, For: 20 * ms}, trace.Done, ""},
		{scenario.Fault{Do: fault.Evict}, trace.Lost, ""},
		{scenario.Fault{Do: fault.Restart}, trace.Lost, ""},
		{scenario.Fault{Do: fault.FailOver, Behind: 1}, trace.Lost, ""},
		{scenario.Fault{Do: fault.ScriptFlush}, trace.Done, ""},
		{scenario.Fault{Do: fault.ClockJump, By: 400 * ms}, trace.Lost, ""},
	} {
		t.Run(c.fault.Do+" "+c.fault.At, func(t *testing.T) {
			s := open(t, parse(t, one))
			if _, err := s.Step(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(t.Context(), 0, 1, move(c.fault)); err != nil {
				t.Fatal(err)
			}
			b := toTheEnd(t, s, 0)
			var faults []trace.Fault
			var end trace.Result
			rule := ""
			for _, e := range b.Events {
				switch v := e.Body.(type) {
				case trace.Fault:
					faults = append(faults, v)
				case trace.End:
					if e.Thread == "A" {
						end = v.Result
					}
				case trace.Violation:
					rule = v.Rule
				}
			}
			if len(faults) != 1 || faults[0].Do != c.fault.Do {
				t.Errorf("faults %+v", faults)
			}
			if end != c.end || rule != c.rule {
				t.Errorf("A ended %q, rule %q; want %q and %q", end, rule, c.end, c.rule)
			}
		})
	}
}

func TestAScheduleThatDoesNotFitIsRefused(t *testing.T) {
	for _, c := range []struct{ schedule, want string }{
		{"[0, 0, 3]", "decision 3: choice 3 cannot be made: only 0 can move"},
		{"[0, {until: 10ms}, {until: 5ms}]", "decision 3: it is already 10ms"},
		{"[{do: evict}]", "decision 1: there is no key"},
		{"[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]", "the run has ended"},
	} {
		_, err := engine.Open(t.Context(), parse(t, twoThreads+"schedule: "+c.schedule))
		if !errors.Is(err, run.ErrDiverged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.schedule, err, c.want)
		}
	}
}
