package bench_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/lock/exhibit"
)

// TestContestants has every contestant lock and unlock a few times, so that we notice a
// change of theirs before we read a benchmark.
func TestContestants(t *testing.T) {
	on := start(t)
	try := func(name string, open func(key string) (*locker, error)) {
		t.Run(name, func(t *testing.T) {
			l, err := open("{bench}:" + name)
			if err != nil {
				t.Fatal(err)
			}
			defer l.end()
			for i := range 3 {
				if l.pair != nil {
					if err := call(t.Context(), l.pair); err != nil {
						t.Errorf("pair %d: %v", i, err)
					}
				}
				if l.lock == nil { // bare
					continue
				}
				if err := call(t.Context(), func(ctx context.Context) error {
					release, err := l.lock(ctx)
					if err != nil {
						return err
					}
					return release(ctx)
				}); err != nil {
					t.Errorf("lock and unlock %d: %v", i, err)
				}
			}
		})
	}
	for _, c := range uncontendeds() {
		try(c.name, func(key string) (*locker, error) { return c.open(wire{addr: on.addr}, key) })
	}
	nodes := []wire{{addr: on.addr}, {addr: start(t).addr}, {addr: start(t).addr}}
	for _, c := range countings() {
		try("counting "+c.name, func(key string) (*locker, error) { return c.open(nodes[:c.nodes], key) })
	}
}

// A bare contestant sends what the lock sent: the same commands, as often.
func TestBareSendsWhatTheLockSends(t *testing.T) {
	on := start(t)
	sent := func(open open, key string) (commands int64) {
		var n atomic.Int64
		l, err := open(wire{on.addr, &n}, key)
		if err != nil {
			t.Fatal(err)
		}
		defer l.end()
		if err := call(t.Context(), l.pair); err != nil { // connects
			t.Fatal(err)
		}
		before := n.Load()
		for range 10 {
			if err := call(t.Context(), l.pair); err != nil {
				t.Fatal(err)
			}
		}
		return n.Load() - before
	}
	for _, p := range []lock.Protocol{lock.Sequenced, lock.Reentrant, lock.Fenced, lock.ReentrantNotify, lock.ReentrantFair, exhibit.Mutex} {
		ours, bare := sent(ours(p), "{ours}:"+p.Name), sent(bare(p), "{bare}:"+p.Name)
		if ours != 20 || bare != ours {
			t.Errorf("%s: ten pairs send %d commands and bare %d, want 20", p.Name, ours, bare)
		}
	}
}

func TestReplayGrowsNumbersAsTheLockDid(t *testing.T) {
	pair := func(n int64, nonce string, lock int) []command {
		return []command{
			{args: []any{"evalsha", "sha-lock", 1, "key", "owner", 1, n, nonce}, answer: []any{int64(1), int64(lock)}},
			{args: []any{"EVALSHA", "sha-unlock", 2, "key", "key2", "owner", n + 3}, answer: []any{int64(1), int64(0)}},
		}
	}
	r, err := replayOf([][]command{pair(10, "c", 7), pair(20, "a", 8), pair(25, "b", 9)})
	if err != nil {
		t.Fatal(err)
	}
	if r.step != 10 {
		t.Errorf("step is %d, want the greatest that was seen, 10", r.step)
	}
	first, second := r.commands[0], r.commands[1]
	if first.sha != "sha-lock" || strings.Join(second.keys, " ") != "key key2" {
		t.Errorf("script %q, keys %q of the second", first.sha, second.keys)
	}
	if len(first.growing) != 1 || first.growing[0] != (growing{2, 25}) || len(second.growing) != 1 || second.growing[0] != (growing{1, 28}) {
		t.Errorf("growing: %v and %v", first.growing, second.growing)
	}
	if first.args[3] != "b" {
		t.Errorf("a text that changes is %v, want the last", first.args[3])
	}
	if _, err := replayOf([][]command{pair(1, "", 1), pair(2, "", 1)[:1], pair(3, "", 1)}); err == nil {
		t.Error("pairs of different length made a replay")
	}
}

// A bare contestant that Redis does not grant the lock is none.
func TestReplayChecksTheAnswers(t *testing.T) {
	on := start(t)
	ctx := t.Context()
	sha, err := on.control.ScriptLoad(ctx, "return {tonumber(ARGV[1]), 0}").Result()
	if err != nil {
		t.Fatal(err)
	}
	one := command{args: []any{"evalsha", sha, 1, "key", 1}, answer: []any{int64(1), int64(5)}}
	refused := command{args: []any{"evalsha", sha, 1, "key", 0}, answer: []any{int64(1), int64(5)}}
	for name, pair := range map[string][]command{"": {one, one}, "was answered with [0 0]": {one, refused}} {
		r, err := replayOf([][]command{pair, pair, pair})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.check(ctx, on.control); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("check: %v, want %q", err, name)
		}
	}
}

func TestCommandsAreCountedOnTheWire(t *testing.T) {
	on := start(t)
	var n atomic.Int64
	c := wire{on.addr, &n}.client()
	defer func() { _ = c.Close() }()
	ctx := t.Context()
	p := c.Pipeline()
	p.Ping(ctx)
	if _, err := p.Exec(ctx); err != nil { // connects
		t.Fatal(err)
	}
	before := n.Load()
	p.Set(ctx, "a", "*1\r\n$4\r\nPING\r\n", 0) // no command, but the text of one
	p.Set(ctx, "b", strings.Repeat("*2\r\n", 100_000), 0)
	p.Get(ctx, "b")
	if _, err := p.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if got := n.Load() - before; got != 3 {
		t.Errorf("three commands count as %d", got)
	}
}

// A contestant that never returns is left behind.
func TestAHangIsAnError(t *testing.T) {
	began := time.Now()
	never := make(chan struct{})
	defer close(never)
	_, err := within(t.Context(), time.Millisecond, func(context.Context) (int, error) {
		<-never
		return 1, nil
	})
	if !errors.Is(err, errHung) || time.Since(began) > 10*grace {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	v, err := within(t.Context(), time.Minute, func(context.Context) (int, error) { return 1, nil })
	if v != 1 || err != nil {
		t.Errorf("one that returns: %v, %v", v, err)
	}
}

func TestFigures(t *testing.T) {
	ten := []int{9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10}
	for q, want := range map[float64]int{0: 0, 0.1: 1, 0.5: 5, 0.9: 9, 1: 10} {
		if got := quantile(ten, q); got != want {
			t.Errorf("quantile %v of 0..10 is %d, want %d", q, got, want)
		}
	}
	if got := jain([]float64{3, 3, 3}); got != 1 {
		t.Errorf("equal shares: %v", got)
	}
	if got := jain([]float64{3, 0, 0, 0}); got != 0.25 {
		t.Errorf("one of four has all: %v", got)
	}
	all := []waiter{{name: "ours"}, {name: "slow", peer: true}, {name: "fast", peer: true}, {name: "failed", peer: true}}
	results := [][]measured{{{"µs": 1}}, {{"µs": 7}}, {{"µs": 5}}, {nil}}
	if best, ok := bestPeer(all, results, 0, figure{unit: "µs"}); best != 5 || !ok {
		t.Errorf("the best peer has %v, want 5", best)
	}
	if best, ok := bestPeer(all, results, 0, figure{unit: "µs", more: true}); best != 7 || !ok {
		t.Errorf("the best peer has %v where more is better, want 7", best)
	}
}
