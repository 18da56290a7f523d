package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
)

var additions = flag.Int("additions", 100_000, "Counter: how often each of the two goroutines adds one")

// counting is a contestant of Counter.
type counting struct {
	name  string
	nodes int
	open  func(nodes []wire, key string) (*locker, error)
}

func countings() []counting {
	return []counting{
		{"redsync", 1, redsyncOn},
		{"our redsync", 1, onQuorum(protocol.Redsync)},
		{"our redlock", 1, onQuorum(lock.Redlock)},
		{"redsync 3 nodes", 3, redsyncOn},
		{"our redsync 3 nodes", 3, onQuorum(protocol.Redsync)},
		{"our redlock 3 nodes", 3, onQuorum(lock.Redlock)},
		{"sequenced", 1, onOne(lock.Sequenced)},
		{"fair", 1, onOne(lock.ReentrantFair)},
	}
}

func onQuorum(p lock.Protocol) func([]wire, string) (*locker, error) {
	return func(nodes []wire, key string) (*locker, error) { return quorumOn(p, nodes, key) }
}

func onOne(p lock.Protocol) func([]wire, string) (*locker, error) {
	return func(nodes []wire, key string) (*locker, error) { return ours(p)(nodes[0], key) }
}

// BenchmarkCounter is the test with which an article introduces redsync: two
// goroutines add to one counter, and the counter is printed. There each
// goroutine locks once and then adds 1,000,000 times; that is "whole". Beside
// it, in "each", every addition has a lock of its own: ten times fewer of them,
// each with its waiting and its release. The counter must be what both have
// added.
//
// The article's own addition, counter += 1, counts right on some machines even
// without a lock: one goroutine is through before the other has begun. So an
// addition here yields the processor between its read and its write, and
// the row without a lock shows that the counter can tell.
func BenchmarkCounter(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), *limit)
	defer cancel()
	n := *additions
	var servers []wire
	for range 3 {
		servers = append(servers, wire{addr: start(b).addr})
	}
	rows := []string{"\tlocked\tcounter\tof\tseconds\tlocks/s"}
	count := func(name, locked string, open func(key string) (*locker, error), times, each int) {
		if !chosen(b, name) {
			return
		}
		key := fmt.Sprintf("{bench}:counter:%s:%s", name, locked)
		began := time.Now()
		counter, err := within(ctx, *limit, func(ctx context.Context) (int, error) { return addUp(ctx, open, key, times, each) })
		took := time.Since(began).Seconds()
		want := 2 * times * each
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%d\t%.1f\t%.0f", name, locked, counter, want, took, float64(2*times)/took))
		switch {
		case err != nil:
			rows = append(rows, notes(name, []error{err})...)
		case name == noLock && counter == want:
			b.Errorf("the counter is %d without a lock: it tells nothing", counter)
		case name != noLock && counter != want:
			b.Errorf("%s: the counter is %d, and must be %d: the lock let two in", name, counter, want)
		}
		report(b, name+" "+locked, measured{"counter": float64(counter), "locks/s": float64(2*times) / took})
	}
	count(noLock, "whole", func(string) (*locker, error) { return unlocked(), nil }, 1, 10*n)
	for _, c := range countings() {
		open := func(key string) (*locker, error) { return c.open(servers[:c.nodes], key) }
		count(c.name, "whole", open, 1, 10*n)
	}
	for _, c := range countings() {
		open := func(key string) (*locker, error) { return c.open(servers[:c.nodes], key) }
		count(c.name, "each", open, n, 1)
	}
	table("Counter, two goroutines", rows)
}

const noLock = "no lock"

// unlocked is a locker that excludes nobody.
func unlocked() *locker {
	return &locker{
		lock:  func(context.Context) (unlock, error) { return func(context.Context) error { return nil }, nil },
		close: func() {},
	}
}

// addUp has two goroutines lock so many times and add one to a counter so many
// times under each lock, and returns the counter.
func addUp(ctx context.Context, open func(key string) (*locker, error), key string, times, each int) (int, error) {
	var lockers [2]*locker
	for i := range lockers {
		l, err := open(key)
		if err != nil {
			return 0, err
		}
		defer l.end()
		lockers[i] = l
	}
	counter := 0 // not atomic: the lock is what is measured
	var adding sync.WaitGroup
	var failed [2]error
	for i, l := range lockers {
		adding.Go(func() {
			for n := range times {
				release, err := l.lock(ctx)
				if err != nil {
					failed[i] = fmt.Errorf("lock %d of %d: %w", n+1, times, err)
					return
				}
				for range each {
					was := counter
					runtime.Gosched()
					counter = was + 1
				}
				if err := release(ctx); err != nil {
					failed[i] = fmt.Errorf("unlock %d of %d: %w", n+1, times, err)
					return
				}
			}
		})
	}
	adding.Wait()
	return counter, errors.Join(failed[:]...)
}
