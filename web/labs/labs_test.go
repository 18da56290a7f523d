package labs

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/web/board"
	"relock/web/site/limit"
)

const patience = time.Minute

func steered(ctx context.Context, o lab.Options) (lab.Desk, error) { return lab.Steer(ctx, o) }

// some returns labs within limits.
func some(t *testing.T, l Limits) *Labs {
	t.Helper()
	all := New(l, steered, limit.NewLedger(limit.BytesOfAddress, limit.BytesOfAll))
	t.Cleanup(all.Close)
	return all
}

var options = lab.Options{Threads: 2, MaxOrders: 2000, Clock: lab.ClockGate, Timeout: time.Minute, Seed: 1}

// opened opens a lab, to which two clients come that lock by SET NX and DEL.
func opened(t *testing.T) *Lab {
	t.Helper()
	s, err := some(t, DefaultLimits()).Open(t.Context(), "::1", "me", "test", options)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range st.Look.Threads {
		go func() {
			c := redis.NewClient(&redis.Options{Addr: one.Address, MaxRetries: -1, ReadTimeout: -1})
			defer func() { _ = c.Close() }()
			for c.Echo(context.WithoutCancel(t.Context()), infer.MarkRound).Err() == nil {
				if c.SetNX(context.WithoutCancel(t.Context()), "k", one.Name, time.Second).Val() {
					c.Del(context.WithoutCancel(t.Context()), "k")
				}
			}
		}()
	}
	until(t, s, func(st State) bool { return free(st, "A") && free(st, "B") })
	return s
}

func until(t *testing.T, s *Lab, is func(State) bool) State {
	t.Helper()
	late := time.After(patience)
	for {
		changed := s.Changed()
		st, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		if is(st) {
			return st
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("it has not come: %+v", st)
		}
	}
}

// free reports whether a thread can move at the end of the newest branch.
func free(st State, thread string) bool {
	b := st.Branches[len(st.Branches)-1]
	at := b.Places[len(b.Places)-1]
	return slices.ContainsFunc(at.Choices, func(c lab.Choice) bool { return c.Thread == thread && c.Do == "" })
}

func decide(t *testing.T, s *Lab, branch, at int, thread string) int {
	t.Helper()
	made, err := s.Do(t.Context(), board.Command{Do: "step", Branch: branch, At: &at, Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Of several nodes, the nth command of a thread that waits is at its node, and a fault strikes there.
func TestALabOfSeveralNodes(t *testing.T) {
	o := options
	o.Nodes = 2
	s, err := some(t, DefaultLimits()).Open(t.Context(), "::1", "me", "test", o)
	if err != nil {
		t.Fatal(err)
	}
	st, _ := s.State()
	for _, address := range st.Look.Threads[0].Nodes {
		c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, ReadTimeout: -1})
		t.Cleanup(func() { _ = c.Close() })
		go c.SetNX(context.WithoutCancel(t.Context()), "k", "a", time.Second)
	}
	places := func(st State) []lab.Choice {
		b := st.Branches[len(st.Branches)-1]
		return slices.DeleteFunc(slices.Clone(b.Places[len(b.Places)-1].Choices), func(c lab.Choice) bool { return c.Thread != "A" || c.Do != "" })
	}
	st = until(t, s, func(st State) bool { return len(st.Branches) > 0 && len(places(st)) == 2 })
	second := slices.IndexFunc(places(st), func(c lab.Choice) bool { return c.Node == 2 }) // whichever came first
	if _, err := s.Do(t.Context(), board.Command{Do: "step", At: new(0), Thread: "A", Asked: board.Asked{Nth: second}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), board.Command{Do: "strike", At: new(1), Asked: board.Asked{LabFault: board.LabFault{Do: lab.Evict, Node: 2}}}); err != nil {
		t.Fatal(err)
	}
	st, _ = s.State()
	if way := st.Branches[0].Way; len(way) != 2 || way[0].Node != 2 || way[1].Node != 2 || st.Scenario.Lock.Nodes != 2 {
		t.Errorf("%+v of %d nodes", way, st.Scenario.Lock.Nodes)
	}
}

// A decision in the past starts a branch, whose round runs again; the other branch stays
// as it was.
func TestBranches(t *testing.T) {
	s := opened(t)
	if made := decide(t, s, 0, 0, "A"); made != 0 {
		t.Errorf("at its end a branch goes on as %d", made)
	}
	made := decide(t, s, 0, 0, "B")
	st, err := s.State()
	if err != nil || made != 1 || len(st.Branches) != 2 {
		t.Fatalf("%v, %d of %d branches", err, made, len(st.Branches))
	}
	for i, thread := range []string{"A", "B"} {
		b := st.Branches[i]
		if len(b.Way) != 1 || b.Way[0].Thread != thread || b.Live != (i == 1) || len(b.Positions) != 2 || len(b.Places) != 2 || b.Positions[1].Seq != len(b.Events) {
			t.Errorf("branch %d is %+v", i, b)
		}
	}
	if b := st.Branches[1]; b.Parent != 0 || b.Fork != 0 {
		t.Errorf("it leaves %d at %d", b.Parent, b.Fork)
	}
	if _, err := s.Do(t.Context(), board.Command{Do: "step", Branch: 7, Thread: "A"}); !errors.Is(err, board.ErrNoBranch) {
		t.Errorf("on no branch: %v", err)
	}
	if _, err := s.Do(t.Context(), board.Command{Do: "step", At: new(9), Thread: "A"}); !errors.Is(err, board.ErrNoMove) {
		t.Errorf("beyond its end: %v", err)
	}

	// Without the branch whose round goes on, the next decision runs one again.
	if _, err := s.Do(t.Context(), board.Command{Do: "drop", Branch: 1}); err != nil {
		t.Fatal(err)
	}
	made = decide(t, s, 0, 1, "B")
	st, _ = s.State()
	if b := st.Branches[len(st.Branches)-1]; made != 2 || b.ID != 2 || len(b.Way) != 2 || b.Fork != 1 {
		t.Errorf("on branch %d it is %+v", made, b)
	}
	if _, err := s.Do(t.Context(), board.Command{Do: "drop", Branch: 0}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), board.Command{Do: "drop", Branch: 2}); err == nil {
		t.Errorf("the only one is dropped: %v", err)
	}
	for len(st.Branches) < MaxBranches {
		if _, err := s.Do(t.Context(), board.Command{Do: "again"}); err != nil {
			t.Fatal(err)
		}
		st, _ = s.State()
	}
	if _, err := s.Do(t.Context(), board.Command{Do: "again"}); !errors.Is(err, ErrBranches) {
		t.Errorf("one more: %v", err)
	}
}

// While every order is tried nobody decides; afterwards an order that was found is a
// branch.
func TestSearch(t *testing.T) {
	s := opened(t)
	decide(t, s, 0, 0, "A")
	if err := s.Search(t.Context(), lab.Bounds{Faults: []string{lab.LoseReply}, MaxFaults: 1, MaxOrders: 2000}); err != nil {
		t.Fatal(err)
	}
	st := until(t, s, func(st State) bool { return !st.Search.Going })
	if st.Search.Err != nil || st.Search.Tried.Ending != lab.Exhausted || len(st.Search.Tried.Rules) == 0 {
		t.Fatalf("it came to %+v", st.Search)
	}
	if len(st.Branches) != 1 || st.Branches[0].Live || len(st.Branches[0].Way) != 1 {
		t.Errorf("the branch before it is %+v", st.Branches[0])
	}
	made, err := s.Do(t.Context(), board.Command{Do: "order"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, s, func(st State) bool {
		b := st.Branches[len(st.Branches)-1]
		return b.ID == made && b.Positions[len(b.Positions)-1].Over
	})
}

// A search that goes on is stopped, and tells how far it came.
func TestHalt(t *testing.T) {
	s := opened(t)
	if err := s.Search(t.Context(), lab.Bounds{Faults: []string{lab.LoseReply, lab.LateCopy, lab.Delay}, MaxFaults: 3, MaxOrders: lab.MaxOrders}); err != nil {
		t.Fatal(err)
	}
	until(t, s, func(st State) bool { return st.Search.Orders > 0 })
	if _, err := s.Do(t.Context(), board.Command{Do: "step", Thread: "A"}); !errors.Is(err, errSearches) {
		t.Errorf("a decision meanwhile: %v", err)
	}
	s.Halt()
	st := until(t, s, func(st State) bool { return !st.Search.Going })
	if st.Search.Err != nil || st.Search.Tried.Ending != lab.Stopped || st.Search.Tried.Orders == 0 {
		t.Errorf("it came to %+v", st.Search)
	}
}

func TestLimits(t *testing.T) {
	all := some(t, Limits{Open: 2, OpenAddress: 1, Idle: time.Minute})
	first, err := all.Open(t.Context(), "::1", "me", "test", options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Open(t.Context(), "::1", "me", "test", options); !errors.Is(err, ErrTooManyOwn) {
		t.Errorf("a second one of an address: %v", err)
	}
	if _, err := all.Open(t.Context(), "::2", "you", "test", options); err != nil {
		t.Error(err)
	}
	if _, err := all.Open(t.Context(), "::3", "he", "test", options); !errors.Is(err, ErrTooMany) {
		t.Errorf("a third one: %v", err)
	}
	leave := first.Enter()
	all.forgetBefore(time.Now().Add(time.Hour))
	if _, ok := all.Get(first.ID); !ok {
		t.Error("a lab at which somebody looks is forgotten")
	}
	leave()
	all.forgetBefore(time.Now().Add(time.Hour))
	if _, ok := all.Get(first.ID); ok {
		t.Error("a lab at which nobody looks is kept")
	}
	if _, err := first.State(); !errors.Is(err, ErrClosed) {
		t.Errorf("it says %v", err)
	}
	if _, err := first.Do(t.Context(), board.Command{Do: "again"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a round of it: %v", err)
	}
}

// The server's own lab is there for every visitor, however long nobody looks; labs of visitors
// beside it are closed, and Close ends it.
func TestTheServersOwnLab(t *testing.T) {
	all := some(t, Limits{Open: 3, OpenAddress: 1, Idle: time.Minute})
	desk, err := steered(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	own, err := all.Fix(desk, "test")
	if err != nil || all.Fixed() != own.ID {
		t.Fatalf("%q is fixed, not %q; %v", all.Fixed(), own.ID, err)
	}
	other, err := all.Open(t.Context(), "::1", "me", "test", options)
	if err != nil {
		t.Fatal(err)
	}
	if !own.Owned("me") || !own.Owned("") || !other.Owned("me") || other.Owned("you") {
		t.Error("the server's own lab is everybody's, and a visitor's his alone")
	}
	all.forgetBefore(time.Now().Add(59 * time.Second))
	if _, ok := all.Get(other.ID); !ok {
		t.Error("a lab is closed before its time")
	}
	all.forgetBefore(time.Now().Add(time.Hour))
	if _, ok := all.Get(own.ID); !ok {
		t.Error("the server's own lab is closed as idle")
	}
	if _, err := own.State(); err != nil {
		t.Errorf("it says %v", err)
	}
	if _, ok := all.Get(other.ID); ok {
		t.Error("a visitor's lab is kept")
	}
	all.Close()
	if _, err := own.State(); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end it says %v", err)
	}
}
