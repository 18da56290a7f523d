package film

import (
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// lateCommand says what a command of a late copy does. Nobody waits for it, and
// its thread may be doing something else by now.
func (t *Narrator) lateCommand(e trace.Event, c command) string {
	if c.Error != "" {
		return t.say("%s's %s arrives late: %s gets an error.", c.who, c.Call, c.verb)
	}
	switch c.verb {
	case "HINCRBY":
		return t.lateCount(e, c)
	case "DEL":
		return t.lateDel(e, c)
	case "DELEX":
		if c.n > 0 {
			return t.lateDel(e, c)
		}
	case "SET", "SETNX":
		if c.ofLock(t.Now) {
			return t.lateSet(c)
		}
	case "PEXPIRE":
		switch other := t.other(c.after, c.who); {
		case c.n == 0 || !c.ofLock(t.Now):
		case other != "":
			return t.say("%s's %s arrives late: PEXPIRE gives the key of %s %s.", c.who, c.Call, other, t.ms(c.number(2)))
		default:
			return t.say("%s's %s arrives late: PEXPIRE gives the key %s.", c.who, c.Call, t.ms(c.number(2)))
		}
	}
	if last := facts.LaterCall(c.Command); last > 0 && c.verb == "HGET" {
		return t.say("%s's %s arrives too late: it is call %d, and by HGET call %d is over by now. It is refused.", c.who, c.Call, c.Number, last)
	} else if last > 0 {
		return t.say("%s's %s arrives too late: it is call %d, and by HMGET the last one was %d. It is refused.", c.who, c.Call, c.Number, last)
	}
	if fields, _ := c.Reply.([]any); c.verb == "HMGET" && len(fields) == 2 && c.Number > 0 && facts.Number(fields[1]) > 0 {
		return t.say("%s's %s arrives late, but in order: it is call %d, and by HMGET the last one was %d.", c.who, c.Call, c.Number, facts.Number(fields[1]))
	}
	switch c.Reply.(type) {
	case int64, string:
		if n := facts.Number(c.Reply); n != 0 || c.Reply == int64(0) || c.Reply == "0" {
			return t.say("%s's %s arrives late: %s answers %d.", c.who, c.Call, c.verb, n)
		}
	}
	return t.say("%s's %s arrives late, and runs %s.", c.who, c.Call, c.verb)
}

func (t *Narrator) lateCount(e trace.Event, c command) string {
	inside := e.Belief[c.who]
	switch to := t.owner(c.Arg(2)); {
	case to != c.who:
		return t.say("%s's %s arrives late: HINCRBY hands the lock to %s.", c.who, c.Call, to)
	case inside > 0 && int64(inside) != c.n:
		return t.say("%s's %s arrives late: HINCRBY makes its count %d, though %s is at level %d.", c.who, c.Call, c.n, c.who, inside)
	case inside > 0 || c.n == 0:
		return t.say("%s's %s arrives late: HINCRBY makes its count %d.", c.who, c.Call, c.n)
	case t.thread(c.who).ended != "":
		return t.say("%s's %s arrives late: HINCRBY makes its count %d, though %s has ended.", c.who, c.Call, c.n, c.who)
	default:
		return t.say("%s's %s arrives late: HINCRBY makes its count %d, and %s is not told.", c.who, c.Call, c.n, c.who)
	}
}

func (t *Narrator) lateDel(e trace.Event, c command) string {
	other, inside := t.otherHeld(c.before, c.who), e.Belief[c.who]
	switch {
	case c.n == 0:
		return t.say("%s's %s arrives late: DEL answers 0, there is no key.", c.who, c.Call)
	case c.Node > 0:
		return t.say("%s's %s arrives late and deletes the key on node %d.", c.who, c.Call, c.Node)
	case other != "" && !t.held(c.before, c.who):
		return t.say("%s's %s arrives late and deletes the key of %s, who is not told.", c.who, c.Call, other)
	case inside > 0:
		return t.say("%s's %s arrives late and deletes the key, though %s is at level %d: anyone who asks now gets in.", c.who, c.Call, c.who, inside)
	default:
		return t.say("%s's %s arrives late and deletes the key.", c.who, c.Call)
	}
}

func (t *Narrator) lateSet(c command) string {
	switch {
	case c.text != "OK" && c.n != 1:
		return t.say("%s's %s arrives late: %s finds a key, and takes nothing.", c.who, c.Call, c.verb)
	case c.Node > 0:
		return t.say("%s's %s arrives late: %s takes node %d.", c.who, c.Call, c.verb, c.Node)
	case t.thread(c.who).ended != "":
		return t.say("%s's %s arrives late: %s takes the lock, though %s has ended.", c.who, c.Call, c.verb, c.who)
	default:
		return t.say("%s's %s arrives late: %s takes the lock, and %s is not told.", c.who, c.Call, c.verb, c.who)
	}
}
