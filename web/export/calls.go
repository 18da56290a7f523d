package export

import (
	"slices"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/trace"
)

// call is what a thread, or its watchdog, wants of a lock, from its first attempt
// to the end of its last.
type call struct {
	thread    string
	name      string // fault.AtLock, …
	level     int
	lock      string // of several, its key
	givesBack bool
	attempts  []attempt
}

// attempt is one try of a call. Its events are given by their places in the run.
type attempt struct {
	number   int
	from, to int
	commands []int
	outcome  *trace.Outcome // nil: the thread ended before it knew, or the events end
}

func (c call) from() int     { return c.attempts[0].from }
func (c call) last() attempt { return c.attempts[len(c.attempts)-1] }
func (c call) to() int       { return c.last().to }

// result is how the call ended, "" where it did not.
func (c call) result() trace.Result {
	if o := c.last().outcome; o != nil {
		return o.Result
	}
	return ""
}

// calls returns all calls of the run, in the order in which they begin.
func (r Run) calls(b *bound.Buffer) ([]call, error) {
	f := &callFold{open: map[lane]*call{}}
	err := r.each(b, func(i int, e trace.Event) error {
		f.add(i, e)
		return nil
	})
	for _, c := range f.made {
		if c.last().outcome == nil && !f.closed[c] {
			f.end(c, len(r.Events)-1)
		}
	}
	list := make([]call, len(f.made))
	for i, c := range f.made {
		list[i] = *c
	}
	return list, err
}

// lane is where calls come one after the other: a watchdog's renewals go on
// beside the calls of its thread, and giving back interrupts a call that asks again.
type lane struct {
	thread            string
	renews, givesBack bool
}

type callFold struct {
	made   []*call
	open   map[lane]*call
	closed map[*call]bool
}

func (f *callFold) add(i int, e trace.Event) {
	switch b := e.Body.(type) {
	case trace.Command:
		if b.Late { // its caller has given up
			return
		}
		a := f.attempt(i, e, b.Call, b.Level, b.Attempt, b.GivesBack)
		a.commands = append(a.commands, i)
	case trace.Fault:
		if kind, ok := fault.Named(b.Do); ok && kind.Target == fault.OnTheWay && slices.Contains(fault.Calls(), b.At) && e.Thread != "" {
			f.struck(i, e, b)
		}
	case trace.Outcome:
		a := f.attempt(i, e, b.Call, b.Level, b.Attempt, b.GivesBack)
		a.to, a.outcome = i, &b
	case trace.End:
		for at, c := range f.open {
			if at.thread == e.Thread && c.last().outcome == nil {
				f.end(c, i)
			}
		}
	}
}

// struck opens the attempt that a fault strikes on its way to Redis, where it has
// no earlier event: a request that is lost has no command.
func (f *callFold) struck(i int, e trace.Event, b trace.Fault) {
	at := lane{e.Thread, b.At == fault.AtRenew, false}
	if c := f.open[at]; c != nil && c.last().outcome == nil {
		return
	}
	number := 1
	if c := f.open[at]; c != nil && c.name == b.At && c.level == b.Level && unfinished(c.result()) {
		number = c.last().number + 1
	}
	f.attempt(i, e, b.At, b.Level, number, false)
}

// unfinished reports whether another attempt can follow one with this result.
func unfinished(r trace.Result) bool { return r == trace.Refused || r == trace.Failed }

// attempt finds or opens an attempt.
func (f *callFold) attempt(i int, e trace.Event, name string, level, number int, givesBack bool) *attempt {
	at := lane{e.Thread, name == fault.AtRenew, givesBack}
	c := f.open[at]
	if c != nil && c.last().outcome == nil && c.name == name && c.last().number == number {
		c.level = level // a fault that opened it may not say
		return &c.attempts[len(c.attempts)-1]
	}
	if c == nil || c.name != name || c.level != level || number < c.last().number || number == 1 && c.last().number == 1 && !unfinished(c.result()) {
		if c != nil && c.last().outcome == nil && !f.closed[c] {
			f.end(c, max(c.last().from, i-1))
		}
		c = &call{thread: e.Thread, name: name, level: level, lock: e.Lock, givesBack: givesBack}
		f.made, f.open[at] = append(f.made, c), c
	}
	if n := len(c.attempts); n > 0 && c.attempts[n-1].number == number { // the last word on an attempt that was refused
		return &c.attempts[n-1]
	}
	c.attempts = append(c.attempts, attempt{number: number, from: i, to: i})
	return &c.attempts[len(c.attempts)-1]
}

// end ends a call that nobody will answer.
func (f *callFold) end(c *call, i int) {
	if f.closed == nil {
		f.closed = map[*call]bool{}
	}
	c.attempts[len(c.attempts)-1].to, f.closed[c] = i, true
}
