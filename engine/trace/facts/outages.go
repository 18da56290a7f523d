package facts

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Outages tracks the nodes that currently do not answer, either anyone or a
// single thread. Nodes count from 0. It is not safe for concurrent use.
type Outages map[outage]bool

// outage is a node that does not answer a thread, or anyone if that is "".
type outage struct {
	node   int
	thread string
}

// Strike takes the next fault of Redis itself, which may start or end an
// outage.
func (o Outages) Strike(b trace.Fault) {
	at := outage{max(b.Node-1, 0), b.Thread}
	switch b.Do {
	case fault.Down:
		o[at] = true
	case fault.Up:
		delete(o, at)
	}
}

// Down reports whether a node answers nobody.
func (o Outages) Down(node int) bool { return o[outage{node, ""}] }

// Up returns how many of all nodes answer a thread; for "", how many answer
// anyone.
func (o Outages) Up(all int, thread string) int {
	n := 0
	for node := range all {
		if !o.Down(node) && (thread == "" || !o[outage{node, thread}]) {
			n++
		}
	}
	return n
}

// CutOff returns the threads that a node leaves unanswered while it answers
// others, by name.
func (o Outages) CutOff(node int) []string {
	var list []string
	for one := range o {
		if one.node == node && one.thread != "" {
			list = append(list, one.thread)
		}
	}
	slices.Sort(list)
	return list
}
