package run

import (
	"relock/engine/check"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
)

// checked appends an event, and after it the rules that it breaks.
type checked struct {
	log      *trace.Log
	checker  *check.Checker
	believed beliefs
	atLimit  bool
	muted    bool     // nothing is written down
	broken   []string // rules, since last asked

	standstill standstill
}

func (r *Run) newChecked() checked {
	return checked{log: r.log, checker: check.New(r.header.Owners, protocol.InRedis, r.sc.Lock.Kind), believed: newBeliefs()}
}

func (c *checked) append(e trace.Event) {
	if v, ok := e.Body.(trace.Violation); ok {
		c.broken = append(c.broken, v.Rule)
	}
	if c.log.Len() >= MaxEvents {
		if _, last := e.Body.(trace.End); !last || e.Thread != "" {
			c.atLimit = true
			return
		}
	}
	e.Belief, e.Leaving = c.believed.after(e.Thread, e.Body)
	e = c.log.Append(e)
	c.standstill.follow(e)
	for _, found := range c.checker.Observe(e) {
		c.broken = append(c.broken, found.Rule)
		c.log.Append(trace.Event{Step: e.Step, At: e.At, Body: found.Violation, Key: e.Key, Nodes: e.Nodes, Belief: e.Belief, Leaving: e.Leaving})
	}
}
