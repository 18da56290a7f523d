package lab_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/check"
	"relock/engine/outside/lab"
	"relock/engine/trace"
)

// desks opens a lab here, and one in another process: they are steered alike.
func desks(t *testing.T, test func(*testing.T, lab.Desk)) {
	t.Run("here", func(t *testing.T) {
		o := options(t, "")
		o.Command = nil
		s, err := lab.Steer(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		test(t, s)
	})
	t.Run("elsewhere", func(t *testing.T) {
		c := exec.Command(options(t, "").Command[0])
		c.Env = append(os.Environ(), "LAB_TEST_WORKER=desk")
		r, err := lab.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		test(t, r)
	})
}

// join starts a worker of a kind for each thread, and waits for their first round.
func join(t *testing.T, s lab.Desk, kind string) {
	t.Helper()
	start(t, s, kind)
	until(t, s, func(l lab.Look) bool { return l.Rounds == 1 && len(free(l)) == 2 })
}

// start starts a worker of a kind for each thread, which is not the lab's own.
func start(t *testing.T, s lab.Desk, kind string) {
	t.Helper()
	command := options(t, kind).Command[0]
	for _, one := range s.Look().Threads {
		host, port, err := net.SplitHostPort(one.Address)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(command)
		c.Env = append(os.Environ(), "LAB_TEST_WORKER="+kind, "REDIS_HOST="+host, "REDIS_PORT="+port, "RELOCK_THREAD="+one.Name)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
}

// until waits until what there is to decide is as it should be.
func until(t *testing.T, s lab.Desk, is func(lab.Look) bool) lab.Look {
	t.Helper()
	late := time.After(patience)
	for {
		changed := s.Changed()
		look := s.Look()
		if is(look) {
			return look
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("it has not come: %+v", look)
		}
	}
}

// free are the threads whose command can be answered.
func free(l lab.Look) (threads []string) {
	for _, c := range l.Choices {
		if c.Do == "" {
			threads = append(threads, c.Thread)
		}
	}
	return threads
}

// on decides for a thread, once its command is there, or for Redis, "".
func on(t *testing.T, s lab.Desk, thread, do string) {
	t.Helper()
	until(t, s, func(l lab.Look) bool { return thread == "" || slices.Contains(free(l), thread) })
	if err := s.Decide(t.Context(), lab.Decision{Thread: thread, Do: do}); err != nil {
		t.Fatal(err)
	}
}

// violated are the rules that a track breaks.
func violated(t *testing.T, s lab.Desk) (rules []string) {
	t.Helper()
	track, err := s.Track("test")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range track.Events {
		if v, ok := e.Body.(trace.Violation); ok {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}

// A person decides, goes back, and tries another order: each is a round of the same
// clients, run again.
func TestSteering(t *testing.T) {
	desks(t, func(t *testing.T, s lab.Desk) {
		join(t, s, "lock")
		on(t, s, "A", lab.LoseReply) // it has the lock, and is not told
		on(t, s, "A", "")            // refused by its own key
		on(t, s, "B", "")
		on(t, s, "B", "")
		over := until(t, s, func(l lab.Look) bool { return l.Over })
		if got := violated(t, s); !slices.Equal(got, []string{check.ShutOut}) {
			t.Errorf("the round has broken %v; want an orphan: nobody knows of the key", got)
		}
		if err := s.Decide(t.Context(), lab.Decision{Thread: "A"}); !errors.Is(err, lab.ErrNoChoice) {
			t.Errorf("a decision after the end: %v", err)
		}
		track, _ := s.Track("test")
		if len(track.After) != len(over.Order)+1 || track.After[len(track.After)-1] != len(track.Events) || !slices.IsSorted(track.After) {
			t.Errorf("after %d decisions there are %v events, of %d", len(over.Order), track.After, len(track.Events))
		}

		if err := s.Again(t.Context(), over.Order); err != nil {
			t.Fatal(err)
		}
		again := until(t, s, func(l lab.Look) bool { return l.Over })
		if !reflect.DeepEqual(again.Order, over.Order) || again.Rounds != over.Rounds+1 {
			t.Errorf("run again, round %d is %v; want round %d, %v", again.Rounds, again.Order, over.Rounds+1, over.Order)
		}
		if got := violated(t, s); !slices.Equal(got, []string{check.ShutOut}) {
			t.Errorf("run again, it has broken %v", got)
		}

		if err := s.Again(t.Context(), over.Order[:1]); err != nil {
			t.Fatal(err)
		}
		on(t, s, "", lab.LeaseEnds)
		on(t, s, "B", "")
		if look := s.Look(); look.Over || len(look.Order) != 3 {
			t.Errorf("on the other order there is %+v", look)
		}
	})
}

// A replay that diverges says where, and the round stands there.
func TestSteeringDiverges(t *testing.T) {
	desks(t, func(t *testing.T, s lab.Desk) {
		join(t, s, "lock")
		err := s.Again(t.Context(), []lab.Decision{{Thread: "A"}, {Thread: "B", Command: "GET k"}})
		var other *lab.DivergedError
		if !errors.As(err, &other) || other.At != 2 {
			t.Fatalf("it said %v", err)
		}
		if look := s.Look(); len(look.Order) != 1 || look.Busy {
			t.Errorf("it stands at %+v", look)
		}
	})
}

// A search by hand counts what one counts that starts its workers.
func TestSteeringSearches(t *testing.T) {
	desks(t, func(t *testing.T, s lab.Desk) {
		o := options(t, "lock")
		o.Faults, o.MaxFaults = []string{lab.LoseReply}, 1
		want := search(t, o)
		join(t, s, "lock")
		on(t, s, "A", "") // in the middle of a round
		found, err := s.Search(t.Context(), lab.Bounds{Faults: o.Faults, MaxFaults: 1, MaxOrders: o.MaxOrders}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found.Ending != lab.Exhausted || found.Orders != want.Orders || len(found.Rules) != 1 || fmt.Sprint(found.Rules[0].Rule, " ", found.Rules[0].Orders) != rules(want) {
			t.Fatalf("it has found %+v; want %s in %d", found, rules(want), want.Orders)
		}
		if err := s.Again(t.Context(), found.Rules[0].Order); err != nil {
			t.Fatal(err)
		}
		until(t, s, func(l lab.Look) bool { return l.Over })
		if got := violated(t, s); !slices.Equal(got, []string{found.Rules[0].Rule}) {
			t.Errorf("the smallest order has broken %v", got)
		}
	})
}

// A client that asks for no rounds is steered, too; only nothing can be run again.
func TestSteeringByHand(t *testing.T) {
	desks(t, func(t *testing.T, s lab.Desk) {
		if err := s.Again(t.Context(), nil); !errors.Is(err, lab.ErrNobody) {
			t.Errorf("without a client: %v", err)
		}
		c := redis.NewClient(&redis.Options{Addr: s.Look().Threads[0].Address, ReadTimeout: -1, ClientName: "by hand"})
		defer c.Close()
		got := make(chan error, 1)
		go func() { got <- c.SetNX(t.Context(), "k", "me", 2*time.Second).Err() }()
		look := until(t, s, func(l lab.Look) bool { return len(free(l)) == 1 })
		if look.Threads[0].State != lab.Waits || look.Threads[0].Client == "" || look.Threads[1].State != lab.Away {
			t.Errorf("the threads are %+v", look.Threads)
		}
		on(t, s, "A", "")
		if err := <-got; err != nil {
			t.Error(err)
		}
		if look := s.Look(); look.Key != "k" || look.Expiry != 2*time.Second || look.Over {
			t.Errorf("after it there is %+v", look)
		}
		on(t, s, "", lab.LeaseEnds)
		var roundless *lab.RoundlessError
		if err := s.Again(t.Context(), nil); !errors.As(err, &roundless) || roundless.Thread != "A" {
			t.Errorf("run again: %v", err)
		}
	})
}

// The thread inside stands still until the lease is over, and another comes in: with the
// process really stopped, and Redis on the wall clock.
func TestSteeringPausesInside(t *testing.T) {
	o := options(t, "lock")
	o.Clock, o.Env = lab.ClockWall, append(o.Env, "LAB_TEST_LEASE=100ms")
	s, err := lab.Steer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	until(t, s, func(l lab.Look) bool { return l.Rounds == 1 && len(free(l)) == 2 })
	on(t, s, "A", "")        // has the lock
	on(t, s, "A", "")        // enters
	on(t, s, "A", lab.Pause) // at its mark: no other fault can strike there
	on(t, s, "B", "")
	on(t, s, "B", "")
	if got := violated(t, s); !slices.Equal(got, []string{check.MutualExclusion}) {
		t.Errorf("it has broken %v", got)
	}
	track, err := s.Track("test")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(track.Events, func(e trace.Event) bool { x, ok := e.Body.(trace.Expired); return ok && x.Was.Exists() }) {
		t.Error("nothing says that the lease has ended")
	}
	for _, c := range s.Look().Choices {
		if strings.HasPrefix(c.Command, "ECHO") && c.Do != "" && c.Do != lab.Pause && c.Do != lab.Crash {
			t.Errorf("a mark can be struck: %+v", c)
		}
	}
}

// A worker that ends before it says anything has last words.
func TestSteeringTellsOfAnEnd(t *testing.T) {
	s, err := lab.Steer(t.Context(), options(t, "dies at once"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	until(t, s, func(l lab.Look) bool {
		return l.Threads[0].State == lab.Gone && l.Threads[0].Words == "ModuleNotFoundError: No module named 'redis'"
	})
	var failed *lab.WorkerError
	if err := s.Again(t.Context(), nil); !errors.As(err, &failed) {
		t.Errorf("another round: %v", err)
	}
}

// Clients that come after others have another lock: the lab finds its key again.
func TestSteeringFindsTheKeyAgain(t *testing.T) {
	desks(t, func(t *testing.T, s lab.Desk) {
		c := redis.NewClient(&redis.Options{Addr: s.Look().Threads[0].Address, ReadTimeout: -1})
		done := make(chan struct{})
		go func() { defer close(done); c.SetNX(t.Context(), "tried", "me", 2*time.Second) }()
		on(t, s, "A", "")
		<-done
		_ = c.Close()
		if key := s.Look().Key; key != "tried" {
			t.Fatalf("the key is %q", key)
		}
		start(t, s, "lock")
		until(t, s, func(l lab.Look) bool { return l.Threads[0].State == lab.AtRound && l.Threads[1].State == lab.AtRound })
		if err := s.Again(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		on(t, s, "A", lab.LoseReply)
		if key := s.Look().Key; key != "k" {
			t.Errorf("of other clients the key is %q", key)
		}
		on(t, s, "A", "")
		on(t, s, "B", "")
		on(t, s, "B", "")
		until(t, s, func(l lab.Look) bool { return l.Over })
		if got := violated(t, s); !slices.Equal(got, []string{check.ShutOut}) {
			t.Errorf("it has broken %v", got)
		}
	})
}
