package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"relock/engine/clock"
)

const ms = time.Millisecond

// Whatever is set and stopped meanwhile, each alarm goes off exactly when it
// is due, and none that was stopped.
func TestAlarmsGoOffWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		s := &alarms{}
		began := time.Now()
		type set struct {
			timer clock.Timer
			at    time.Duration
			rang  atomic.Int64 // since began, -1 before
			stop  bool
		}
		var all []*set
		for range 500 {
			one := &set{at: time.Since(began) + time.Duration(1+random.Int64N(100))*ms}
			one.rang.Store(-1)
			one.timer = s.AfterFunc(one.at-time.Since(began), "test", func() { one.rang.Store(int64(time.Since(began))) })
			all = append(all, one)
			if victim := all[random.IntN(len(all))]; random.IntN(2) == 0 && victim.at > time.Since(began) && !victim.stop {
				victim.stop = true
				if !victim.timer.Stop() || victim.timer.Stop() {
					t.Fatal("an alarm that is not due is stopped once")
				}
			}
			time.Sleep(time.Duration(random.Int64N(3)) * ms)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s.mu.Lock()
		left, fires := len(s.due), s.fires
		s.mu.Unlock()
		if left != 0 || !fires.IsZero() {
			t.Errorf("%d alarms are left, the timer at %v", left, fires)
		}
		for i, one := range all {
			want := int64(one.at)
			if one.stop {
				want = -1
			}
			if got := one.rang.Load(); got != want {
				t.Errorf("alarm %d, due after %v, stopped %v, went off after %v", i, one.at, one.stop, time.Duration(got))
			}
			if one.timer.Stop() {
				t.Errorf("alarm %d could be stopped afterwards", i)
			}
		}
	})
}

// The timer is left alone while it fires early enough: that is what it is for.
func TestAlarmsLeaveTheirTimerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &alarms{}
		fires := func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.fires
		}
		s.AfterFunc(time.Second, "test", func() {}).Stop()
		first := fires()
		for range 10 {
			s.AfterFunc(time.Minute, "test", func() {}).Stop()
		}
		if then := fires(); first.IsZero() || then != first {
			t.Errorf("the timer was set to %v, and then to %v", first, then)
		}
		s.AfterFunc(ms, "test", func() {}).Stop()
		if !fires().Before(first) {
			t.Error("the timer was not set to what comes sooner")
		}
		time.Sleep(time.Minute)
	})
}

func TestAlarmsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &alarms{}
		began := time.Now()
		a := s.AfterFunc(5*ms, "test", func() { time.Sleep(2 * ms) })
		brief, cancel := context.WithTimeout(t.Context(), ms)
		defer cancel()
		if err := a.Wait(brief); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != ms {
			t.Errorf("waited %v: %v", time.Since(began), err)
		}
		for range 2 {
			if err := a.Wait(t.Context()); err != nil || time.Since(began) != 7*ms {
				t.Errorf("waited %v for a function that ends after 7ms: %v", time.Since(began), err)
			}
		}
		stopped := s.AfterFunc(time.Hour, "test", func() { t.Error("it was stopped") })
		go func() {
			time.Sleep(ms)
			stopped.Stop()
		}()
		if err := stopped.Wait(t.Context()); err != nil || time.Since(began) != 8*ms {
			t.Errorf("waited %v for one that is stopped after 8ms: %v", time.Since(began), err)
		}
	})
}

func TestAlarmsEndContexts(t *testing.T) {
	boss := errors.New("the boss called")
	for _, c := range []struct {
		name       string
		parent     time.Duration // its deadline, 0 for none
		deadline   time.Duration
		cancel     bool // the parent is, after 3 ms
		after      time.Duration
		err, cause error
	}{
		{"deadline", 0, 5 * ms, false, 5 * ms, context.DeadlineExceeded, context.DeadlineExceeded},
		{"deadline before the parent's", 9 * ms, 5 * ms, false, 5 * ms, context.DeadlineExceeded, context.DeadlineExceeded},
		{"the parent's deadline", 4 * ms, 5 * ms, false, 4 * ms, context.DeadlineExceeded, context.DeadlineExceeded},
		{"past", 0, -ms, false, 0, context.DeadlineExceeded, context.DeadlineExceeded},
		{"the parent is cancelled", 0, 5 * ms, true, 3 * ms, context.Canceled, boss},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &alarms{}
				began := time.Now()
				parent, end := context.WithCancelCause(t.Context())
				defer end(nil)
				if c.parent > 0 {
					var cancel context.CancelFunc
					parent, cancel = context.WithTimeout(parent, c.parent)
					defer cancel()
				}
				if c.cancel {
					time.AfterFunc(3*ms, func() { end(boss) })
				}
				ctx, cancel := s.WithDeadline(parent, began.Add(c.deadline))
				defer cancel()
				child := context.WithValue(ctx, t, Call{})
				at, ok := child.Deadline()
				if wants := []time.Duration{c.deadline, c.parent}; !ok || !slices.Contains(wants, at.Sub(began)) {
					t.Errorf("the deadline is after %v", at.Sub(began))
				}
				<-child.Done()
				if got := time.Since(began); got != c.after || !errors.Is(child.Err(), c.err) || !errors.Is(context.Cause(child), c.cause) {
					t.Errorf("it ended after %v with %v, cause %v; want %v, %v, %v", got, child.Err(), context.Cause(child), c.after, c.err, c.cause)
				}
			})
		})
	}
	ctx, cancel := (&alarms{}).WithDeadline(context.Background(), time.Now().Add(time.Hour))
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	cancel()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("after cancel: %v", ctx.Err())
	}
}
