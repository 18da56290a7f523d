// Package exhibit has locks from real code and from articles that fail in ways
// worth seeing. Do not use them. It also lists all protocols by name, including
// the sound ones of package lock, for programs that show locks side by side.
package exhibit

import (
	"slices"

	"relock/engine/lock/protocol"
)

// All returns all protocols, in the order in which they are explained. The
// caller must not change the slice. It is safe for concurrent use.
func All() []*protocol.Protocol { return all }

var all = []*protocol.Protocol{
	protocol.Reentrant, protocol.Sequenced, protocol.Notify, protocol.Fair, protocol.Fenced,
	ReentrantNaive, Mutex, MutexDelex, MutexOwnValue, MutexPXAT, MutexBlind, MutexTakeBack,
	MutexStrayWatchdog, MutexGetDel, MutexUnsafe, Value, SetnxHash,
	protocol.RedlockInTurn, protocol.Redsync, protocol.RedsyncReset, Spin, None,
}

// Named returns the protocol with a name; if there is none, a protocol without
// a name and without calls.
func Named(name string) *protocol.Protocol {
	i := slices.IndexFunc(all, func(p *protocol.Protocol) bool { return p.Name == name })
	if i < 0 {
		return &protocol.Protocol{}
	}
	return all[i]
}

// Names returns the names of all protocols, in their order.
func Names() []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}
