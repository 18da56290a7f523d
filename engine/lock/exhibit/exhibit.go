// Package exhibit has locks that are in use, or were drawn in an article, and
// fail in ways worth seeing. None of them is for use. It also lists all
// protocols by name, the sound ones of package lock among them, for whoever
// shows locks beside each other.
package exhibit

import (
	"slices"

	"relock/engine/lock/protocol"
)

// All are the protocols there are, in the order in which they are explained.
// The caller must not change them. It is safe for concurrent use.
func All() []*protocol.Protocol { return all }

var all = []*protocol.Protocol{
	protocol.Reentrant, protocol.Sequenced, protocol.Notify, protocol.Fair, protocol.Fenced,
	ReentrantNaive, Mutex, MutexBlind, MutexGetDel, MutexUnsafe, Value, SetnxHash,
	protocol.RedlockInTurn, protocol.Redsync, Spin, None,
}

// Named is the protocol with a name; for one that does not exist, a protocol
// without a name and without calls.
func Named(name string) *protocol.Protocol {
	i := slices.IndexFunc(all, func(p *protocol.Protocol) bool { return p.Name == name })
	if i < 0 {
		return &protocol.Protocol{}
	}
	return all[i]
}

// Names are the names of all protocols, in their order.
func Names() []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}
