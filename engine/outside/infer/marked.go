package infer

import (
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/trace"
)

// marked is who is inside which lock as threads say it themselves, and what others do to what they
// entered with. It is not safe for concurrent use.
type marked struct {
	state

	times   map[string]int // by thread: how often it is inside
	entered map[string]int // by thread: the event of its last entry
	due     []taken        // what the current command has done to others' locks, and is not told yet
}

func newMarked() marked { return marked{times: map[string]int{}, entered: map[string]int{}} }

// mark takes a mark, and returns the work that begins or ends by it.
func (m *marked) mark(r Record) trace.Work {
	w := trace.Work{State: trace.WorkBegin, Level: m.times[r.Thread] + 1}
	w.Name, w.Reads = markWords(r.Args)
	if r.Mark == MarkEnter {
		m.times[r.Thread]++
		m.enter(r.Thread, w.Name)
		return w
	}
	w.State, w.Level, w.Reads = trace.WorkEnd, max(m.times[r.Thread], 1), false
	w.Name = m.leave(r.Thread, w.Name)
	if m.times[r.Thread]--; m.times[r.Thread] <= 0 {
		delete(m.times, r.Thread)
	}
	return w
}

// ended takes that a thread has ended.
func (m *marked) ended(thread string) {
	delete(m.times, thread)
	m.end(thread)
}

// takes takes what a command does to the locks of others; but for what the lock protects.
func (m *marked) takes(r Record, touched []Touched, protected string, now time.Time) {
	touched = slices.DeleteFunc(slices.Clone(touched), func(t Touched) bool { return t.Key == protected })
	m.due = m.see(r, touched, now)
}

// found returns the findings of what is due, at an event, and forgets it.
func (m *marked) found(at int) []check.Finding {
	var list []check.Finding
	for _, t := range m.due {
		proof := []int{at}
		for _, thread := range t.whose {
			proof = append(proof, m.entered[thread])
		}
		if f, ok := check.Taken(t.rule, t.who, t.whose, proof...); ok {
			list = append(list, f)
		}
	}
	m.due = nil
	return list
}

// tells reports whether a finding, which is of the rules about others' locks, is also due, and
// forgets it there.
func (m *marked) tells(f check.Finding) bool {
	n := len(m.due)
	m.due = slices.DeleteFunc(m.due, func(t taken) bool { return t.rule == f.Rule && len(f.Threads) > 0 && t.who == f.Threads[0] })
	return len(m.due) < n
}

// isTaking reports whether a rule is about what one thread does to another's lock.
func isTaking(rule string) bool {
	return rule == check.ForeignRelease || rule == check.Replaced || rule == check.ForeignRenewal
}
