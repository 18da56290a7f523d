package turn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"relock/web/site/turn"
)

// One address has a hundred requests in line, another asks for one: it waits
// for one piece of work and not for a hundred.
func TestWhoAsksLittleIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(2, 1)
		work := func(address string) time.Duration {
			began := time.Now()
			if err := turns.Take(t.Context(), address); err != nil {
				t.Error(err)
			}
			waited := time.Since(began)
			time.Sleep(time.Second)
			turns.Done(address)
			return waited
		}
		for range 100 {
			go work("many")
		}
		synctest.Wait()
		if waited := work("few"); waited != 0 { // one turn is never theirs
			t.Errorf("waited %v, want none: one address never has all turns", waited)
		}
		for range 5 {
			go work("others")
		}
		synctest.Wait()
		if waited := work("few"); waited > 2*time.Second { // one round
			t.Errorf("waited %v behind two others", waited)
		}
		time.Sleep(5 * time.Minute)
	})
}

func TestTurnsGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(1, 1)
		if err := turns.Take(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, address := range []string{"a", "a", "a", "b", "b", "c"} {
			go func() {
				if err := turns.Take(t.Context(), address); err != nil {
					t.Error(err)
				}
				order = append(order, address)
				turns.Done(address)
			}()
			synctest.Wait()
		}
		turns.Done("x")
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[a b c a b a]" {
			t.Errorf("in the order %s", got)
		}
	})
}

func TestPauseAndLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(1, 1)
		if err := turns.Take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := turns.Pause(t.Context(), "a"); err != nil { // nobody waits
			t.Error(err)
		}
		worked := false
		go func() {
			if turns.Take(t.Context(), "b") == nil {
				worked = true
				turns.Done("b")
			}
		}()
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- turns.Take(ctx, "c") }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		if err := turns.Pause(t.Context(), "a"); err != nil || !worked {
			t.Errorf("after a pause: %v, the other worked: %v", err, worked)
		}
		turns.Done("a")
		for range 2 { // nothing was lost
			if err := turns.Take(t.Context(), "d"); err != nil {
				t.Error(err)
			}
			turns.Done("d")
		}
	})
}

func TestASeatStandsAsideWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(1, 1)
		seat := turns.Seat("a")
		if err := seat.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		worked := make(chan string, 3)
		other := func(name string) {
			if turns.Take(t.Context(), name) == nil {
				worked <- name
				turns.Done(name)
			}
		}
		go other("b")
		synctest.Wait()
		if err := seat.Pause(t.Context()); err != nil || len(worked) != 0 { // it has just begun
			t.Errorf("%v, others worked %d times", err, len(worked))
		}
		time.Sleep(time.Second)
		if err := seat.Pause(t.Context()); err != nil || len(worked) != 1 {
			t.Errorf("after a second: %v, others worked %d times", err, len(worked))
		}
		seat.Away(t.Context(), func() {
			go other("c")
			synctest.Wait()
			if len(worked) != 2 {
				t.Error("away with the turn")
			}
		})
		go other("d")
		synctest.Wait()
		if len(worked) != 2 {
			t.Error("back without a turn")
		}
		seat.Done()
		seat.Done()
		synctest.Wait()
		if len(worked) != 3 {
			t.Error("done, and nobody else goes on")
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := seat.Pause(ctx); err != nil { // it takes one
			t.Error(err)
		}
		time.Sleep(time.Second)
		cancel()
		if err := seat.Pause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("left: %v", err)
		}
		if err := turns.Take(t.Context(), "e"); err != nil { // it was given back, once
			t.Error(err)
		}
	})
}

// Background work gets every fourth turn of its address while people wait.
func TestPeopleComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(1, 1)
		if err := turns.Take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		order := ""
		work := func(name string, take func(context.Context, string) error) {
			for range 6 {
				go func() {
					if err := take(t.Context(), "a"); err != nil {
						t.Error(err)
					}
					order += name
					turns.Done("a")
				}()
			}
			synctest.Wait()
		}
		work("r", turns.TakeLater)
		work("p", turns.Take)
		turns.Done("a")
		synctest.Wait()
		if order != "ppprppprrrrr" {
			t.Errorf("in the order %s", order)
		}
	})
}

// Spare work has what nobody else wants, one turn in all, and gives it up at the
// next pause.
func TestSpareWorkStandsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(2, 1)
		searching, other := turns.SeatSpare(""), turns.SeatSpare("")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(searching.Take(t.Context()))
		turnOfOther := make(chan struct{})
		go func() {
			must(other.Take(t.Context()))
			close(turnOfOther)
		}()
		must(turns.Take(t.Context(), "a"))
		must(searching.Pause(t.Context())) // a second of a's waits for its first, and wants no turn of ours
		served := make(chan struct{})
		go func() {
			must(turns.Take(t.Context(), "b"))
			close(served)
		}()
		synctest.Wait()
		resumed := make(chan struct{})
		go func() {
			must(searching.Pause(t.Context()))
			close(resumed)
		}()
		synctest.Wait()
		select {
		case <-served:
		default:
			t.Fatal("b waits for a search")
		}
		turns.Done("a")
		synctest.Wait()
		select {
		case <-turnOfOther:
		default:
			t.Error("nobody wants the turn, and no search gets it: the one that waited longest")
		}
		turns.Done("b")
		synctest.Wait()
		select {
		case <-resumed:
			t.Error("two searches work at once")
		default:
		}
		other.Done()
		<-resumed
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := searching.Pause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("of a search that was stopped: %v", err)
		}
		must(other.Take(t.Context())) // what it had is free
		if err := searching.Take(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("that was stopped while it waited: %v", err)
		}
		other.Done()
		must(turns.Take(t.Context(), "a"))
		must(turns.Take(t.Context(), "b"))
	})
}

// Turns stall when nobody gets one while somebody waits: not while work gives way,
// and not while nobody waits.
func TestTurnsStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turn.New(2, 1)
		want := func(when string, since time.Duration, waiting int) {
			t.Helper()
			synctest.Wait()
			if s, n := turns.Stalled(); s != since || n != waiting {
				t.Errorf("%s: nobody has got a turn for %v, %d wait; want %v, %d", when, s, n, since, waiting)
			}
		}
		waits := func(address string, kind func(context.Context, string) error) (leave context.CancelFunc) {
			ctx, leave := context.WithCancel(t.Context())
			go func() { _ = kind(ctx, address) }()
			synctest.Wait()
			return leave
		}
		for _, address := range []string{"a", "b"} { // their work hangs
			if err := turns.Take(t.Context(), address); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		want("nobody waits", 0, 0)
		spare, end := context.WithCancel(t.Context())
		go func() { _ = turns.SeatSpare("c").Take(spare) }()
		synctest.Wait()
		time.Sleep(time.Minute)
		want("spare work waits", 0, 0)
		end()
		leave := waits("c", turns.Take)
		time.Sleep(4 * time.Second)
		leave()
		want("the only one who waited has left", 0, 0)
		time.Sleep(time.Second)
		waits("d", turns.TakeLater)
		waits("e", turns.Take)
		want("others have come", 5*time.Second, 2)
		turns.Done("a") // d gets its turn
		want("one works", 0, 1)
		time.Sleep(3 * time.Second)
		want("it hangs, too", 3*time.Second, 1)
		turns.Done("d") // e gets its turn
		time.Sleep(time.Minute)
		want("all have their turns", 0, 0)
		waits("f", turns.Take)()
		synctest.Wait()
		if err := turns.Pause(t.Context(), "b"); err != nil { // nobody wants it
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		defer waits("g", turns.Take)()
		want("work went on since somebody waited", 0, 1)
	})
}
