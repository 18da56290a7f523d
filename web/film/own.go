package film

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"relock/engine/lock"
	"relock/engine/trace"
)

// mostSaid is how many characters of a reply a sentence quotes.
const mostSaid = 16

// ownCommand says what a command of somebody's own script did: what the script makes of
// the answer, nobody here knows.
func (t *Narrator) ownCommand(c command) string {
	text := t.say("%s's script runs %s, which answers %s.", c.who, c.verb, t.answer(c.Command))
	if !c.ofLock(t.Now) {
		return text
	}
	return t.say("%s %s", text, t.keyNow(c.after, c.who))
}

// theirCommand says what a command of somebody's own client did, and nothing of what our
// locks would make of it.
func (t *Narrator) theirCommand(c command) string {
	text := ""
	switch {
	case c.Error != "":
		code, _, _ := strings.Cut(c.Error, " ")
		text = t.say("%s gets an error from %s: %s.", c.who, c.verb, code)
	case c.takesIfNone(t.Now):
		return t.say("%s takes the lock: SET NX finds no key and makes one, for %s.", c.who, t.ms(c.after.PTTL))
	case c.Script != "":
		text = t.say("%s's script runs %s, which answers %s.", c.who, c.verb, t.answer(c.Command))
	default:
		text = t.say("%s sends %s, and Redis answers %s.", c.who, c.verb, t.answer(c.Command))
	}
	if c.Late {
		text = t.say("%s %s", t.say("%s's %s arrives late.", c.who, c.Call), text)
	}
	if !c.ofLock(t.Now) {
		return text
	}
	return t.say("%s %s", text, t.keyNow(c.after, c.who))
}

// takesIfNone reports whether a command is the one that makes the key with its thread as
// owner, and only where there is none.
func (c command) takesIfNone(n *Now) bool {
	none := slices.ContainsFunc(c.Args, func(arg string) bool { return strings.EqualFold(arg, "NX") })
	return c.verb == "SET" && none && c.ofLock(n) && !c.Late && c.text == "OK" && !c.before.Exists() && n.holds(c.after, c.who) && c.after.PTTL > 0
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
	counted = counted && k.Type == trace.TypeHash
	switch {
	case !k.Exists():
		return t.say("There is no key.")
	case k.Type == trace.TypeList:
		return t.say("The list has %d elements.", k.Length)
	case shared(t.sc.Lock.Kind, k) && t.inKey(k) != "":
		return t.say("%s %s", t.inKey(k), t.stays(k))
	case counted && k.PTTL < 0:
		return t.say("Its field in the key is %s, and the key has no expiry.", k.Fields[t.idOf(k, who)])
	case counted:
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

// inKey says what a key with several holders says of them, a sentence; "" where it names
// nobody.
func (t *Narrator) inKey(k trace.KeyState) string {
	holders := slices.DeleteFunc(t.holders(k, t.holding().Holders(k)), func(name string) bool { return !t.named(name) })
	n, all := k.CountMembers(), t.sc.Lock.Kind.Permits
	switch {
	case n == 0:
		return ""
	case all > 0 && n > all:
		return t.say("%d members for %d permits.", n, all)
	case all == 2 && n == all:
		return t.say("Both permits are taken.")
	case all > 0 && n == all:
		return t.say("All %d permits are taken.", all)
	case all > 0 && n == 1:
		return t.say("1 of %d permits is taken.", all)
	case all > 0:
		return t.say("%d of %d permits are taken.", n, all)
	case len(holders) == 0:
		return ""
	case k.Mode() == trace.ModeRead && len(holders) > 1:
		return t.say("%s read.", t.few(holders))
	case k.Mode() == trace.ModeRead:
		return t.say("%s reads.", holders[0])
	case k.Mode() == trace.ModeWrite && len(holders) == 1:
		return t.say("%s writes.", holders[0])
	case len(holders) > 1:
		return t.say("%s are in the key.", t.few(holders))
	default:
		return t.say("%s is in the key.", holders[0])
	}
}

// stays says how long a key lives.
func (t *Narrator) stays(k trace.KeyState) string {
	if k.PTTL < 0 {
		return t.say("The key has no expiry.")
	}
	return t.say("The key has %s left.", t.ms(k.PTTL))
}

// named reports whether a holder is one of the run's threads.
func (t *Narrator) named(holder string) bool { return holder != t.stranger }

// idOf returns the field of a thread in the key, "" if it has none. Of several, which a
// client's hash can have, it is the first by name.
func (t *Narrator) idOf(k trace.KeyState, who string) string {
	for _, id := range slices.Sorted(maps.Keys(k.Fields)) {
		if k.IsMember(id) && t.owners[id] == who {
			return id
		}
	}
	return ""
}

// theirOutcome says how a call of somebody's own client ended, as its commands show it,
// and false if it got no answer: all locks have the same words for that.
func (t *Narrator) theirOutcome(e trace.Event, b trace.Outcome) (string, bool) {
	text, permits := "", t.sc.Lock.Kind.Permits > 0
	switch b.Result {
	case trace.Acquired:
		switch text = t.say("%s gets the lock.", e.Thread); {
		case b.TakesOver:
			text = t.say("%s takes the lock over: the deadline in its value had passed.", e.Thread)
		case permits:
			text = t.say("%s gets a permit.", e.Thread)
		}
	case trace.Reentered:
		text = t.say("%s gets the lock again: level %d.", e.Thread, b.Level)
	case trace.Refused:
		if text = t.say("%s does not get the lock.", e.Thread); permits {
			text = t.say("%s gets no permit.", e.Thread)
		}
	case trace.Released, trace.Decremented, trace.Renewed:
		text = t.say("%s's %s is done.", e.Thread, b.Call)
	case trace.NotHeld:
		text = t.say("%s's %s finds nothing of its own.", e.Thread, b.Call)
	default:
		return "", false
	}
	return t.say("%s %s", text, t.keyNow(e.Key, e.Thread)), true
}

// ownOutcome says what a call has come to by what somebody's own script returned, and false
// where the script did not decide it.
func (t *Narrator) ownOutcome(e trace.Event, b trace.Outcome) (string, bool) {
	if t.framed {
		return t.theirOutcome(e, b)
	}
	text := ""
	switch {
	case b.Result == trace.Acquired && t.before.asked.commands == 0 && t.protocol.Granting:
		return "", false
	case b.Result == trace.Acquired && b.Token > 0:
		text = t.say("%s has the lock and fencing token %d: its script says yes.", e.Thread, b.Token)
	case b.Result == trace.Acquired && t.sc.Lock.Kind.Permits > 0:
		text = t.say("%s has a permit: its script says yes.", e.Thread)
	case b.Result == trace.Acquired:
		text = t.say("%s has the lock: its script says yes.", e.Thread)
	case b.Result == trace.Reentered:
		text = t.say("%s is at level %d: its script says yes.", e.Thread, b.Level)
	case b.Result == trace.Refused:
		text = t.say("%s is refused: its script says no.", e.Thread)
	case b.Result == trace.Released && b.Attempt > 1:
		text = t.say("%s assumes that its lock is released.", e.Thread)
	case b.Result == trace.Released, b.Result == trace.Decremented:
		text = t.say("%s has unlocked level %d: its script says yes.", e.Thread, b.Level)
	case b.Result == trace.Renewed:
		text = t.say("%s's watchdog believes that it renewed: its script says yes.", e.Thread)
	case b.Result == trace.Lost && b.Call == lock.CallRenew:
		text = t.say("%s's watchdog assumes that the lock is lost: its script says no.", e.Thread)
	case b.Result == trace.Lost && b.Call == lock.CallUnlock:
		text = t.say("%s hears as it leaves level %d that the lock was lost: its script says no.", e.Thread, b.Level)
	default:
		return "", false
	}
	return t.say("%s %s", text, t.keyNow(e.Key, e.Thread)), true
}
