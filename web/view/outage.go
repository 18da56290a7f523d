package view

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/trace"
)

// cut is a node, from 0, that does not answer: everybody, or one thread.
type cut struct {
	node   int
	thread string
}

// outage is what does not answer at present.
type outage map[cut]bool

// strike notes what is down or up again by a fault of Redis itself.
func (o outage) strike(b trace.Fault) {
	at := cut{max(b.Node-1, 0), b.Thread}
	switch b.Do {
	case fault.Down:
		o[at] = true
	case fault.Up:
		delete(o, at)
	}
}

// up is how many of all nodes answer a thread; for "" those that answer
// anybody.
func (o outage) up(all int, thread string) int {
	n := 0
	for node := range all {
		if !o[cut{node, ""}] && (thread == "" || !o[cut{node, thread}]) {
			n++
		}
	}
	return n
}

// from are the threads that alone a node does not answer, sorted.
func (o outage) from(node int) []string {
	var list []string
	for c := range o {
		if c.node == node && c.thread != "" {
			list = append(list, c.thread)
		}
	}
	slices.Sort(list)
	return list
}
