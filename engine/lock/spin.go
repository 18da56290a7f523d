package lock

import (
	"context"
	"sync"
	"sync/atomic"
)

// Memory is what the threads of one process share: its spin locks, by key. The
// zero value is ready. It is safe for concurrent use.
type Memory struct{ locks sync.Map } // key to *spinLock

// spinLock is a word that is compared and swapped, and a count that only its
// holder touches.
type spinLock struct {
	holder atomic.Pointer[string]
	count  int
}

func (m *Memory) lock(key string) *spinLock {
	found, _ := m.locks.LoadOrStore(key, &spinLock{})
	return found.(*spinLock) //nolint:forcetypeassert // only they are stored
}

// enter takes the lock, or counts up if it is the owner's. It returns the
// count, 0 where another holds it.
func (l *spinLock) enter(owner string) int {
	if h := l.holder.Load(); h != nil && *h == owner {
		l.count++
		return l.count
	}
	if !l.holder.CompareAndSwap(nil, &owner) {
		return 0
	}
	l.count = 1
	return 1
}

// leave counts down, and lets go at 0. It returns the count, and false where
// the lock is not the owner's.
func (l *spinLock) leave(owner string) (int, bool) {
	if h := l.holder.Load(); h == nil || *h != owner {
		return 0, false
	}
	l.count--
	if l.count == 0 {
		l.holder.Store(nil)
		return 0, true
	}
	return l.count, true
}

// spin is a lock in the memory of one process, which asks again and again. It
// knows nothing of other processes, and nothing of leases. Source: the local
// SpinLock of the article on re-entry by equal values (2019).
func spin() protocol {
	return protocol{
		lock: func(_ context.Context, at steps) (reply, error) {
			count := at.memory.lock(at.key).enter(at.owner)
			if count == 0 {
				return reply{code: codeRefused}, nil
			}
			return reply{code: codeGranted, count: count}, nil
		},
		unlock: func(_ context.Context, at steps) (reply, error) {
			count, ok := at.memory.lock(at.key).leave(at.owner)
			if !ok {
				return reply{code: codeNotHeld}, nil
			}
			return reply{code: codeGranted, count: count}, nil
		},
		first: map[string]string{CallLock: "", CallUnlock: ""},
		naive: true,
	}
}
