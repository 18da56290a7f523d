package exhibit

import (
	"context"
	"sync"
	"sync/atomic"

	"relock/engine/lock/protocol"
)

// Memory is the memory that the threads of one process share: its spin locks,
// by key. The zero value is ready to use. It is safe for concurrent use.
type Memory struct{ locks sync.Map } // key to *spinLock

// spinLock is a compare-and-swap word, and a count that only its holder
// touches.
type spinLock struct {
	holder atomic.Pointer[string]
	count  int
}

func (m *Memory) lock(key string) *spinLock {
	found, _ := m.locks.LoadOrStore(key, &spinLock{})
	return found.(*spinLock)
}

// enter takes the lock, or counts up if the owner has it. It returns the count,
// 0 if another holds it.
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

// leave counts down, and releases at 0. It returns the count, and false if the
// lock is not the owner's.
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

// Spin is a lock in the memory of one process that asks again and again. It
// knows nothing of other processes or leases. Source: the local SpinLock of the
// article on re-entry by equal values (2019).
var Spin = SpinIn(&Memory{})

// SpinIn is [Spin] in a given memory: locks with the same one share a process.
func SpinIn(m *Memory) *protocol.Protocol {
	return &protocol.Protocol{
		Name:    "spin",
		Summary: "compare-and-swap on a word in one process' memory: no Redis",
		Guard:   protocol.InProcess,
		Lock: func(_ context.Context, r protocol.Request) (protocol.Reply, error) {
			count := m.lock(r.Key).enter(r.Owner)
			if count == 0 {
				return protocol.Reply{Code: protocol.Refused}, nil
			}
			return protocol.Reply{Code: protocol.Granted, Count: count}, nil
		},
		Unlock: func(_ context.Context, r protocol.Request) (protocol.Reply, error) {
			count, ok := m.lock(r.Key).leave(r.Owner)
			if !ok {
				return protocol.Reply{Code: protocol.NotHeld}, nil
			}
			return protocol.Reply{Code: protocol.Granted, Count: count}, nil
		},
		First: map[string]string{protocol.CallLock: "", protocol.CallUnlock: ""},
	}
}
