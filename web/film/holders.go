package film

import (
	"slices"
	"strconv"

	"relock/engine/trace"
)

// holders returns who holds the key, by name, given the threads of the run among them.
func (n *Now) holders(k trace.KeyState, threads []string) []string {
	if !n.holding().Names(k) && len(threads) > 0 {
		return threads
	}
	var list []string
	if k.Value != nil {
		list = append(list, n.owner(*k.Value))
	}
	for id := range k.Fields {
		if k.IsMember(id) {
			list = append(list, n.owner(id))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// owner returns the thread of an owner id.
func (n *Now) owner(id string) string {
	if name := n.owners[id]; name != "" {
		return name
	}
	return n.stranger
}

// holds reports whether the thread holds the key as the event leaves it.
func (n *Now) holds(k trace.KeyState, thread string) bool {
	return n.holding().Hold(k, thread)
}

// held reports whether the thread held the key as the event found it.
func (n *Now) held(k trace.KeyState, thread string) bool {
	return slices.Contains(n.holding().Held(k), thread)
}

// other returns a holder of the key other than this thread as the event leaves it, or "".
func (n *Now) other(k trace.KeyState, thread string) string {
	return butFor(n.holders(k, n.holding().Holders(k)), thread)
}

// otherHeld is other for the key as the event found it.
func (n *Now) otherHeld(k trace.KeyState, thread string) string {
	return butFor(n.holders(k, n.holding().Held(k)), thread)
}

// butFor returns the first of the holders that is not this thread, or "".
func butFor(holders []string, thread string) string {
	for _, h := range holders {
		if h != thread {
			return h
		}
	}
	return ""
}

// count returns the thread's hold count in the key, 0 without one.
func (n *Now) count(k trace.KeyState, thread string) int {
	for id, text := range k.Fields {
		if k.IsMember(id) && n.owner(id) == thread {
			count, _ := strconv.Atoi(text)
			return count
		}
	}
	return 0
}

// has returns how many nodes have the thread's value.
func (n *Now) has(nodes []trace.KeyState, thread string) int {
	has := 0
	for _, k := range nodes {
		if n.holds(k, thread) {
			has++
		}
	}
	return has
}

func quorum(nodes []trace.KeyState) int { return len(nodes)/2 + 1 }
