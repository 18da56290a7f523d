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

// stepping is a person who goes along paths of a scenario.
type stepping struct {
	t *testing.T
	*engine.Paths

	b *engine.Path // where they are, at its end
}

func open(t *testing.T, sc *scenario.Scenario) *stepping {
	t.Helper()
	s := &stepping{t: t, Paths: engine.NewPaths(sc)}
	t.Cleanup(s.Close)
	var err error
	if s.b, err = s.Path(t.Context(), sc.Schedule); err != nil {
		t.Fatal(err)
	}
	return s
}

// try makes a wish at the end, and goes there.
func (s *stepping) try(w engine.Wish) error {
	b, err := s.Try(s.t.Context(), s.b.Moves, w)
	if err == nil {
		s.b = b
	}
	return err
}

// must is try where it is possible.
func (s *stepping) must(w engine.Wish) {
	s.t.Helper()
	if err := s.try(w); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stepping) toTheEnd() *engine.Path {
	s.t.Helper()
	for !s.b.End().Over {
		s.must(engine.Wish{})
	}
	return s.b
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
				b := s.toTheEnd()
				header, events, err := b.Trace(sc)
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

// wander does this and that, and returns where it led.
func wander(t *testing.T, s *stepping, r *rand.Rand) []*engine.Path {
	t.Helper()
	list := []*engine.Path{s.b}
	for range 60 {
		on := r.IntN(len(list))
		at := len(list[on].Moves)
		if r.IntN(20) == 0 {
			at = r.IntN(at + 1)
		}
		w := engine.Wish{}
		thread := []string{"A", "B", "C"}[r.IntN(3)]
		switch r.IntN(9) {
		case 0:
			w.Move = new(move(randomFault(r)))
		case 1:
			w.Pass, w.By = []engine.Passage{engine.ToEvent, engine.ToExpiry, engine.ByLength}[r.IntN(3)], time.Duration(1+r.IntN(30))*ms
		case 2:
			w.Thread, w.Network = thread, true
		case 3, 4, 5:
			w.Thread, w.Background = thread, r.IntN(5) == 0
		}
		b, err := s.Try(t.Context(), list[on].Moves[:at], w)
		var refused *run.Refusal
		switch {
		case errors.As(err, &refused):
		case err != nil:
			t.Fatal(err)
		case at == len(list[on].Moves):
			list[on] = b
		case len(list) < 6:
			list = append(list, b)
		}
	}
	return list
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
		s := open(t, sc)
		for _, b := range wander(t, s, r) {
			wellFormed(t, b)
			again(t, s.Paths, b.Moves)
			again(t, s.Paths, b.Moves[:r.IntN(len(b.Moves)+1)])
			if t.Failed() {
				t.Fatalf("seed %d, %d moves", seed, len(b.Moves))
			}
		}
		s.Close()
	}
}

// again compares what is known of moves with what they come to elsewhere.
func again(t *testing.T, p *engine.Paths, moves []scenario.Move) *engine.Path {
	t.Helper()
	known, err := p.Path(t.Context(), moves)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := engine.PathOf(t.Context(), p.Scenario().WithSchedule(moves))
	if err != nil {
		t.Fatal(err)
	}
	h, events, err := known.Trace(p.Scenario())
	if err != nil {
		t.Fatal(err)
	}
	h2, events2, err := fresh.Trace(p.Scenario())
	if err != nil {
		t.Fatal(err)
	}
	same(t, written(t, h, events), written(t, h2, events2))
	if diff := cmp.Diff(known.Positions, fresh.Positions); diff != "" {
		t.Errorf("the positions differ: %s", diff)
	}
	return known
}

// Who stands still for good has come to the end, and goes on where a schedule says how:
// what is known of the one says nothing of the other.
func TestAScheduleGoesOnWhereAPersonIsAtTheEnd(t *testing.T) {
	s := open(t, parse(t, `
lock: {protocol: mutex-unsafe, lease: 200ms, retry: {times: unlimited, interval: 100ms}}
faults: [{thread: A, at: lock, command: 2, do: crash}]
threads: [{name: A, work: 10ms}, {name: B, start: 5ms, work: 10ms}]
`))
	by := s.toTheEnd()
	longer := append(slices.Clone(by.Moves), scenario.Move{Until: 300 * ms}, move(scenario.Fault{Do: fault.Evict}))
	if b := again(t, s.Paths, longer); b.Positions[len(by.Moves)].Over {
		t.Error("the schedule ends where a person does")
	}
	if b := again(t, s.Paths, by.Moves); !b.End().Over {
		t.Error("a person goes on where nothing can come")
	}
	s.Close()
	again(t, s.Paths, longer)
	for n := range longer {
		again(t, s.Paths, longer[:n])
	}
	if _, err := s.Try(t.Context(), longer[:len(by.Moves)], engine.Wish{Pass: engine.ByLength, By: ms}); !errors.As(err, new(*run.Refusal)) {
		t.Errorf("a person goes on where nothing can come: %v", err)
	}
}

// What is known is not made again, of branches and of what they have in common.
func TestWhatIsKnownIsKept(t *testing.T) {
	s := open(t, parse(t, twoThreads))
	main := s.toTheEnd()
	other, err := s.Try(t.Context(), main.Moves[:3], engine.Wish{Pass: engine.ByLength, By: ms})
	if err != nil {
		t.Fatal(err)
	}
	if s.Known(main.Moves) != main || s.Known(other.Moves) != other {
		t.Error("a branch is made again")
	}
	if b := s.Known(main.Moves[:2]); b == nil || &b.Events[0] != &main.Events[0] && &b.Events[0] != &other.Events[0] {
		t.Error("the beginning of a branch is made again, or takes memory of its own")
	}
	size := s.Size()
	if s.Retain([][]scenario.Move{main.Moves}); s.Known(other.Moves) != nil || s.Known(main.Moves) != main || s.Size() >= size {
		t.Errorf("of %d bytes %d stay, %v %v", size, s.Size(), s.Known(other.Moves), s.Known(main.Moves))
	}
	if s.Close(); s.Size() != 0 || s.Known(nil) != nil {
		t.Errorf("%d bytes stay", s.Size())
	}
}

func move(f scenario.Fault) scenario.Move { return scenario.Move{Fault: &f} }

func wellFormed(t *testing.T, b *engine.Path) {
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

func TestActingInThePastMakesAnotherPath(t *testing.T) {
	s := open(t, parse(t, twoThreads))
	main := s.toTheEnd()
	moves, events := len(main.Moves), len(main.Events)
	// At first both can move, and by the policy A does. Now B does.
	b, err := s.Try(t.Context(), nil, engine.Wish{Thread: "B"})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Moves) != 1 || b.Events[0].Thread != "B" {
		t.Errorf("%d moves, first event of %s", len(b.Moves), b.Events[0].Thread)
	}
	if len(main.Moves) != moves || len(main.Events) != events {
		t.Error("the path that was left has changed")
	}
	if s.b, err = s.Path(t.Context(), main.Moves[:3]); err != nil {
		t.Fatal(err)
	}
	same(t, written(t, main.Header, main.Events[:main.Positions[3].Seq]), written(t, s.b.Header, s.b.Events))
	// Going on where it was cut gives the same again.
	same(t, written(t, main.Header, main.Events), written(t, main.Header, s.toTheEnd().Events))
}

func TestWhatHappensBeforeTheFirstMoveIsThere(t *testing.T) {
	s := open(t, parse(t, leaseEnds+"faults: [{time: 0ms, do: down}]\n"))
	b := s.toTheEnd()
	if p := b.Positions[0]; p.Seq != 1 || p.Row != 1 {
		t.Errorf("at the start: %+v, want the fault's row", p)
	}
	for i, e := range b.Events {
		if e.Seq != i+1 {
			t.Fatalf("event %d has the number %d", i, e.Seq)
		}
	}
}

func TestDoingTheSameAgainIsForeseen(t *testing.T) {
	s := open(t, parse(t, leaseEnds))
	main := s.toTheEnd()
	foreseen := 0
	does := func(at int, w engine.Wish) {
		t.Helper()
		m, told := main.Positions[at].Foresee(w)
		if told {
			foreseen++
		}
		if told && !m.Equal(main.Moves[at]) {
			t.Errorf("at %d it is foreseen as %+v", at, m)
		}
		if b, err := s.Try(t.Context(), main.Moves[:at], w); err != nil || !b.Moves[at].Equal(main.Moves[at]) {
			t.Errorf("the same at %d: %v", at, err)
		}
	}
	for at, thread := range []string{"A", "B", "B", "B", "B"} { // B's retries lie in the future each time
		does(at, engine.Wish{Thread: thread})
	}
	does(5, engine.Wish{Pass: engine.ToExpiry})
	if foreseen < 2 {
		t.Errorf("%d are foreseen", foreseen)
	}
	if m, told := main.Positions[5].Foresee(engine.Wish{Pass: engine.ByLength, By: ms}); !told || m.Equal(main.Moves[5]) {
		t.Errorf("something else: %+v", m)
	}
}

const leaseEnds = `
lock: {lease: 200ms, watchdog: off, retry: {times: 5, interval: 50ms}}
threads: [{name: A, work: 300ms}, {name: B, start: 10ms, work: 50ms}]
`

// options are those of a branch's end in short.
func options(b *engine.Path) []string {
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
	want := func(wanted ...string) {
		t.Helper()
		if got := options(s.b); !slices.Equal(got, wanted) {
			t.Errorf("after %d moves:\n%s\nwant\n%s", len(s.b.Moves), strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
	step := func(thread string) {
		t.Helper()
		if err := s.try(engine.Wish{Thread: thread}); err != nil {
			t.Error(err)
		}
	}
	want("A start lock, level 1", "B start lock, level 1")
	step("A") // holds level 1, works until 40 ms
	want("A work lock, level 2: waits 40ms", "A* renew renew, level 0: waits 100ms", "B start lock, level 1")
	step("B") // refused, retries at 50 ms
	want("A work lock, level 2: waits 40ms", "A* renew renew, level 0: waits 100ms", "B retry lock, level 1, attempt 2: waits 50ms")
	strike := func(f scenario.Fault) engine.Wish { return engine.Wish{Move: new(move(f))} }
	s.must(strike(scenario.Fault{Do: fault.Pause, Thread: "A", For: 500 * ms}))
	want("A work lock, level 2: paused 540ms", "A* renew renew, level 0: paused 500ms", "B retry lock, level 1, attempt 2: waits 50ms")
	step("B")
	step("B")
	want("A work lock, level 2: paused 540ms", "A* renew renew, level 0: paused 500ms", "B nothing: endedexhausted")

	for _, c := range []struct {
		name string
		wish engine.Wish
		want string
	}{
		{"step who has ended", engine.Wish{Thread: "B"}, "B has ended"},
		{"step the later one", engine.Wish{Thread: "A"}, "A moves at 540ms, after A"},
		{"step nobody", engine.Wish{Thread: "Z"}, "nothing more happens by itself"},
		{"strike who has ended", strike(scenario.Fault{Do: fault.Crash, Thread: "B"}), "B has ended"},
		{"pause for less", strike(scenario.Fault{Do: fault.Pause, Thread: "A", For: 10 * ms}), "A is paused until 500ms"},
		{"go back in time", engine.Wish{Move: &scenario.Move{Until: 1 * ms}}, "it is already 100ms, and time does not go back"},
		{"choose too high", engine.Wish{Move: &scenario.Move{Choice: 9}}, "choice 9 cannot be made: only 0 can move"},
		{"answer while up", strike(scenario.Fault{Do: fault.Up}), "Redis is up"},
	} {
		was, size := s.b, s.Size()
		if err := s.try(c.wish); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if s.Known(was.Moves) != was || s.Size() != size {
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
	want := func(wanted ...string) {
		t.Helper()
		got := slices.DeleteFunc(options(s.b), func(o string) bool { return strings.HasPrefix(o, "A* renew") })
		if !slices.Equal(got, wanted) {
			t.Errorf("after %d moves:\n%s\nwant\n%s", len(s.b.Moves), strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
	ask := func(node int) {
		t.Helper()
		if err := s.try(engine.Wish{Thread: "A", Node: node}); err != nil {
			t.Error(err)
		}
		last := s.b.Events[len(s.b.Events)-1]
		if c, ok := last.Body.(trace.Command); ok && c.Node != node || last.Thread != "A" {
			t.Errorf("node %d was to be asked: %+v", node, last)
		}
	}
	s.must(engine.Wish{Thread: "A"})
	want("A nothing: awaits-node", "A* ask lock, level 1, node 1", "A* ask lock, level 1, node 2", "A* ask lock, level 1, node 3", "B start lock, level 1: waits 1ms")
	ask(3)
	want("A nothing: awaits-node", "A* ask lock, level 1, node 1", "A* ask lock, level 1, node 2", "B start lock, level 1: waits 1ms")
	if err := s.try(engine.Wish{Thread: "A", Node: 3}); err == nil {
		t.Error("node 3 has answered, and is asked again")
	}
	s.must(engine.Wish{Move: new(move(scenario.Fault{Do: fault.Pause, Thread: "A", For: 5 * ms}))})
	want("A nothing: awaits-node", "A* ask lock, level 1, node 1: paused 5ms", "A* ask lock, level 1, node 2: paused 5ms", "B start lock, level 1: waits 1ms")
	s.must(engine.Wish{Pass: engine.ByLength, By: 5 * ms})
	ask(1)
	s.must(engine.Wish{Thread: "A", Node: 2})
	want("A work unlock, level 1: waits 205ms", "B start lock, level 1")
}

func TestPassingTime(t *testing.T) {
	s := open(t, parse(t, `
lock: {lease: 200ms, watchdog: off}
threads: [{name: A, work: 500ms}]
`))
	s.must(engine.Wish{})
	at := func(want time.Duration) {
		t.Helper()
		if got := s.b.End().At; got != want {
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
		s.must(engine.Wish{Pass: c.to, By: c.d})
		at(c.want)
	}
	last := s.b.Events[len(s.b.Events)-1]
	if _, ok := last.Body.(trace.Expired); !ok || last.At != 200 {
		t.Errorf("last event %+v, want the expiry at 200 ms", last)
	}
	var refused *run.Refusal
	if err := s.try(engine.Wish{Pass: engine.ToExpiry}); !errors.As(err, &refused) || refused.Reason != run.NoExpiry {
		t.Errorf("to the expiry of no key: %v", err)
	}
	// A thread that stops when the lock is lost shows it.
	s = open(t, parse(t, `
lock: {lease: 200ms, watchdog: off}
threads: [{name: A, work: 500ms, on-lost: stop}]
`))
	s.must(engine.Wish{})
	if seen := s.b.End().Seen; seen != 196*ms {
		t.Errorf("next to be seen is %v, want the end of the holder's context at 196 ms", seen)
	}
	for _, c := range []struct {
		to   engine.Passage
		want time.Duration
	}{{engine.ToEvent, 196 * ms}, {engine.ToExpiry, 200 * ms}} {
		s.must(engine.Wish{Pass: c.to})
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
		{scenario.Fault{Do: fault.Stall, Thread: "A"}, "", "shut-out"},
		{scenario.Fault{Do: fault.SkipUnlock, Thread: "A"}, trace.Done, "shut-out"},
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
			s.must(engine.Wish{})
			s.must(engine.Wish{Move: new(move(c.fault))})
			b := s.toTheEnd()
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
		_, err := engine.PathOf(t.Context(), parse(t, twoThreads+"schedule: "+c.schedule))
		if !errors.Is(err, run.ErrDiverged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.schedule, err, c.want)
		}
	}
}
