package film

import (
	"strconv"

	"relock/engine/lock"
	"relock/engine/trace"
)

// mostSaid is how many characters of a reply stand in a sentence.
const mostSaid = 16

// ownCommand says what a command of somebody's own script did: what the script makes of
// the answer, nobody here knows.
func (t *Narrator) ownCommand(c command) string {
	text := t.say("%s's script runs %s, which answers %s.", c.who, c.verb, t.answer(c.Command))
	if !c.ofLock(t) {
		return text
	}
	return t.say("%s %s", text, t.keyNow(c.after, c.who))
}

// answer is a reply in a word or two.
func (t *Narrator) answer(c trace.Command) string {
	switch v := c.Reply.(type) {
	case nil:
		return "nil"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		if who := t.owners[v]; who != "" {
			return t.say("the value of %s", who)
		}
		if v == "" {
			return t.say("an empty text")
		}
		return shortText(v)
	case []any:
		return t.say("a list of %d", len(v))
	default:
		return Reply(t.l, v)
	}
}

func shortText(text string) string {
	if runes := []rune(text); len(runes) > mostSaid {
		return string(runes[:mostSaid]) + "…"
	}
	return text
}

// keyNow says whose the key is right after an event in which a thread acts.
func (t *Narrator) keyNow(k trace.KeyState, who string) string {
	left, other := t.ms(max(k.PTTL, 0)), t.other(k, who)
	_, counted := k.Fields[t.idOf(k, who)]
	switch {
	case !k.Exists():
		return t.say("There is no key.")
	case t.holds(k, who) && counted && k.PTTL < 0:
		return t.say("Its field in the key is %s, and the key has no expiry.", k.Fields[t.idOf(k, who)])
	case t.holds(k, who) && counted:
		return t.say("Its field in the key is %s, and the key has %s left.", k.Fields[t.idOf(k, who)], left)
	case t.holds(k, who) && k.PTTL < 0:
		return t.say("The key is its own and has no expiry.")
	case t.holds(k, who):
		return t.say("The key is its own for another %s.", left)
	case other != "" && t.named(other) && k.PTTL < 0:
		return t.say("The key is %s's and has no expiry.", other)
	case other != "" && t.named(other):
		return t.say("The key is %s's for another %s.", other, left)
	case k.PTTL < 0:
		return t.say("The key names no thread and has no expiry.")
	default:
		return t.say("The key names no thread and has %s left.", left)
	}
}

// named reports whether a holder is one of the run's threads.
func (t *Narrator) named(holder string) bool { return holder != t.say("another owner") }

// idOf returns the field of a thread in the key, "" if it has none.
func (t *Narrator) idOf(k trace.KeyState, who string) string {
	for id := range k.Fields {
		if t.owners[id] == who {
			return id
		}
	}
	return ""
}

// ownOutcome says what a call has come to by what somebody's own script returned, and false
// where the script did not decide it.
func (t *Narrator) ownOutcome(e trace.Event, b trace.Outcome) (string, bool) {
	text := ""
	switch {
	case b.Result == trace.Acquired && t.call(e.Thread, b.Call).commands == 0 && t.protocol.Granting:
		return "", false
	case b.Result == trace.Acquired && b.Token > 0:
		text = t.say("%s has the lock and fencing token %d: its script says yes.", e.Thread, b.Token)
	case b.Result == trace.Acquired:
		text = t.say("%s has the lock: its script says yes.", e.Thread)
	case b.Result == trace.Reentered:
		text = t.say("%s is at level %d: its script says yes.", e.Thread, b.Level)
	case b.Result == trace.Refused:
		text = t.say("%s is refused: its script says no.", e.Thread)
	case b.Result == trace.Released && b.Attempt > 1:
		text = t.say("%s takes its lock for released.", e.Thread)
	case b.Result == trace.Released, b.Result == trace.Decremented:
		text = t.say("%s has unlocked level %d: its script says yes.", e.Thread, b.Level)
	case b.Result == trace.Renewed:
		text = t.say("%s's watchdog takes the lease for renewed: its script says yes.", e.Thread)
	case b.Result == trace.Lost && b.Call == lock.CallRenew:
		text = t.say("%s's watchdog takes the lock for lost: its script says no.", e.Thread)
	case b.Result == trace.Lost && b.Call == lock.CallUnlock:
		text = t.say("%s hears as it leaves level %d that the lock was lost: its script says no.", e.Thread, b.Level)
	default:
		return "", false
	}
	return t.say("%s %s", text, t.keyNow(e.Key, e.Thread)), true
}
