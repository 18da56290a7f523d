package tell

import (
	"strconv"
	"strings"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// past words a command on the key of calls that are over.
func (t *Narrator) past(c command) string {
	switch {
	case c.verb == "PEXPIRE":
		return t.say("%s has that note kept for %s: no request is on its way for longer.", c.who, t.ms(c.number(2)))
	case c.verb == "HSET":
		return t.say("%s notes that call %s is over: an earlier one had no answer, and will be refused if it still arrives.", c.who, c.Arg(3))
	case c.Call == lock.CallUnlock && facts.Later(c.Reply, c.Number) > 0:
		return t.say("%s leaves the note of calls that are over as it is: HGET answers %s, a later one.", c.who, c.text)
	case c.Call == lock.CallUnlock && c.Reply == nil:
		return t.say("%s looks which of its calls are noted as over: HGET answers nil, so it notes this one.", c.who)
	case c.Call == lock.CallUnlock:
		return t.say("%s looks which of its calls are noted as over: HGET answers %s, so it notes this one.", c.who, c.text)
	case facts.LaterCall(c.Command) > 0:
		return t.say("%s's call %d arrives too late: by HGET its call %s is over by now, so this one is refused.", c.who, c.Number, c.text)
	case c.Reply == nil:
		return t.say("%s asks whether this call arrives too late: HGET answers nil, no later one is noted as over.", c.who)
	case c.Number > 0:
		return t.say("%s asks whether this call arrives too late: by HGET call %s is over, and this is call %d, a later one.", c.who, c.text, c.Number)
	default:
		return t.say("%s asks whether this call arrives too late: by HGET call %s is over, and earlier ones are refused.", c.who, c.text)
	}
}

// numbered words a command of a lock whose calls are numbered.
func (t *Narrator) numbered(c command) string {
	if c.verb == "HSET" {
		if to := strings.TrimPrefix(c.Arg(2), "#"); trace.IsNumber(c.Arg(2)) && to != c.who {
			return t.say("%s notes the number of the call that %s waits in: HSET sets it to %s.", c.who, to, c.Arg(3))
		}
		return t.say("%s notes the number of this call: HSET sets it to %s, and what arrives later with a smaller one is refused.", c.who, c.Arg(3))
	}
	fields, _ := c.Reply.([]any)
	if len(fields) != 2 || fields[0] == nil {
		return t.noField(c)
	}
	count, _ := strconv.Atoi(asText(fields[0]))
	last := asText(fields[1])
	switch {
	case fields[1] == nil:
		return t.say("%s finds its own field, but no number of this client: it holds the lock through another one.", c.who)
	case facts.LaterCall(c.Command) > 0:
		return t.say("%s's call %d arrives too late: by HMGET its last call was %s, so this one is refused.", c.who, c.Number, last)
	case c.Call == lock.CallLeave:
		if c.Number > 0 && facts.Number(last) != c.Number {
			return t.say("%s has the lock as it leaves the line, but by HMGET through call %s, so it keeps it.", c.who, last)
		}
		return t.say("%s has the lock as it leaves the line: HMGET finds its field, with the number of this call.", c.who)
	}
	return t.inOrder(c, last, t.ownField(c, count, last))
}

func asText(v any) string {
	text, _ := v.(string)
	return text
}

// ownField says what a call concludes from its own hold count.
func (t *Narrator) ownField(c command, count int, last string) string {
	outer, again := c.Level-1, facts.Number(last) == c.Number
	switch {
	case c.Call == lock.CallUnlock || count < outer:
		return t.counted(c, count)
	case again && c.Level == 1:
		return t.say("%s finds its own field: by HMGET this very call, number %s, has the lock already.", c.who, last)
	case again:
		return t.say("%s finds its own field: HMGET answers %d already, so asking twice counts once.", c.who, count)
	case c.Level > 1 && count == outer:
		return t.say("%s finds its own field: HMGET answers count %d, so this is a re-entry and no conflict.", c.who, count)
	default:
		return t.say("%s finds its own field: HMGET answers count %d, from a level that was never left.", c.who, count)
	}
}

// inOrder adds to a sentence that a call does not come late, unless it is the
// last call sent again.
func (t *Narrator) inOrder(c command, last, sentence string) string {
	if c.Number == 0 || facts.Number(last) == c.Number {
		return sentence
	}
	return t.say("%s %s", sentence, t.say("Call %d follows call %s: not late.", c.Number, last))
}

// noField words an HMGET that finds no field of the thread's own.
func (t *Narrator) noField(c command) string {
	other := t.other(c.after, c.who)
	switch {
	case c.Call == lock.CallLeave:
		return t.say("%s leaves the line without the lock: HMGET finds no field of its own.", c.who)
	case other == "" && c.Call == lock.CallUnlock:
		return t.say("%s has no field to count down: HMGET answers nil, there is no key.", c.who)
	case other == "":
		return t.say("%s finds no field of its own: HMGET answers nil.", c.who)
	case c.Call == lock.CallUnlock:
		return t.say("%s has no field to count down: HMGET answers nil, the key is %s's now.", c.who, other)
	case c.Level > 1:
		return t.say("%s finds no field of its own for level %d: HMGET answers nil, the key is %s's now.", c.who, c.Level, other)
	default:
		return t.say("%s finds no field of its own: HMGET answers nil, the key is %s's with count %d.", c.who, other, t.count(c.after, other))
	}
}

// unconfirmed says what a leaving waiter concludes from the time left on a lock
// that it was handed: if it is no more than a grant's, nobody has renewed it.
func (t *Narrator) unconfirmed(c command) string {
	left, grant := t.ms(c.n), t.l.Duration(protocol.Grant(t.sc.Lock.Lease))
	if c.n <= protocol.Grant(t.sc.Lock.Lease).Milliseconds() {
		return t.say("%s reads PTTL: %s are left, no more than the %s of a grant, so it hands the lock on.", c.who, left, grant)
	}
	return t.say("%s reads PTTL: %s are left, more than the %s of a grant, so the lock is held and stays.", c.who, left, grant)
}
