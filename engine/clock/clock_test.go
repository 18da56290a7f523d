package clock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"relock/engine/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

func doing(t clock.Task) any {
	switch t.State {
	case clock.Starting:
		return "start"
	case clock.Sleeping, clock.Working:
		return "wake"
	default:
		return t.Doing
	}
}

// drive lets everything happen in order, and notes each decision.
func drive(v *clock.Virtual) []string {
	var decisions []string
	for {
		if ready := v.Ready(); len(ready) > 0 {
			decisions = append(decisions, fmt.Sprintf("%d %s: %s", v.Now()/ms, ready[0].Process, doing(ready[0])))
			v.Step(ready[0])
			continue
		}
		next, ok := v.Next()
		if !ok {
			return decisions
		}
		v.Advance(next)
	}
}

func wantList(t *testing.T, got []string, want string) {
	t.Helper()
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

func TestVirtualOrderIsWhoHasBeenReadyLongest(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	ctx := context.Background()
	for _, s := range []struct {
		name  string
		start time.Duration
	}{{"A", 0}, {"B", 0}, {"C", 5 * ms}} {
		p := v.Process(s.name)
		p.Go(s.start, func() {
			_ = p.Sleep(ctx, 10*ms-s.start) // all wake at 10, in the order in which they went to sleep
			_ = p.Gate(ctx, "first call")   // passed: the slice has had none yet
			_ = p.Gate(ctx, "second call")  // a separate decision
		})
	}
	wantList(t, drive(v), `0 A: start
0 B: start
5 C: start
10 A: wake
10 B: wake
10 C: wake
10 A: second call
10 B: second call
10 C: second call`)
}

func TestVirtualPauseDelaysTimersAndLengthensWork(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	ctx := context.Background()
	var got []string
	note := func(what string) { got = append(got, fmt.Sprintf("%d %s", v.Now()/ms, what)) }
	p := v.Process("A")
	p.Go(0, func() {
		p.AfterFunc(20*ms, "test", func() { note("timer of 20") })
		p.AfterFunc(5*ms, "test", func() {
			p.Pause(100 * ms)
			p.Pause(10 * ms) // within the first
		})
		_ = p.Work(ctx, 50*ms)
		note("work of 50")
	})
	q := v.Process("B")
	q.Go(0, func() {
		_ = q.Sleep(ctx, 50*ms)
		note("another's sleep of 50")
	})
	drive(v)
	wantList(t, got, `50 another's sleep of 50
105 timer of 20
150 work of 50`)
}

func TestVirtualContextEndsASleepWithoutADecision(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	boss := errors.New("the boss called")
	ctx, cancel := context.WithCancelCause(context.Background())
	var err error
	p := v.Process("A")
	p.Go(0, func() { err = p.Sleep(ctx, time.Hour) })
	q := v.Process("B")
	q.Go(3*ms, func() { cancel(boss) })
	wantList(t, drive(v), "0 A: start\n3 B: start")
	if !errors.Is(err, boss) || v.Now() != 3*ms {
		t.Errorf("slept to %v with %v", v.Now(), err)
	}
}

func TestVirtualDeadline(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	var err error
	p := v.Process("A")
	p.Go(0, func() {
		ctx, cancel := p.WithDeadline(context.Background(), p.Now().Add(7*ms))
		defer cancel()
		err = p.Sleep(ctx, time.Hour)
	})
	drive(v)
	if !errors.Is(err, context.DeadlineExceeded) || v.Now() != 7*ms {
		t.Errorf("slept to %v with %v", v.Now(), err)
	}
}

func TestVirtualTimerStopAndWait(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	ctx := context.Background()
	var got []string
	p := v.Process("A")
	p.Go(0, func() {
		stopped := p.AfterFunc(time.Hour, "test", func() { got = append(got, "never") })
		got = append(got, fmt.Sprint(stopped.Stop(), stopped.Stop(), stopped.Wait(ctx)))
		running := p.AfterFunc(0, "test", func() {
			_ = p.Sleep(ctx, 9*ms)
			got = append(got, "ran")
		})
		_ = p.Sleep(ctx, ms)
		got = append(got, fmt.Sprint(running.Stop(), running.Wait(ctx), int(v.Now()/ms)))
	})
	drive(v)
	wantList(t, got, "true false <nil>\nran\nfalse <nil> 9")
}

// A call in a separate task, which its caller waits for, is still one decision; several
// are one each, and so is the next thing.
func TestVirtualSliceIsHandedOver(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	ctx := context.Background()
	p := v.Process("A")
	call := func(doing string) clock.Timer {
		return p.AfterFunc(0, "call", func() { _ = p.Gate(ctx, doing) })
	}
	p.Go(0, func() {
		_ = call("in the first slice").Wait(ctx)
		_ = call("second call").Wait(ctx)
		_ = p.Sleep(ctx, ms)
		one, other := call("one of two"), call("the other")
		_ = one.Wait(ctx)
		_ = other.Wait(ctx)
		_ = p.Sleep(ctx, ms)
		p.Pause(ms)
		_ = call("after the pause").Wait(ctx)
	})
	wantList(t, drive(v), `0 A: start
0 A: second call
1 A: wake
1 A: one of two
1 A: the other
2 A: wake
3 A: after the pause`)
}

// A process may wait for another's work: neither its own pause nor its death holds that
// up. It hears of it when it goes on.
func TestVirtualWaitsForAnotherProcess(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	ctx := context.Background()
	var got []string
	net := v.Process("net")
	for name, end := range map[string]func(clock.Process){
		"paused": func(p clock.Process) { p.Pause(20 * ms) },
		"dead":   clock.Process.Kill,
	} {
		p := v.Process(name)
		p.Go(0, func() {
			err := net.AfterFunc(5*ms, "answer", func() { got = append(got, fmt.Sprintf("%d answer", v.Now()/ms)) }).Wait(ctx)
			got = append(got, fmt.Sprintf("%d %s hears it: %v", v.Now()/ms, name, err))
		})
		q := v.Process("who ends " + name)
		q.Go(ms, func() { end(p) })
	}
	drive(v)
	wantList(t, got, "5 answer\n5 answer\n21 paused hears it: <nil>")
}

// Deferred functions of a dead process run, but cannot reach the world.
func TestVirtualKillEndsEverythingOfTheProcess(t *testing.T) {
	v := clock.NewVirtual()
	defer v.Stop()
	ctx := context.Background()
	var got []string
	p := v.Process("A")
	p.Go(0, func() {
		p.AfterFunc(20*ms, "test", func() { got = append(got, "watchdog") })
		defer func() {
			got = append(got, "deferred")
			_ = p.Gate(ctx, "unlock")
			got = append(got, "unlocked")
		}()
		_ = p.Sleep(ctx, time.Hour)
		got = append(got, "woke")
	})
	q := v.Process("B")
	q.Go(10*ms, func() {
		p.Kill()
		_ = q.Sleep(ctx, 90*ms)
		got = append(got, "B goes on")
	})
	drive(v)
	wantList(t, got, "deferred\nB goes on")
}

func TestVirtualStopLeavesNoGoroutine(t *testing.T) {
	v := clock.NewVirtual()
	for range 3 {
		p := v.Process("A")
		p.Go(0, func() {
			timer := p.AfterFunc(time.Minute, "test", func() {})
			_ = timer.Wait(context.Background())
		})
		p.Go(time.Hour, func() { t.Error("began after the stop") })
	}
	for _, r := range v.Ready() {
		v.Step(r)
	}
	v.Stop() // TestMain finds what it leaves
}

func TestWallPauseLengthensWorkAndDelaysTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clock.NewWall(nil)
		p := w.Process()
		began := time.Now()
		ends := make([]time.Duration, 3)
		p.Go(0, func() {
			_ = p.Work(t.Context(), 50*ms)
			ends[0] = time.Since(began)
		})
		p.Go(0, func() {
			_ = p.Sleep(t.Context(), 20*ms)
			ends[1] = time.Since(began)
		})
		timer := p.AfterFunc(30*ms, "test", func() { ends[2] = time.Since(began) })
		time.Sleep(5 * ms)
		p.Pause(100 * ms)
		w.Wait()
		_ = timer.Wait(t.Context())
		if want := []time.Duration{150 * ms, 105 * ms, 105 * ms}; !slices.Equal(ends, want) {
			t.Errorf("work, sleep and timer ended at %v, want %v", ends, want)
		}
	})
}

func TestWallKillEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clock.NewWall(nil)
		p := w.Process()
		deferred := false
		p.Go(0, func() {
			defer func() { deferred = true }()
			_ = p.Sleep(t.Context(), time.Hour)
			t.Error("woke after its death")
		})
		timer := p.AfterFunc(ms, "test", func() { t.Error("a timer of the dead") })
		synctest.Wait()
		p.Kill()
		began := time.Now()
		w.Wait()
		if !deferred || time.Since(began) != 0 {
			t.Errorf("deferred %v, after %v", deferred, time.Since(began))
		}
		if err := timer.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSystemSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*ms)
		defer cancel()
		began := time.Now()
		err := clock.System{}.Sleep(ctx, time.Hour)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*ms {
			t.Errorf("slept %v with %v", time.Since(began), err)
		}
		if err := (clock.System{}).Sleep(ctx, 0); err != nil {
			t.Errorf("no sleep at all: %v", err)
		}
	})
}

func TestATimerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clock.System{}
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
		early := s.AfterFunc(time.Hour, "test", func() { t.Error("it was stopped") })
		if !early.Stop() || early.Stop() {
			t.Error("a timer that is not due is stopped once")
		}
		if err := early.Wait(t.Context()); err != nil {
			t.Errorf("waited for one that was stopped: %v", err)
		}
	})
}

// A clock that runs slow measures longer than it means to, in sleeps, timers and
// deadlines, and one that runs fast shorter. Work takes as long as ever.
func TestADriftingClockMeasuresByItsOwn(t *testing.T) {
	for _, c := range []struct {
		millionths              int
		sleep, work, timer, end time.Duration
	}{
		{0, 100 * ms, 200 * ms, 300 * ms, 400 * ms},
		{-200_000, 125 * ms, 225 * ms, 350 * ms, 475 * ms}, // 100 of its ms are 125
		{250_000, 80 * ms, 180 * ms, 260 * ms, 340 * ms},
	} {
		v := clock.NewVirtual()
		ctx := context.Background()
		p := clock.NewDrifting(v.Process("A"), c.millionths)
		var got []time.Duration
		p.Go(0, func() {
			_ = p.Sleep(ctx, 100*ms)
			got = append(got, v.Now())
			_ = p.Work(ctx, 100*ms)
			got = append(got, v.Now())
			_ = p.AfterFunc(100*ms, "test", func() { got = append(got, v.Now()) }).Wait(ctx)
			before := p.Now()
			limited, cancel := p.WithDeadline(ctx, before.Add(100*ms))
			defer cancel()
			_ = p.Sleep(limited, time.Hour)
			got = append(got, v.Now())
			if own := p.Now().Sub(before); own < 100*ms || own > 100*ms+2*time.Microsecond {
				t.Errorf("%d: its own clock shows %v after its own 100ms", c.millionths, own)
			}
			if at := p.Elsewhere(p.Now()).Sub(clock.Epoch); at != v.Now() {
				t.Errorf("%d: elsewhere it is %v, want %v", c.millionths, at, v.Now())
			}
		})
		drive(v)
		v.Stop()
		if want := []time.Duration{c.sleep, c.work, c.timer, c.end}; !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", c.millionths, got, want)
		}
	}
}

// A process that sleeps until an instant of its own clock does not wake before it, and a
// sleep without end still has none.
func TestADriftingClockNeverWakesEarly(t *testing.T) {
	for _, millionths := range []int{-500_000, -333_333, -1, 1, 7, 333_333, 500_000} {
		v := clock.NewVirtual()
		p := clock.NewDrifting(v.Process("A"), millionths)
		p.Go(0, func() {
			for range 100 {
				due := p.Now().Add(1234567 * time.Nanosecond)
				_ = p.Sleep(context.Background(), due.Sub(p.Now()))
				if p.Now().Before(due) {
					t.Errorf("%d: woke at %v, due at %v", millionths, p.Now(), due)
				}
				if v.Now()%time.Microsecond != 0 {
					t.Errorf("%d: woke at %v, which no schedule can say", millionths, v.Now())
				}
			}
			_ = p.Sleep(context.Background(), 1<<61)
			t.Errorf("%d: what has no end ended", millionths)
		})
		for v.Now() < time.Hour {
			for _, r := range v.Ready() {
				v.Step(r)
			}
			next, ok := v.Next()
			if !ok || next > time.Hour {
				break
			}
			v.Advance(next)
		}
		v.Stop()
	}
}

// Each way to wait tells how late it was. Nothing else does: a pause, a signal, a gate,
// a call that takes long.
func TestWallTellsHowLateItWas(t *testing.T) {
	const late = 80 * ms
	for name, c := range map[string]struct {
		delay, want time.Duration
		wait        func(ctx context.Context, p *clock.Live)
	}{
		"sleep": {late, late, func(ctx context.Context, p *clock.Live) { _ = p.Sleep(ctx, 10*ms) }},
		"work":  {late, late, func(ctx context.Context, p *clock.Live) { _ = p.Work(ctx, 10*ms) }},
		"await": {late, late, func(ctx context.Context, p *clock.Live) { _, _ = p.Await(ctx, 10*ms, p.NewSignal()) }},
		"timer": {late, late, func(ctx context.Context, p *clock.Live) {
			_ = p.AfterFunc(10*ms, "test", func() {}).Wait(ctx)
		}},
		"at once": {late, late, func(ctx context.Context, p *clock.Live) {
			_ = p.AfterFunc(-10*ms, "test", func() {}).Wait(ctx)
		}},
		"end of a pause": {late, late, func(ctx context.Context, p *clock.Live) {
			p.Pause(10 * ms)
			_ = p.Gate(ctx, nil)
		}},
		"signal": {late, 0, func(ctx context.Context, p *clock.Live) {
			s := p.NewSignal()
			time.AfterFunc(5*ms, s.Fire)
			_, _ = p.Await(ctx, 10*ms, s)
		}},
		"context": {late, 0, func(ctx context.Context, p *clock.Live) {
			ctx, cancel := context.WithTimeout(ctx, 5*ms)
			defer cancel()
			_ = p.Sleep(ctx, time.Hour)
		}},
		"in time": {0, 0, func(ctx context.Context, p *clock.Live) {
			p.Pause(300 * ms)
			_ = p.Sleep(ctx, 10*ms)
			_ = p.Work(ctx, 10*ms)
			_, _ = p.Await(ctx, 10*ms, p.NewSignal())
			_ = p.AfterFunc(10*ms, "test", func() { time.Sleep(time.Second) }).Wait(ctx)
			time.AfterFunc(time.Second, func() { p.Resume() })
			p.Suspend()
			_ = p.Sleep(ctx, 10*ms)
			time.AfterFunc(time.Second, func() { p.Admit() })
			p.SetGate(true)
			p.AwaitGate()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := clock.NewWall(nil)
				w.Delay(c.delay)
				p := w.Process()
				p.Go(0, func() { c.wait(t.Context(), p) })
				w.Wait()
				if got := w.Lateness(); got != c.want {
					t.Errorf("late by %v, want %v", got, c.want)
				}
			})
		})
	}
}
