package facts

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Outages tracks the nodes that currently do not serve, either anyone or a single
// thread: each with the error that it answers, or "" where it does not answer. Nodes
// count from 0. It is not safe for concurrent use.
type Outages map[outage]string

// outage is a node that does not answer a thread, or anyone if that is "".
type outage struct {
	node   int
	thread string
}

// Strike takes the next fault of Redis itself, or of a thread that goes on for
// everybody, which may start or end an outage.
func (o Outages) Strike(b trace.Fault) {
	if b.At != "" && b.ForMS == 0 {
		return
	}
	at := outage{max(b.Node-1, 0), b.Thread}
	switch b.Do {
	case fault.Down, fault.AnswerError:
		o[at] = b.Error
	case fault.Restart:
		if b.ForMS > 0 {
			o[at] = ""
		}
	case fault.Up:
		delete(o, at)
	}
}

// Down reports whether a node answers nobody.
func (o Outages) Down(node int) bool { return o.is(outage{node, ""}, true) }

// is reports whether there is such an outage, of a node that does not answer if
// silent.
func (o Outages) is(one outage, silent bool) bool {
	answer, is := o[one]
	return is && (answer == "" || !silent)
}

// Answers returns the error with which a node answers everybody, or "".
func (o Outages) Answers(node int) string { return o[outage{node, ""}] }

// Up returns how many of all nodes serve a thread; for "", how many serve anyone.
func (o Outages) Up(all int, thread string) int {
	n := 0
	for node := range all {
		if !o.is(outage{node, ""}, false) && (thread == "" || !o.is(outage{node, thread}, false)) {
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
		if one.node == node && one.thread != "" && o.is(one, true) {
			list = append(list, one.thread)
		}
	}
	slices.Sort(list)
	return list
}
