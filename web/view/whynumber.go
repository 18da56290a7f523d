package view

import (
	"relock/engine/lock"
	"relock/engine/trace"
	"strconv"
	"strings"
)

// ofPast tells whether the command is about the key beside the lock's that
// notes calls that are over.
func (c command) ofPast() bool { return strings.HasSuffix(c.arg(1), ":over") }

// past says what is asked of, or written to, the calls that are over.
func (t *Teller) past(c command) string {
	switch {
	case c.verb == "PEXPIRE":
		return t.say("%s keeps that note for %s: no request comes later than that.", c.who, t.ms(c.number(2)))
	case c.verb == "HSET":
		return t.say("%s leaves number %s behind: one of its earlier calls went unanswered, and will be refused if it still comes.", c.who, c.arg(3))
	case c.Reply == nil:
		return t.say("%s asks whether this call comes late: HGET answers nil, none of its later calls is over.", c.who)
	default:
		return t.say("%s asks whether this call comes late: by HGET its call number %s is over, and a smaller number is refused.", c.who, c.text)
	}
}

// numbered says what a lock whose calls have numbers does with them.
func (t *Teller) numbered(c command) string {
	if c.verb == "HSET" {
		if to := strings.TrimPrefix(c.arg(2), "#"); trace.IsNumber(c.arg(2)) && to != c.who {
			return t.say("%s notes the number of the call for which %s waited: HSET makes it %s.", c.who, to, c.arg(3))
		}
		return t.say("%s notes the number of this call: HSET makes it %s, and whatever comes late with a smaller one is refused.", c.who, c.arg(3))
	}
	fields, _ := c.Reply.([]any)
	count, held := "", false
	number := ""
	if len(fields) == 2 {
		count, held = fields[0].(string)
		number, _ = fields[1].(string)
	}
	n, _ := strconv.Atoi(count)
	other := t.other(c.after, c.who)
	switch {
	case held && c.Call == lock.CallUnlock:
		return t.say("%s reads its count, %d, and the number of its last call, %s: a call with a smaller number comes late.", c.who, n, number)
	case held && c.Call == lock.CallLeave:
		return t.say("%s has the lock as it leaves the line: HMGET finds its field, so it must hand it on.", c.who)
	case held:
		return t.say("%s finds its own field, count %d, and the number of its last call, %s: a call with a smaller number comes late.", c.who, n, number)
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
