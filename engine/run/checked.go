package run

import (
	"relock/engine/check"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
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
	sc         *scenario.Scenario
}

func (r *Run) newChecked() checked {
	return checked{log: r.log, believed: newBeliefs(), sc: r.sc, checker: check.New(r.header.Owners, protocol.InRedis, r.sc.Lock.Kind, r.sc.Locks...)}
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
	for i := range e.Locks {
		e.Locks[i].Belief = c.believedOf(e.Locks[i].Lock, e.Belief)
	}
	e = c.log.Append(e)
	c.standstill.follow(e)
	for _, found := range c.checker.Observe(e) {
		c.broken = append(c.broken, found.Rule)
		c.log.Append(trace.Event{Step: e.Step, At: e.At, Body: found.Violation, Key: e.Key, Nodes: e.Nodes, Belief: e.Belief, Leaving: e.Leaving, Lock: found.Lock, Locks: e.Locks})
	}
}

// believedOf is who believes that it holds one of several locks: a thread holds the lock
// of each level that it has entered.
func (c *checked) believedOf(lock string, levels map[string]int) map[string]int {
	list := map[string]int{}
	for _, t := range c.sc.Threads {
		if level := t.Takes.Level(lock); level > 0 && levels[t.Name] >= level {
			list[t.Name] = 1
		}
	}
	return list
}
