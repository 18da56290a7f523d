package facts

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Masters tells the two masters of a split apart: who asks the old one, and the lock's
// key there. While there are two, an event's key is that of the new master. Nodes count
// from 0. The zero value is ready to use. It is not safe for concurrent use.
type Masters struct {
	at    trace.Millis
	key   trace.KeyState   // of the new master, or what a majority of the nodes has
	nodes []trace.KeyState // of the new masters, if there are several nodes
	old   map[int]oldMaster
}

// oldMaster is the master of those who are cut off from the new one. It is never changed
// in place.
type oldMaster struct {
	threads []string
	key     trace.KeyState
	at      trace.Millis // when it had that key
	unknown bool         // older traces do not tell what commands leave there
}

// Add takes the next event and returns it with the key as its thread's masters have it.
func (m *Masters) Add(e trace.Event) trace.Event {
	switch b := e.Body.(type) {
	case trace.Fault:
		m.strike(e, b)
	case trace.Command:
		if node := max(b.Node-1, 0); b.OldMaster && m.Two(node) {
			old := m.old[node]
			if old.at, old.unknown = e.At, b.OldKey == nil; b.OldKey != nil {
				old.key = *b.OldKey
			}
			m.old[node] = old
		}
	}
	m.at, m.key, m.nodes = e.At, e.Key, e.Nodes
	return m.seen(e)
}

func (m *Masters) strike(e trace.Event, b trace.Fault) {
	node := max(b.Node-1, 0)
	old, split := m.old[node]
	switch {
	case b.Do == fault.TwoMasters && node < mostOutages:
		if !split {
			old.key, old.at = e.Key, e.At
			if node < len(e.Nodes) {
				old.key = e.Nodes[node]
			}
		}
		if !slices.Contains(old.threads, b.Thread) && len(old.threads) < mostOutages {
			old.threads = append(slices.Clone(old.threads), b.Thread)
		}
		if m.old == nil {
			m.old = map[int]oldMaster{}
		}
		m.old[node] = old
	case b.Do == fault.OneMaster && split:
		old.threads = slices.DeleteFunc(slices.Clone(old.threads), func(t string) bool { return t == b.Thread })
		if m.old[node] = old; len(old.threads) == 0 {
			delete(m.old, node)
		}
	case b.Do == fault.ClockJump && split: // of the old one, too
		if by, ok := jump(b.By); ok {
			old.at -= by
			m.old[node] = old
		}
	}
}

// Before returns the key, and that on each node if there are several, as a thread's masters
// have it at an instant if nothing has happened since the last event.
func (m *Masters) Before(thread string, at trace.Millis) (trace.KeyState, []trace.KeyState) {
	e := trace.Event{Thread: thread, At: at, Key: aged(m.key, m.at, at)}
	for _, k := range m.nodes {
		e.Nodes = append(e.Nodes, aged(k, m.at, at))
	}
	e = m.seen(e)
	return e.Key, e.Nodes
}

// seen returns an event with the key as its thread's masters have it.
func (m *Masters) seen(e trace.Event) trace.Event {
	nodes := m.Old(e.Thread)
	if len(nodes) == 0 {
		return e
	}
	if len(e.Nodes) == 0 {
		old := m.old[0]
		e.Key = old.now(e.At)
		return e
	}
	e.Nodes = slices.Clone(e.Nodes)
	for _, node := range nodes {
		if old := m.old[node]; node < len(e.Nodes) {
			e.Nodes[node] = old.now(e.At)
		}
	}
	e.Key = trace.Majority(e.Nodes)
	return e
}

// Old returns the nodes whose old masters a thread asks, in their order: 0 where there is
// only one node.
func (m *Masters) Old(thread string) []int {
	if len(m.old) == 0 || thread == "" {
		return nil
	}
	var list []int
	for node, old := range m.old {
		if slices.Contains(old.threads, thread) {
			list = append(list, node)
		}
	}
	slices.Sort(list)
	return list
}

// Known reports whether the trace tells of the key on each old master that a thread asks.
func (m *Masters) Known(thread string) bool {
	return !slices.ContainsFunc(m.Old(thread), func(node int) bool { return m.old[node].unknown })
}

// Two reports whether a node has two masters.
func (m *Masters) Two(node int) bool { return len(m.old[node].threads) > 0 }

// now returns the key on it at an instant. No event tells that it was dropped there.
func (o oldMaster) now(at trace.Millis) trace.KeyState {
	k := aged(o.key, o.at, at)
	if k.PTTL == 0 && at > o.at {
		return trace.Absent()
	}
	return k
}

// aged returns a key as it is some time later, as long as no event tells that it was
// dropped.
func aged(k trace.KeyState, from, to trace.Millis) trace.KeyState {
	if k.PTTL >= 0 && k.Exists() {
		k.PTTL = max(k.PTTL-int64(to)+int64(from), 0) // Redis counts whole milliseconds
	}
	return k
}
