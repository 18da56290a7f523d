package lock_test

import (
	"context"
	"testing"
	"time"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// A pair of lock and unlock is two scripts. What the library adds to two bare
// EVALSHAs of the same scripts is the ratio of the two figures.
func BenchmarkPair(b *testing.B) {
	c := storetest.Redis(b)
	scripts := lock.Reentrant.Scripts
	for _, s := range scripts {
		if err := c.ScriptLoad(b.Context(), s.Source).Err(); err != nil {
			b.Fatal(err)
		}
	}
	owner := lock.NewOwner()
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := c.EvalSha(b.Context(), scripts[0].SHA, []string{key}, string(owner), 1, 60_000).Err(); err != nil {
				b.Fatal(err)
			}
			if err := c.EvalSha(b.Context(), scripts[1].SHA, []string{key}, string(owner), 1).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("locker", func(b *testing.B) {
		l := locker(b, c, lock.Options{Lease: time.Minute})
		for b.Loop() {
			h, err := l.Lock(b.Context(), key, owner)
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Unlock(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What ten waiters send in a minute while the lock stays held, beside its renewals, and how
// long the lock is free once it is unlocked.
func BenchmarkIdleWaiters(b *testing.B) {
	for _, p := range []lock.Protocol{lock.Sequenced, lock.ReentrantNotify, lock.ReentrantFair} {
		b.Run(p.Name, func(b *testing.B) {
			for b.Loop() {
				sent, took := idle(b, storetest.Redis(b), p, func(h *lock.Hold, _ func()) { _ = h.Unlock(context.Background()) })
				b.ReportMetric(float64(sent), "commands")
				b.ReportMetric(float64(took.Microseconds()), "µs-free")
			}
		})
	}
}
