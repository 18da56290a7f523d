package film

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
	number, _, _ := strings.Cut(c.text, " ") // "number until", and in older traces the number alone
	switch {
	case c.verb == "HGETALL":
		return t.notes(c)
	case c.verb == "HDEL":
		if of := t.locker(c.Arg(2)); of != c.who {
			return t.say("%s drops an old note of %s: HDEL removes it, because none of those calls can still arrive.", c.who, of)
		}
		return t.say("%s drops its own old note: HDEL removes it, because none of those calls can still arrive.", c.who)
	case c.verb == "PEXPIRE" && c.n == 0:
		return t.say("%s has no note to keep: PEXPIRE answers 0.", c.who)
	case c.verb == "PEXPIRE":
		return t.say("%s keeps that note for %s: no request stays on its way for longer.", c.who, t.ms(c.number(2)))
	case c.verb == "HSET":
		return t.say("%s notes that call %s is over: an earlier one had no answer, and will be refused if it still arrives.", c.who, strconv.FormatInt(c.number(3), 10))
	case c.Call == lock.CallUnlock && facts.Later(c.Reply, c.Number) > 0:
		return t.say("%s leaves the note of calls that are over as it is: HGET answers %s, a later one.", c.who, number)
	case c.Call == lock.CallUnlock && c.Reply == nil:
		return t.say("%s checks which of its calls are noted as over: HGET answers nil, so it notes this one.", c.who)
	case c.Call == lock.CallUnlock:
		return t.say("%s checks which of its calls are noted as over: HGET answers %s, so it notes this one.", c.who, number)
	case facts.LaterCall(c.Command) > 0:
		return t.say("%s's call %d arrives too late: by HGET its call %s is over by now, so this one is refused.", c.who, c.Number, number)
	case c.Reply == nil:
		return t.say("%s asks whether this call arrives too late: HGET answers nil, no later one is noted as over.", c.who)
	case c.Number > 0:
		return t.say("%s asks whether this call arrives too late: by HGET call %s is over, and this is call %d, a later one.", c.who, number, c.Number)
	default:
		return t.say("%s asks whether this call arrives too late: by HGET call %s is over, and earlier ones are refused.", c.who, number)
	}
}

// notes words what a release reads of all notes of calls that are over.
func (t *Narrator) notes(c command) string {
	fields, _ := c.Reply.([]any)
	own := int64(0)
	for i := 0; i+1 < len(fields); i += 2 {
		if t.locker(asText(fields[i])) == c.who {
			own = max(own, facts.Number(fields[i+1]))
		}
	}
	switch {
	case len(fields) == 0:
		return t.say("%s checks which calls are noted as over: HGETALL finds none, so it notes this one.", c.who)
	case own == 0:
		return t.say("%s checks which calls are noted as over: HGETALL finds none of its own, so it notes this one.", c.who)
	case facts.Later(own, c.Number) > 0:
		return t.say("%s leaves its note of calls that are over as it is: by HGETALL it is of call %d, a later one.", c.who, own)
	default:
		return t.say("%s checks which calls are noted as over: by HGETALL its own up to call %d, so it notes this one.", c.who, own)
	}
}

// locker returns the thread of a note's field, "owner/locker".
func (t *Narrator) locker(field string) string {
	id, _, _ := strings.Cut(field, "/")
	return t.owner(id)
}

// looks words an EXISTS of a numbered lock: of its two keys at once, or only of its own
// key when it has found no field of its owner.
func (t *Narrator) looks(c command) string {
	switch both := len(c.Args) > 2; {
	case both && c.n == 0:
		return t.say("%s finds the lock free: EXISTS answers 0, there is neither a key nor a note of calls that are over.", c.who)
	case both && c.n == 1:
		return t.say("%s finds a key or a note of calls that are over, not both: EXISTS answers 1, so it must ask which.", c.who)
	case both:
		return t.say("%s finds both a key and a note of calls that are over: EXISTS answers %d, so it must ask about each.", c.who, c.n)
	case c.n == 1:
		return t.say("%s finds the key alone: EXISTS answers 1, so the lock is taken, and there is no note of calls that are over.", c.who)
	default:
		return t.say("%s finds the note alone: EXISTS answers 0, so the lock is free, and it must ask which calls are over.", c.who)
	}
}

// counter words a command of a lock call that makes a fencing token, and false
// for any other.
func (t *Narrator) counter(c command) (string, bool) {
	counted := c.asked.token
	now := micros(c.Reply)
	switch {
	case c.verb == "INCR" && t.holds(c.after, c.who): // of an older trace
		return t.say("%s gets fencing token %d: INCR counts up once for each first acquisition.", c.who, c.n), true
	case c.verb == "INCR":
		return t.say("%s increments the fencing token: INCR makes it %d, before it takes the lock.", c.who, c.n), true
	case counted == 0:
		return "", false
	case c.verb == "TIME" && now > counted:
		return t.say("%s reads Redis' clock: by TIME it is at %d µs, more than %d, so the time becomes the token.", c.who, now, counted), true
	case c.verb == "TIME":
		return t.say("%s reads Redis' clock: by TIME it is at %d µs, no more than %d, so the count stays the token.", c.who, now, counted), true
	case c.verb == "PEXPIRE" && !c.ofLock(t.Now):
		return t.say("%s keeps the token for %s: Redis' clock must not begin behind it when the key is gone.", c.who, t.ms(c.number(2))), true
	case c.verb == "SET":
		return t.say("%s sets the token to Redis' time, %d: so tokens grow even if their key is lost, as long as clocks agree.", c.who, c.number(2)), true
	default:
		return "", false
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
	if c.Number == 0 || c.OldMaster || facts.Number(last) == c.Number { // of which there is more to say
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
		return t.say("%s does not hold the lock: HMGET answers nil, there is no key.", c.who)
	case other == "" && c.Level > 1:
		return t.say("%s wants level %d and finds no field of its own: HMGET answers nil, so its outer level is gone.", c.who, c.Level)
	case other == "":
		return t.say("%s finds no field of its own: HMGET answers nil.", c.who)
	case c.Call == lock.CallUnlock:
		return t.say("%s does not hold the lock: HMGET answers nil, the key is %s's now.", c.who, other)
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
