package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// deafClock is a clock whose timers never go off: a machine that is too busy.
type deafClock struct {
	clock.System

	mu  sync.Mutex
	now time.Time
}

func (c *deafClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *deafClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *deafClock) AfterFunc(d time.Duration, doing string, f func()) clock.Timer {
	if d > 0 {
		d = time.Hour
	}
	return c.System.AfterFunc(d, doing, f)
}

func (c *deafClock) WithDeadline(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func TestContextIsRightWhenItIsAsked(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		ask := map[string]func(*lock.Hold) error{
			"Err":   func(h *lock.Hold) error { return h.Context().Err() },
			"Cause": func(h *lock.Hold) error { return context.Cause(h.Context()) },
			"Until": func(h *lock.Hold) error {
				if h.Until().IsZero() {
					return context.Cause(h.Context())
				}
				return nil
			},
		}
		for name, asked := range ask {
			late := &deafClock{now: time.Now()}
			l := locker(t, c, lock.Options{Lease: lease, Clock: late, Renew: lock.NoWatchdog})
			outer := acquire(t, l, lock.NewOwner())
			inner := acquire(t, l, outer.Owner())
			late.pass(reliable - 1)
			for _, h := range []*lock.Hold{outer, inner} {
				if err := asked(h); err != nil {
					t.Errorf("%s before the end: %v", name, err)
				}
				if got, want := h.Until(), late.Now().Add(1); !got.Equal(want) {
					t.Errorf("Until is %v, want %v", got, want)
				}
			}
			late.pass(1)
			for _, h := range []*lock.Hold{outer, inner} {
				if err := asked(h); err == nil {
					t.Errorf("%s at the end: nil", name)
				}
				select {
				case <-h.Context().Done():
				default:
					t.Errorf("%s at the end did not close Done", name)
				}
				wantIs(t, context.Cause(h.Context()), lock.ErrLost)
			}
			_ = inner.Unlock(t.Context())
			_ = outer.Unlock(t.Context())
		}
	})
}

// slept is the time after d by the calendar, and the same by the monotonic clock, which
// package time sets only together.
func slept(t *testing.T, now time.Time, d time.Duration) time.Time {
	t.Helper()
	after := now.Add(d)
	monotonic := reflect.ValueOf(&after).Elem().FieldByName("ext")
	*(*int64)(monotonic.Addr().UnsafePointer()) -= int64(d)
	if after.Sub(now) != 0 || after.Round(0).Sub(now.Round(0)) != d {
		t.Fatalf("%v is no time after a sleep of %v from %v", after, d, now)
	}
	return after
}

// A machine that sleeps stops the monotonic clock and not the calendar.
func TestSleepOfTheMachineEndsTheLease(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		monotonic := &deafClock{now: time.Now()}
		l := locker(t, c, lock.Options{Lease: lease, Clock: monotonic, Renew: lock.NoWatchdog})
		h := acquire(t, l, lock.NewOwner())
		if err := h.Context().Err(); err != nil {
			t.Fatal(err)
		}
		monotonic.mu.Lock()
		monotonic.now = slept(t, monotonic.now, 2*lease)
		monotonic.mu.Unlock()
		if err := h.Context().Err(); err == nil {
			t.Error("two leases later, by the calendar, the context lives")
		}
		_ = h.Unlock(t.Context())
	})
}

// Sixteen goroutines spin. Whenever the context says that the hold lives, the
// lease cannot be over.
func TestContextUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds of every processor")
	}
	c := storetest.Redis(t)
	stop := make(chan struct{})
	var spinning sync.WaitGroup
	for range 16 {
		spinning.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	defer spinning.Wait()
	defer close(stop)
	l := locker(t, c, lock.Options{Lease: lease, Renew: lock.NoWatchdog, Limit: 10 * time.Second})
	for held := 0; held < 5; {
		if t.Context().Err() != nil {
			t.Fatal("too slow to hold the lock at all")
		}
		h, err := l.TryLock(t.Context(), key, lock.NewOwner())
		if errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrHeld) {
			continue // the machine was too slow even for that
		}
		if err != nil {
			t.Fatal(err)
		}
		held++
		over := time.Now().Add(lease) // the lease is over before: it began earlier
		for asked := time.Now(); h.Context().Err() == nil; asked = time.Now() {
			if !asked.Before(over) {
				t.Fatalf("alive %v after the lease", asked.Sub(over))
			}
		}
		_ = h.Unlock(t.Context())
	}
}

const stoppedEnv = "LOCK_TEST_STOPPED"

// stopped holds a lock and asks its context in a loop; the test that started
// it stops its process meanwhile.
func stopped(addr string) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	l, err := lock.New(c, lock.Options{Lease: 400 * time.Millisecond, Renew: lock.NoWatchdog})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	h, err := l.TryLock(context.Background(), key, lock.NewOwner())
	if err != nil {
		fmt.Println("error", err)
		return
	}
	acquired := time.Now() // the lease began before
	fmt.Println("held")
	for {
		asked := time.Now()
		if h.Context().Err() != nil {
			fmt.Println("ended")
			return
		}
		if asked.Sub(acquired) >= 400*time.Millisecond {
			fmt.Println("believes", asked.Sub(acquired))
			return
		}
	}
}

func TestProcessThatWasStoppedDoesNotBelieve(t *testing.T) {
	c := storetest.Redis(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), stoppedEnv+"="+c.Options().Addr)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "held" {
		t.Fatalf("the child says %q", lines.Text())
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for c.Exists(t.Context(), key).Val() == 1 { // until the lease is over
		runtime.Gosched()
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if got := strings.Join(said, ", "); got != "ended" {
		t.Errorf("after it went on, the child says %q", got)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
