package facts

import (
	"slices"

	"relock/engine/fault"
	"relock/engine/trace"
)

// Outages tracks the nodes that currently do not serve, either anyone or a single
// thread: each with the error that it answers, or "" where it does not answer. Nodes
// count from 0. It is not safe for concurrent use.
type Outages map[int]map[string]string // by node, and by the thread that it does not serve, or "" for anyone

// mostOutages is of how many nodes, and of how many threads of each, outages are
// tracked: more than a run can have.
const mostOutages = 64

// Strike takes the next fault of Redis itself, or of a thread that goes on for
// everybody, which may start or end an outage.
func (o Outages) Strike(b trace.Fault) {
	if b.At != "" && b.ForMS == 0 {
		return
	}
	node := max(b.Node-1, 0)
	switch {
	case b.Do == fault.Down, b.Do == fault.AnswerError, b.Do == fault.Restart && b.ForMS > 0:
		answer := b.Error
		if b.Do == fault.Restart {
			answer = ""
		}
		if o[node] == nil && node < mostOutages {
			o[node] = map[string]string{}
		}
		if of := o[node]; len(of) < mostOutages && of != nil {
			of[b.Thread] = answer
		}
	case b.Do == fault.Up:
		delete(o[node], b.Thread)
	}
}

// Down reports whether a node answers nobody.
func (o Outages) Down(node int) bool {
	answer, is := o[node][""]
	return is && answer == ""
}

// Answers returns the error with which a node answers everybody, or "".
func (o Outages) Answers(node int) string { return o[node][""] }

// Up returns how many of all nodes serve a thread; for "", how many serve anyone. One that
// has forgotten its scripts serves: it is sent them in full.
func (o Outages) Up(all int, thread string) int {
	n := 0
	for node := range all {
		if !o.out(node, "") && !o.out(node, thread) {
			n++
		}
	}
	return n
}

// out reports whether a node does not serve a thread, or anyone for "".
func (o Outages) out(node int, thread string) bool {
	answer, is := o[node][thread]
	a, _ := fault.ErrorReplyOf(answer)
	return is && a.Refused != fault.ByDigest
}

// Unserved returns whom a node does not serve, by name; "" is anyone.
func (o Outages) Unserved(node int) []string {
	var list []string
	for thread := range o[node] {
		if o.out(node, thread) {
			list = append(list, thread)
		}
	}
	slices.Sort(list)
	return list
}

// CutOff returns the threads that a node leaves unanswered while it answers
// others, by name.
func (o Outages) CutOff(node int) []string {
	var list []string
	for thread, answer := range o[node] {
		if thread != "" && answer == "" {
			list = append(list, thread)
		}
	}
	slices.Sort(list)
	return list
}
