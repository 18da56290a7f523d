package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/clock"
	"relock/engine/clock/clocktest"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/store/storetest"
)

// told are the protocols whose waiters are told that it is their turn.
func told(t *testing.T, test func(t *testing.T, c redis.UniversalClient, p lock.Protocol)) {
	t.Helper()
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, c redis.UniversalClient) { test(t, c, p) })
		})
	}
}

func listening(t *testing.T, c redis.UniversalClient, o lock.Options) *lock.Locker {
	t.Helper()
	o.Messenger = lock.PubSub(c)
	l := locker(t, c, o)
	t.Cleanup(l.Close)
	return l
}

// keysOf are the lock's key and those of what waits for it.
func keysOf(p lock.Protocol) []string {
	return slices.DeleteFunc(p.Keys(key), func(k string) bool {
		return strings.HasSuffix(k, ":over") || strings.HasSuffix(k, ":token")
	})
}

// nothingLeft wants the lock and all that waits for it to be gone.
func nothingLeft(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
	t.Helper()
	n, err := c.Exists(context.Background(), keysOf(p)...).Result()
	if err != nil || n != 0 {
		t.Errorf("%d of %v are left, %v", n, keysOf(p), err)
	}
}

func TestToldWaitersKeepACounterExact(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		const workers, rounds = 6, 40
		var wg sync.WaitGroup
		counter := 0
		for range workers {
			l := listening(t, c, lock.Options{Protocol: p, Lease: 5 * time.Second, Retries: 1000, Interval: 20 * time.Millisecond})
			owner := lock.NewOwner()
			wg.Go(func() {
				for range rounds {
					if err := nested(l, owner, 2, func(int) { counter++ }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if counter != workers*rounds*2 {
			t.Errorf("the counter is at %d, want %d", counter, workers*rounds*2)
		}
		nothingLeft(t, c, p)
	})
}

// inLine waits until n waiters are registered.
func inLine(t testing.TB, c redis.UniversalClient, p lock.Protocol, n int64) {
	t.Helper()
	keys := p.Keys(key)
	for c.ZCard(t.Context(), keys[len(keys)-1]).Val() != n {
		if t.Context().Err() != nil {
			t.Fatal("nobody waits")
		}
		time.Sleep(time.Millisecond) // polling: Redis is another process
	}
}

func TestHandOverIsQuickerThanAnyPoll(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		o := lock.Options{Protocol: p, Lease: 5 * time.Minute, Retries: 2, Interval: 3 * time.Minute}
		holder, waiter := listening(t, c, o), listening(t, c, o)
		h := acquire(t, holder, lock.NewOwner())
		got := make(chan error, 1)
		go func() {
			h, err := waiter.Lock(context.Background(), key, lock.NewOwner(), lock.WithLabel("pod-1"))
			if err == nil {
				err = h.Unlock(context.Background())
			}
			got <- err
		}()
		inLine(t, c, p, 1)
		unlock(t, h)
		select {
		case err := <-got:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the waiter was not told")
		}
		nothingLeft(t, c, p)
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		o := lock.Options{Protocol: lock.ReentrantFair, Lease: 20 * time.Second, Retries: 100, Interval: time.Second}
		h := acquire(t, listening(t, c, o), lock.NewOwner())
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for n := range 5 {
			l := listening(t, c, o)
			wg.Go(func() {
				h, err := l.Lock(context.Background(), key, lock.NewOwner())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				if err := h.Unlock(context.Background()); err != nil {
					t.Error(err)
				}
			})
			inLine(t, c, lock.ReentrantFair, int64(n+1))
		}
		// A newcomer that only tries is not let in before them, and does not queue.
		if _, err := listening(t, c, o).TryLock(t.Context(), key, lock.NewOwner()); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("a newcomer: %v", err)
		}
		inLine(t, c, lock.ReentrantFair, 5)
		unlock(t, h)
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("served in the order %v", order)
		}
		nothingLeft(t, c, lock.ReentrantFair)
	})
}

func TestWaiterThatGivesUpLeavesTheLine(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		o := lock.Options{Protocol: p, Lease: 20 * time.Second, Retries: 100, Interval: time.Second}
		h := acquire(t, listening(t, c, o), lock.NewOwner())
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		l := listening(t, c, o)
		go func() {
			_, err := l.Lock(ctx, key, lock.NewOwner())
			got <- err
		}()
		inLine(t, c, p, 1)
		cancel()
		wantIs(t, <-got, lock.ErrNotAcquired, context.Canceled)
		inLine(t, c, p, 0)
		o.Retries, o.Interval = 2, 10*time.Millisecond
		_, err := listening(t, c, o).Lock(t.Context(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrHeld)
		inLine(t, c, p, 0)
		unlock(t, h)
		nothingLeft(t, c, p)
	})
}

// A waiter that died is passed over: nobody listens for it any more.
func TestDeadWaiterIsPassedOver(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		o := lock.Options{Protocol: p, Lease: 5 * time.Minute, Retries: 100, Interval: 3 * time.Minute}
		h := acquire(t, listening(t, c, o), lock.NewOwner())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		its := o
		its.Inbox, its.Messenger = "dead", lock.PubSub(c)
		dead := locker(t, &network{UniversalClient: c, loseRequest: func(call int64) bool { return call > 1 }}, its)
		loadAll(t, c, p)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = dead.Lock(ctx, key, lock.NewOwner())
		}()
		inLine(t, c, p, 1)
		got := make(chan error, 1)
		l := listening(t, c, o)
		go func() {
			h, err := l.Lock(context.Background(), key, lock.NewOwner())
			if err == nil {
				err = h.Unlock(context.Background())
			}
			got <- err
		}()
		inLine(t, c, p, 2)
		dead.Close() // its process is gone, and takes no leave
		for c.PubSubNumSub(t.Context(), its.Inbox).Val()[its.Inbox] != 0 {
			if t.Context().Err() != nil {
				t.Fatal("Redis does not notice")
			}
			time.Sleep(time.Millisecond) // polling: Redis is another process
		}
		unlock(t, h)
		select {
		case err := <-got:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the second in line waits for the first, which is dead")
		}
		cancel()
		<-gone
	})
}

func TestLostRequestsAndRepliesInLine(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		loadAll(t, c, p)
		for lost := int64(1); lost <= 4; lost++ {
			for _, reply := range []bool{false, true} {
				n := &network{UniversalClient: c}
				is := func(call int64) bool { return call == lost }
				if reply {
					n.loseReply = is
				} else {
					n.loseRequest = is
				}
				l := locker(t, n, lock.Options{
					Protocol: p, Messenger: lock.PubSub(c), Lease: 5 * time.Second, Retries: 3, Interval: time.Millisecond,
				})
				owner := lock.NewOwner()
				err := nested(l, owner, 2, func(level int) {
					if got := c.HGet(t.Context(), key, string(owner)).Val(); got != fmt.Sprint(level) {
						t.Errorf("call %d lost, reply %v: count %s at level %d", lost, reply, got, level)
					}
				})
				l.Close()
				if err != nil {
					t.Errorf("call %d lost, reply %v: %v", lost, reply, err)
				}
				nothingLeft(t, c, p)
			}
		}
	})
}

func TestMessengerIsNeeded(t *testing.T) {
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = cluster.Close() })
	for p, want := range map[lock.Protocol]error{lock.ReentrantFair: lock.ErrOptions, lock.ReentrantNotify: nil} {
		if _, err := lock.New(cluster, lock.Options{Protocol: p, Lease: time.Second, Messenger: lock.PubSub(cluster)}); !errors.Is(err, want) {
			t.Errorf("%s on a cluster: %v, want %v", p.Name, err, want)
		}
	}
	if _, err := lock.New(nil, lock.Options{Protocol: lock.ReentrantFair, Lease: time.Second}); !errors.Is(err, lock.ErrOptions) {
		t.Errorf("a fair lock without messages: %v", err)
	}
}

// A waiter with a short lease must not make the places of the others shorter.
func TestWaiterDoesNotShortenTheLineOfOthers(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		long := lock.Options{Protocol: p, Lease: time.Minute, Retries: 100, Interval: time.Second}
		short := lock.Options{Protocol: p, Lease: time.Second, Retries: 100, Interval: 50 * time.Millisecond}
		h := acquire(t, listening(t, c, long), lock.NewOwner())
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		first := map[string]int64{} // until when it lives for the first in line, by Redis' clock in milliseconds
		for i, o := range []lock.Options{long, short} {
			l := listening(t, c, o)
			waiting.Go(func() { _, _ = l.Lock(ctx, key, lock.NewOwner()) })
			inLine(t, c, p, int64(i+1))
			for _, k := range keysOf(p)[1:] {
				lives, err := c.Eval(t.Context(), `local t = redis.call('TIME')
return t[1] * 1000 + math.floor(t[2] / 1000) + redis.call('PTTL', KEYS[1])`, []string{k}).Int64()
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					first[k] = lives
				} else if shorter := first[k] - lives; shorter > 10 {
					t.Errorf("%s lives %d ms shorter than for the first in line alone", k, shorter)
				}
			}
		}
		cancel()
		waiting.Wait()
		inLine(t, c, p, 0)
		unlock(t, h)
	})
}

// deaf hears nothing of what is published to it.
type deaf struct{ lock.Messenger }

func (d deaf) Listen(ctx context.Context, channel string, _ func(string)) (func(), error) {
	return d.Messenger.Listen(ctx, channel, func(string) {})
}

// A waiter that was told that it is its turn, and goes, passes the turn on.
func TestWaiterThatLeavesPassesItsTurnOn(t *testing.T) {
	told(t, func(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
		o := lock.Options{Protocol: p, Lease: 5 * time.Minute, Retries: 2, Interval: 3 * time.Minute}
		h := acquire(t, listening(t, c, o), lock.NewOwner())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first, second := make(chan error, 1), make(chan error, 1)
		o.Messenger = deaf{lock.PubSub(c)}
		leaves := locker(t, c, o)
		t.Cleanup(leaves.Close)
		go func() {
			_, err := leaves.Lock(ctx, key, lock.NewOwner())
			first <- err
		}()
		inLine(t, c, p, 1)
		stays := listening(t, c, o)
		go func() {
			h, err := stays.Lock(context.Background(), key, lock.NewOwner())
			if err == nil {
				err = h.Unlock(context.Background())
			}
			second <- err
		}()
		inLine(t, c, p, 2)
		unlock(t, h) // the first is told
		inLine(t, c, p, 1)
		cancel()
		wantIs(t, <-first, context.Canceled)
		select {
		case err := <-second:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the next in line was not told")
		}
		nothingLeft(t, c, p)
	})
}

// The first command of each call is the one that is announced.
func TestFirstCommandOfToldProtocols(t *testing.T) {
	for p, want := range map[lock.Protocol]map[string]string{
		lock.ReentrantNotify: {protocol.CallLock: "EXISTS", protocol.CallUnlock: "HMGET", protocol.CallLeave: "ZREM", protocol.CallRenew: "HEXISTS"},
		lock.ReentrantFair:   {protocol.CallLock: "TIME", protocol.CallUnlock: "TIME", protocol.CallLeave: "TIME", protocol.CallRenew: "HEXISTS"},
	} {
		for call, name := range want {
			if got := p.FirstCommand(call, 1); got != name {
				t.Errorf("%s of %s begins with %s, want %s", call, p.Name, got, name)
			}
		}
	}
	// Entering again, nobody looks whether the lock is free.
	for p, want := range map[lock.Protocol]string{lock.Reentrant: "EXISTS", lock.Sequenced: "HMGET", lock.ReentrantNotify: "HMGET", lock.ReentrantFair: "TIME", lock.Fenced: "HMGET"} {
		if got := p.FirstCommand(protocol.CallLock, 2); got != want {
			t.Errorf("entering %s again begins with %s, want %s", p.Name, got, want)
		}
	}
}

// loadAll has Redis know the scripts of a protocol.
func loadAll(t *testing.T, c redis.UniversalClient, p lock.Protocol) {
	t.Helper()
	for _, s := range p.Scripts {
		if err := c.ScriptLoad(t.Context(), s.Source).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A waiter that gets the lock and does not take it holds up the next in line for a third
// of the lease, and not for all of it.
func TestGrantThatIsNotTakenGoesToTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, lock.ReentrantFair)
		o := lock.Options{Protocol: lock.ReentrantFair, Lease: lease, Retries: 1, Interval: time.Minute, Messenger: lock.PubSub(c)}
		holder, next := locker(t, c, o), locker(t, c, o)
		defer holder.Close()
		defer next.Close()
		h := acquire(t, holder, lock.NewOwner())
		o.Messenger = deaf{o.Messenger}
		hangs := locker(t, &network{UniversalClient: c, hangs: func(call int64) bool { return call > 1 }}, o)
		defer hangs.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = hangs.Lock(ctx, key, lock.NewOwner()) }()
		inLine(t, c, lock.ReentrantFair, 1)
		got := make(chan error)
		go func() {
			h, err := next.Lock(t.Context(), key, lock.NewOwner())
			if err == nil {
				err = h.Unlock(t.Context())
			}
			got <- err
		}()
		inLine(t, c, lock.ReentrantFair, 2)
		began := time.Now()
		unlock(t, h)
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > lease/3+2*time.Millisecond {
			t.Errorf("the next was let in after %v, want a third of %v", took, lease)
		}
		cancel()
		time.Sleep(time.Minute) // what hangs gives up
	})
}

// The waiters of a process that stands still hold up who waits behind them for one grant,
// all of them together, wherever in the line they are.
func TestDeadWaitersCostOneGrantTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, lock.ReentrantFair)
		const dead = 10
		o := lock.Options{Protocol: lock.ReentrantFair, Lease: 30 * time.Second, Messenger: lock.PubSub(c)}
		live := locker(t, c, o)
		defer live.Close()
		h := acquire(t, live, lock.NewOwner())
		o.Messenger = deaf{o.Messenger}
		var asked atomic.Int64
		stopped := locker(t, &network{UniversalClient: c, hangs: func(int64) bool { return asked.Add(1) > dead }}, o)
		defer stopped.Close()
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan *lock.Hold)
		wait := func() {
			h, err := live.Lock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Error(err)
			}
			got <- h
		}
		for n := range dead {
			go func() { _, _ = stopped.Lock(ctx, key, lock.NewOwner()) }()
			inLine(t, c, lock.ReentrantFair, int64(n+1))
		}
		go wait()
		inLine(t, c, lock.ReentrantFair, dead+1)
		began := time.Now()
		unlock(t, h)
		h = <-got
		if took := time.Since(began); took > o.Lease/3+5*time.Millisecond {
			t.Errorf("behind %d dead waiters it took %v, want a third of %v", dead, took, o.Lease)
		}
		if n := c.LLen(t.Context(), lock.ReentrantFair.Waiters(key)).Val(); n != 0 {
			t.Errorf("%d places are left", n)
		}
		unlock(t, h)
		cancel()
		time.Sleep(5 * time.Minute) // what hangs gives up
	})
}

// A hold that was handed over has a whole lease soon: a Redis that stops then ends it no
// sooner than another.
func TestAGrantIsConfirmedSoon(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, lock.ReentrantFair)
		o := lock.Options{Protocol: lock.ReentrantFair, Lease: 30 * time.Second, Messenger: lock.PubSub(c)}
		l := locker(t, c, o)
		defer l.Close()
		h := acquire(t, l, lock.NewOwner())
		got := make(chan *lock.Hold)
		go func() {
			h, err := l.Lock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		inLine(t, c, lock.ReentrantFair, 1)
		time.Sleep(time.Millisecond) // a grant of the millisecond of the question may be an earlier one: the waiter would ask
		unlock(t, h)
		h = <-got
		if left := time.Until(h.Until()); left > o.Lease/3 {
			t.Errorf("it was not handed over: %v are left", left)
		}
		time.Sleep(11 * time.Millisecond)
		synctest.Wait()
		if left := time.Until(h.Until()); left < o.Lease*9/10 {
			t.Errorf("%v are left of a lease of %v", left, o.Lease)
		}
		unlock(t, h)
	})
}

// Waiters whose subscription was lost ask when it is there again.
func TestTimedALostSubscriptionCostsNoTurn(t *testing.T) {
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			const limit = 100 * time.Millisecond
			clocktest.Punctual(t, 10*limit, func(t testing.TB) {
				c := storetest.Redis(t)
				var dials sync.RWMutex
				messages := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
					dials.RLock()
					defer dials.RUnlock()
					return (&net.Dialer{}).DialContext(ctx, "tcp", c.Options().Addr)
				}})
				t.Cleanup(func() { _ = messages.Close() })
				o := lock.Options{Protocol: p, Lease: 5 * time.Minute, Interval: 3 * time.Minute, Messenger: lock.PubSub(messages)}
				l := locker(t, c, o)
				t.Cleanup(l.Close)
				h := acquire(t, l, lock.NewOwner())
				got := make(chan error, 1)
				go func() {
					h, err := l.Lock(context.Background(), key, lock.NewOwner())
					got <- err
					if err == nil {
						_ = h.Unlock(context.Background())
					}
				}()
				inLine(t, c, p, 1)
				dials.Lock()
				if n, err := c.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Int(); n != 1 || err != nil {
					t.Fatal(n, err)
				}
				unlock(t, h)
				began := time.Now()
				dials.Unlock()
				if err := <-got; err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > limit {
					t.Errorf("the waiter was let in after %v", took)
				}
			})
		})
	}
}

// A waiter that is woken in vain again and again still waits as long as it was
// told to.
func TestOnlyPollsAreRetries(t *testing.T) {
	type own struct{ clock.System } // with a user's own clock it asks as often as said
	for _, at := range []struct {
		p     lock.Protocol
		clock clock.Clock
	}{
		{lock.Reentrant, nil},
		{lock.ReentrantNotify, nil},
		{lock.ReentrantFair, nil},
		{lock.ReentrantNotify, own{}},
		{lock.ReentrantFair, own{}},
	} {
		p := at.p
		t.Run(fmt.Sprintf("%s, clock %v", p.Name, at.clock != nil), func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				loadAll(t, c, p)
				o := lock.Options{Protocol: p, Lease: time.Minute, Retries: 3, Interval: 100 * time.Millisecond, Inbox: "inbox", Messenger: lock.PubSub(c), Clock: at.clock}
				holder := locker(t, c, lock.Options{Protocol: p, Lease: time.Minute, Messenger: o.Messenger})
				h := acquire(t, holder, lock.NewOwner())
				l := locker(t, c, o)
				owner := lock.NewOwner()
				began := time.Now()
				stop := make(chan struct{})
				var waking sync.WaitGroup
				waking.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(7 * time.Millisecond):
							c.Publish(t.Context(), "inbox", fmt.Sprintf("wake %s 0 0 %s", owner, key))
						}
					}
				})
				_, err := l.Lock(t.Context(), key, owner)
				close(stop)
				waking.Wait()
				wantIs(t, err, lock.ErrHeld)
				if took := time.Since(began); took != 300*time.Millisecond {
					t.Errorf("gave up after %v, want 3 × 100ms", took)
				}
				unlock(t, h)
				l.Close()
				holder.Close()
			})
		})
	}
}

// A fair waiter keeps its place by time: errors on the way, however many, do
// not end it before.
func TestErrorsDoNotEndAFairWaitEarly(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		loadAll(t, c, lock.ReentrantFair)
		o := lock.Options{Protocol: lock.ReentrantFair, Lease: 80 * time.Millisecond, Retries: 2, Interval: time.Second, Messenger: lock.PubSub(c)}
		holder := locker(t, c, o)
		defer holder.Close()
		h := acquire(t, holder, lock.NewOwner())
		n := &network{UniversalClient: c, loseReply: func(call int64) bool { return call == 9 }} // three safety timers a lease
		l := locker(t, n, o)
		defer l.Close()
		began := time.Now()
		_, err := l.Lock(t.Context(), key, lock.NewOwner())
		wantIs(t, err, lock.ErrHeld)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("gave up after %v, want 2 × 1s", took)
		}
		unlock(t, h)
	})
}

// slow is a Messenger that minds no context and takes until opened is closed.
type slow struct {
	lock.Messenger

	opened chan struct{}
}

func (s slow) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	<-s.opened
	return s.Messenger.Listen(context.WithoutCancel(ctx), channel, receive)
}

// Callers wait for the inbox to open as long as their own contexts last.
func TestCallersDoNotWaitForTheInboxBeyondTheirContexts(t *testing.T) {
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				opened := make(chan struct{})
				l := locker(t, c, lock.Options{Protocol: p, Messenger: slow{lock.PubSub(c), opened}})
				var waiting sync.WaitGroup
				began := time.Now()
				for _, d := range []time.Duration{30 * time.Millisecond, 10 * time.Millisecond} {
					waiting.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), d)
						defer cancel()
						_, err := l.Lock(ctx, key, lock.NewOwner())
						wantIs(t, err, lock.ErrNotAcquired, context.DeadlineExceeded)
						if took := time.Since(began); took != d {
							t.Errorf("returned after %v, want %v", took, d)
						}
					})
				}
				waiting.Wait()
				time.Sleep(time.Second)
				close(opened)
				unlock(t, acquire(t, l, lock.NewOwner()))
				nothingLeft(t, c, p)
				l.Close()
			})
		})
	}
}

// The scripts' messages have spaces between their parts.
func TestOwnersAndInboxesThatBreakMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, c redis.UniversalClient) {
		n := &network{UniversalClient: c}
		l := locker(t, n, lock.Options{})
		for _, text := range []string{"", "a b", "a\tb", "a\n", "\x00", "a\u00a0b"} {
			_, err := l.TryLock(t.Context(), key, lock.Owner(text))
			wantIs(t, err, lock.ErrNotAcquired, lock.ErrOwner)
			o := lock.Options{Lease: time.Second, Inbox: text}
			if _, err := lock.New(c, o); text != "" && !errors.Is(err, lock.ErrOptions) {
				t.Errorf("inbox %q: %v", text, err)
			}
		}
		_, err := l.TryLock(t.Context(), key, "#7") // Redis keeps the numbers of calls under such names
		wantIs(t, err, lock.ErrNotAcquired, lock.ErrOwner)
		if got := n.calls.Load(); got != 0 {
			t.Errorf("%d calls were sent", got)
		}
		unlock(t, acquire(t, l, "订单-7"))
	})
}

// A leave that arrives late does not end what the owner has entered since; a
// grant that it has not confirmed, it hands on.
func TestLateLeaveDoesNotEndAHold(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		p := lock.ReentrantFair
		loadAll(t, c, p)
		owner := lock.NewOwner()
		leave := func() {
			t.Helper()
			for _, s := range p.Scripts {
				if s.Name != "fair-leave.lua" {
					continue
				}
				if err := c.EvalSha(t.Context(), s.SHA, p.Keys(key), string(owner), string(owner)+" inbox locker 1", 20_000, "locker", 1).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		h := acquire(t, listening(t, c, lock.Options{Protocol: p, Lease: time.Minute, ID: "locker"}), owner)
		leave()
		wantCount(t, c, owner, 1)
		unlock(t, h)
		c.HSet(t.Context(), key, string(owner), 1, "#locker", 1)
		c.PExpire(t.Context(), key, time.Minute) // its receiver has confirmed it
		leave()
		wantCount(t, c, owner, 1)
		c.PExpire(t.Context(), key, 20*time.Second)
		leave()
		wantCount(t, c, owner, 0)
	})
}

// However many retries there may be, a waiter is told, and waits.
func TestWaitingForEver(t *testing.T) {
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				o := lock.Options{Protocol: p, Lease: time.Hour, Retries: math.MaxInt, Interval: time.Hour, Messenger: lock.PubSub(c)}
				holder, waiter := locker(t, c, o), locker(t, c, o)
				defer holder.Close()
				defer waiter.Close()
				h := acquire(t, holder, lock.NewOwner())
				got := make(chan error)
				go func() {
					h, err := waiter.Lock(t.Context(), key, lock.NewOwner())
					if err == nil {
						err = h.Unlock(t.Context())
					}
					got <- err
				}()
				inLine(t, c, p, 1)
				began := time.Now()
				unlock(t, h)
				if err := <-got; err != nil || time.Since(began) > time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// sends counts what a client sends.
type sends struct{ commands, trips atomic.Int64 }

func (n *sends) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *sends) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		n.commands.Add(1)
		n.trips.Add(1)
		return next(ctx, cmd)
	}
}

func (n *sends) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n.commands.Add(int64(len(cmds)))
		n.trips.Add(1)
		return next(ctx, cmds)
	}
}

// idle has ten waiters wait for a minute while the lock, of the default lease, is held and
// renewed. It returns what all have sent in that minute, and how long it takes from the end
// of the hold, which free brings about, until the first waiter is in.
func idle(t testing.TB, c redis.UniversalClient, p lock.Protocol, free func(h *lock.Hold, dies func())) (sent int64, took time.Duration) {
	for _, s := range p.Scripts {
		if err := c.ScriptLoad(t.Context(), s.Source).Err(); err != nil {
			t.Fatal(err)
		}
	}
	n := &sends{}
	c.AddHook(n)
	o := lock.Options{Protocol: p, Lease: lock.DefaultLease, Messenger: lock.PubSub(c)}
	var dead atomic.Bool
	holder := locker(t, &network{UniversalClient: c, loseRequest: func(int64) bool { return dead.Load() }}, o)
	defer holder.Close()
	h := acquire(t, holder, lock.NewOwner())
	l := locker(t, c, o)
	defer l.Close()
	const waiters = 10
	in := make(chan time.Time, waiters)
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			h, err := l.Lock(t.Context(), key, lock.NewOwner())
			in <- time.Now()
			if err == nil {
				err = h.Unlock(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	before := n.commands.Load()
	time.Sleep(time.Minute)
	sent = n.commands.Load() - before
	time.Sleep(time.Second) // between two renewals
	began := time.Now()
	free(h, func() { dead.Store(true) })
	took = (<-in).Sub(began)
	all.Wait()
	return sent, took
}

// A waiter that gets messages hardly asks: idle waiters send less than a tenth of the
// commands of those that poll. However the lock becomes free, they find it.
func TestToldWaitersHardlyAsk(t *testing.T) {
	unlocks := func(h *lock.Hold, _ func()) { _ = h.Unlock(context.Background()) }
	var polls int64
	inBubble(t, func(t *testing.T, c redis.UniversalClient) { polls, _ = idle(t, c, lock.Sequenced, unlocks) })
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		t.Run(p.Name+", unlocked", func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				told, took := idle(t, c, p, unlocks)
				t.Logf("%d commands, and %d of those that poll", told, polls)
				if told*10 > polls {
					t.Errorf("%d commands, and %d of those that poll", told, polls)
				}
				if took > time.Millisecond {
					t.Errorf("the lock was free for %v", took)
				}
			})
		})
		t.Run(p.Name+", died", func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				var left time.Duration
				_, took := idle(t, c, p, func(_ *lock.Hold, dies func()) {
					dies()
					left = c.PTTL(t.Context(), key).Val()
				})
				if took < left || took > left+time.Millisecond+lock.DefaultJitter {
					t.Errorf("with %v left of the lease, the next is in after %v", left, took)
				}
			})
		})
		t.Run(p.Name+", message lost", func(t *testing.T) {
			inBubble(t, func(t *testing.T, c redis.UniversalClient) {
				_, took := idle(t, c, p, func(_ *lock.Hold, dies func()) {
					dies()
					c.Del(t.Context(), key)
				})
				if most := lock.DefaultLease / 4; p == lock.ReentrantFair && took > most || p == lock.ReentrantNotify && took > lock.DefaultLease/10 {
					t.Errorf("the lock was free for %v", took)
				}
			})
		})
	}
}
