package film

import (
	"strings"
	"time"

	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// callOf identifies a thread's current call, of which there is one at a time,
// or a late copy.
type callOf struct {
	thread, call string
	late         int // the step in which a late copy arrives; 0 for the call
}

// asked is what a call has asked Redis since its last outcome.
type asked struct {
	level, attempt int
	commands       int
	last           string // the script that ran, or else the command
	failed         string // the code of Redis' error
	fault          string // the last fault that struck on the way
	delayed        bool   // a request, of this attempt or an earlier one, may still be on its way
	timed          bool   // the script has asked for the time
	now            int64  // by Redis' clock, in milliseconds, if it has
	looked         bool   // HMGET was answered
	counted        bool   // its own hold count was changed
	token          int64  // to which INCR has counted
	taken          int    // keys that were set
	deleted        int    // keys of its own that were deleted
	ever           bool   // a key was deleted by this attempt or an earlier one of the call
	foreign        string // whose key was deleted
	wrote          string // the last command that changed data
	handed         string // who was given the lock
	place          int64  // in the queue it has joined
	cut            int64  // what was left of a lease that was shortened, in milliseconds
	kept           bool   // the key was left on purpose
}

// calls are what each call has asked.
type calls map[callOf]*asked

func (c calls) of(one callOf) *asked {
	if c[one] == nil {
		c[one] = &asked{}
	}
	return c[one]
}

// sent notes the last event, a command: which attempt it belongs to, and what it did.
func (n *Now) sent(b trace.Command) {
	of := callOf{thread: n.event.Thread, call: b.Call}
	if b.Late {
		of.late = n.event.Step
	}
	a := n.asked.of(of)
	if a.commands > 0 && (a.level != b.Level || a.attempt != b.Attempt) {
		*a = asked{fault: a.fault, delayed: a.delayed, ever: a.ever}
	}
	if a.commands == 0 && b.Attempt == 1 {
		a.ever = false
	}
	a.level, a.attempt = b.Level, b.Attempt
	n.before.asked = *a
	c := n.about(b)
	a.commands++
	a.last = b.Script
	if b.Script == "" {
		a.last = c.verb
	}
	a.failed, _, _ = strings.Cut(b.Error, " ")
	if b.Error == "" && len(b.Args) > 0 && journal.Wrote(b.Args, b.Reply) && c.verb != protocol.WAIT {
		a.wrote = c.verb
	}
	n.did(a, c)
}

// did notes what a command of a call has done.
func (n *Now) did(a *asked, c command) {
	switch c.verb {
	case "TIME":
		a.timed, a.now = true, micros(c.Reply)/1000
	case "HMGET":
		a.looked = true
	case "INCR":
		a.token = c.n
	case "SET", "SETNX":
		if !c.ofLock(n) {
			break
		}
		if c.text == "OK" || c.n == 1 {
			a.taken++
		}
		if px, ok := c.px(); ok && c.text == "OK" && !c.OldMaster {
			n.lease[c.Node] = px
		} else if c.text == "OK" {
			n.given(c)
		}
	case "PEXPIRE":
		if c.n == 1 && c.ofLock(n) && !c.OldMaster {
			n.lease[c.Node] = time.Duration(c.number(2)) * time.Millisecond
		}
		if facts.Keeps(c.Command) {
			a.kept, n.kept = true, true
		}
		if c.Call == lock.CallRenew && c.shortens() {
			a.cut = c.before.PTTL
		}
	case "PEXPIREAT", "EXPIRE", "EXPIREAT", "SETEX", "PSETEX", "GETEX":
		if c.Error == "" && c.n != 0 || c.text == "OK" {
			n.given(c)
		}
	case "RPUSH":
		a.place = c.n
	case "HINCRBY":
		to := n.owner(c.Arg(2))
		if a.counted = a.counted || to == c.who; to != c.who {
			a.handed = to
		}
	case "DEL", "DELEX":
		if c.n == 1 {
			a.deleted++
			a.ever, a.foreign, a.handed = true, "", ""
			if !n.held(c.before, c.who) {
				a.foreign = n.otherHeld(c.before, c.who)
			}
		}
	}
}

// given notes what a command has left the key to live.
func (n *Now) given(c command) {
	if c.ofLock(n) && !c.OldMaster && c.after.PTTL > 0 {
		n.lease[c.Node] = time.Duration(c.after.PTTL) * time.Millisecond
	}
}

// refuses reports whether Redis runs nothing of a request that it answers with an error.
func refuses(code string) bool {
	a, ok := fault.ErrorReplyOf(code)
	return ok && a.Refused == fault.EveryCommand
}

// micros reads the reply of TIME, in microseconds; 0 for anything else.
func micros(reply any) int64 {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return 0
	}
	return facts.Number(list[0])*1_000_000 + facts.Number(list[1])
}

// command is a Redis command and what surrounds it.
type command struct {
	trace.Command

	who           string
	verb          string
	n             int64          // the reply, if it is a number
	text          string         // the reply, if it is a text
	before, after trace.KeyState // the lock's key on the command's node
	asked         *asked         // by its call before
}

// about returns the last event's command with what surrounds it.
func (n *Now) about(b trace.Command) command {
	c := command{Command: b, who: n.seen.Thread, before: n.before.key, after: n.seen.Key, asked: &n.before.asked}
	c.verb = strings.ToUpper(c.Arg(0))
	c.n, _ = b.Reply.(int64)
	c.text, _ = b.Reply.(string)
	if i := b.Node - 1; i >= 0 && i < len(n.seen.Nodes) {
		c.before, c.after = trace.Absent(), n.seen.Nodes[i]
		if i < len(n.before.nodes) {
			c.before = n.before.nodes[i]
		}
	}
	return c
}

// number returns a numeric argument.
func (c command) number(i int) int64 { return facts.Number(c.Arg(i)) }

// ofLock reports whether the command is about the lock's key rather than one
// beside it.
func (c command) ofLock(n *Now) bool { return c.Arg(1) == n.sc.Lock.Key }

// shortens reports whether a PEXPIRE leaves the key less time than it had.
func (c command) shortens() bool { return c.n == 1 && c.before.PTTL > c.number(2) }

// numbers reports whether a renewal says by its number whether it is late.
func (c command) numbers() bool { return c.Script == "numbered-renew.lua" }

// px returns the expiry that a SET sets.
func (c command) px() (time.Duration, bool) {
	for i, a := range c.Args {
		switch {
		case a == "PX" && i > 2:
			return time.Duration(c.number(i+1)) * time.Millisecond, true
		case a == "PXAT" && i > 2: // an instant, of which Redis counts what is left
			return time.Duration(max(c.after.PTTL, 0)) * time.Millisecond, true
		}
	}
	return 0, false
}
