package facts

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Outages are the nodes that do not answer at present, everybody or one
// thread. Nodes count from 0. They are not safe for concurrent use.
type Outages map[outage]bool

// outage is a node that does not answer a thread, or anybody where that is "".
type outage struct {
	node   int
	thread string
}

// Strike takes the next fault of Redis itself, which may end an outage or
// begin one.
func (o Outages) Strike(b trace.Fault) {
	at := outage{max(b.Node-1, 0), b.Thread}
	switch b.Do {
	case fault.Down:
		o[at] = true
	case fault.Up:
		delete(o, at)
	}
}

// Down tells whether a node answers nobody.
func (o Outages) Down(node int) bool { return o[outage{node, ""}] }

// Up is how many of all nodes answer a thread; for "" those that answer
// anybody.
func (o Outages) Up(all int, thread string) int {
	n := 0
	for node := range all {
		if !o.Down(node) && (thread == "" || !o[outage{node, thread}]) {
			n++
		}
	}
	return n
}

// CutOff are the threads that alone a node does not answer, by name.
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
