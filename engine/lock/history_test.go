package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// step is an operation of a history: an acquisition or a release that
// succeeded, as its caller saw it.
type step struct {
	owner   int
	release bool
	level   int // entered or left
}

// holding is the state of the model: who holds the lock, how often.
type holding struct {
	owner, count int
}

// reentrant is what a reentrant lock is, without time and without Redis.
var reentrant = porcupine.Model{
	Init: func() any { return holding{} },
	Step: func(state, input, _ any) (bool, any) {
		h, _ := state.(holding)
		s, _ := input.(step)
		free := h.count == 0
		switch {
		case s.release:
			return h.owner == s.owner && h.count == s.level, holding{h.owner, h.count - 1}
		case free:
			return s.level == 1, holding{s.owner, 1}
		default:
			return h.owner == s.owner && s.level == h.count+1, holding{h.owner, h.count + 1}
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// The history of many owners under load on a real Redis is one that a
// reentrant lock can have.
func TestHistoryUnderLoadIsLinearizable(t *testing.T) {
	const owners, rounds, deepest = 12, 40, 3
	c := storetest.Redis(t)
	l := locker(t, c, lock.Options{Lease: time.Minute, Retries: 1_000_000, Interval: 200 * time.Microsecond, JitterMax: 500 * time.Microsecond})
	began := time.Now()
	now := func() int64 { return time.Since(began).Nanoseconds() }
	var mu sync.Mutex
	var history []porcupine.Operation
	note := func(s step, call int64) {
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: s.owner, Input: s, Call: call, Return: now()})
	}
	var wg sync.WaitGroup
	for n := range owners {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 0))
			owner := lock.NewOwner()
			for range rounds {
				var holds []*lock.Hold
				for range 1 + random.IntN(deepest) {
					call := now()
					h, err := l.Lock(context.Background(), key, owner)
					if err != nil {
						t.Error(err)
						return
					}
					note(step{owner: n, level: h.Level()}, call)
					holds = append(holds, h)
				}
				for i := len(holds) - 1; i >= 0; i-- {
					call := now()
					if err := holds[i].Unlock(context.Background()); err != nil {
						t.Error(err)
						return
					}
					note(step{owner: n, release: true, level: holds[i].Level()}, call)
				}
			}
		})
	}
	wg.Wait()
	if got := porcupine.CheckOperationsTimeout(reentrant, history, time.Minute); got != porcupine.Ok {
		t.Errorf("a history of %d operations: %s", len(history), got)
	}
}

// The model itself must refuse what no lock may do.
func TestModelRefusesTwoHolders(t *testing.T) {
	for name, h := range map[string][]porcupine.Operation{
		"two inside": {
			{ClientId: 0, Input: step{owner: 0, level: 1}, Call: 0, Return: 1},
			{ClientId: 1, Input: step{owner: 1, level: 1}, Call: 2, Return: 3},
			{ClientId: 0, Input: step{owner: 0, release: true, level: 1}, Call: 4, Return: 5},
		},
		"level 2 of a free lock": {
			{ClientId: 0, Input: step{owner: 0, level: 2}, Call: 0, Return: 1},
		},
		"an inner unlock frees all": {
			{ClientId: 0, Input: step{owner: 0, level: 1}, Call: 0, Return: 1},
			{ClientId: 0, Input: step{owner: 0, level: 2}, Call: 2, Return: 3},
			{ClientId: 0, Input: step{owner: 0, release: true, level: 2}, Call: 4, Return: 5},
			{ClientId: 1, Input: step{owner: 1, level: 1}, Call: 6, Return: 7},
		},
	} {
		if porcupine.CheckOperations(reentrant, h) {
			t.Errorf("%s: the model takes it", name)
		}
	}
}
