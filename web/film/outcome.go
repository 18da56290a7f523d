package film

import (
	"cmp"
	"slices"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/trace"
)

func (t *Narrator) outcome(e trace.Event, b trace.Outcome) string {
	if t.own(b.Call) {
		if text, ok := t.ownOutcome(e, b); ok {
			return text
		}
	}
	if text := t.shape().outcome(t, e, b); text != "" {
		return text
	}
	switch b.Result {
	case trace.Acquired:
		return t.acquired(e, b)
	case trace.Reentered:
		return t.reentered(e, b)
	case trace.Refused:
		return t.refused(e, b)
	case trace.Exhausted:
		return t.exhausted(e, b)
	case trace.Released:
		return t.released(e, b)
	case trace.Decremented:
		return t.decremented(e, b)
	case trace.Renewed:
		return t.renewed(e, b)
	case trace.Aged:
		return t.aged(e)
	case trace.Lost:
		return t.lost(e, b)
	case trace.NotHeld:
		return t.notHeld(e, b)
	case trace.Cancelled:
		return t.say("%s stops asking for level %d: the context of the level that called it has ended.", e.Thread, b.Level)
	case trace.Online:
		return t.say("%s considers the device online: its key lasts another %s.", e.Thread, t.ms(max(e.Key.PTTL, 0)))
	case trace.Offline:
		return t.say("%s considers the device offline: there is no key.", e.Thread)
	default:
		return t.failedCall(e, b)
	}
}

// aged says that a watchdog stops, because it has renewed for as long as it may.
func (t *Narrator) aged(e trace.Event) string {
	who, most := e.Thread, t.l.Duration(t.maxHold())
	switch {
	case !t.holds(e.Key, who):
		return t.say("%s's watchdog stops: it renews a lock for %s at most, and that time is up. The key is not its own.", who, most)
	case e.Key.PTTL < 0:
		return t.say("%s's watchdog stops: it renews a lock for %s at most, and that time is up. The key has no expiry.", who, most)
	default:
		return t.say("%s's watchdog stops: it renews a lock for %s at most, and that time is up. The key has %s left.", who, most, t.ms(e.Key.PTTL))
	}
}

// maxHold is how long watchdogs renew a hold at most, by their own clocks.
func (t *Narrator) maxHold() time.Duration { return cmp.Or(t.sc.Lock.MaxHold, lock.DefaultMaxAge) }

// elsewhere says that a thread does not hold in Redis what it heard that it holds.
func (t *Narrator) elsewhere(e trace.Event, level int) (string, bool) {
	switch other := t.others(e.Key, e.Thread); {
	case t.holds(e.Key, e.Thread):
		return "", false
	case other != "":
		return t.say("%s is told that it is at level %d, but in Redis the lock is %s's.", e.Thread, level, other), true
	default:
		return t.say("%s is told that it is at level %d, but in Redis the key is gone.", e.Thread, level), true
	}
}

func (t *Narrator) acquired(e trace.Event, b trace.Outcome) string {
	who, left := e.Thread, t.ms(e.Key.PTTL)
	if text, ok := t.valid(e, b); ok {
		return text
	}
	if text, ok := t.elsewhere(e, b.Level); ok {
		return text
	}
	a := t.before.asked
	switch {
	case t.before.over != nil && *t.before.over == e.At && len(e.Nodes) == 0 && len(t.masters.Old(who)) == 0:
		return t.say("%s has the lock the instant the lease before it ends. A real Redis keeps the key 1 ms longer, and would refuse.", who)
	case t.counts() && b.Count != b.Level:
		return t.say("%s has the lock, but its count is %d at level %d: an earlier request was counted, too.", who, b.Count, b.Level)
	case e.Key.PTTL < 0:
		return t.say("%s has the lock, and its key has no expiry.", who)
	case b.Token > 0:
		return t.say("%s has the lock and fencing token %d; its lease runs for %s.", who, b.Token, left)
	case !t.counts():
		return t.say("%s has the lock: the key is its own for %s.", who, left)
	case t.protocol.Granting && a.commands == 0:
		return t.say("%s hears that the lock is now its own: hold count %d, and %s left to renew it.", who, b.Count, left)
	case b.Attempt > 1:
		return t.say("%s has the lock at retry %d: hold count %d, and a lease of %s.", who, b.Attempt-1, b.Count, left)
	default:
		return t.say("%s has the lock: hold count %d, and a lease of %s.", who, b.Count, left)
	}
}

// valid says how long a lock on several nodes may be relied on.
func (t *Narrator) valid(e trace.Event, b trace.Outcome) (string, bool) {
	who, lease := e.Thread, t.sc.Lock.Lease
	if b.Until == 0 || !t.holds(e.Key, who) {
		return "", false
	}
	until, length, drift := t.millis(b.Until), t.l.Duration(lease), t.l.Duration(t.protocol.Margin(lease))
	if t.spec(who).Drift != 0 {
		return t.say("%s has the lock, valid until %s: by its own clock that is %s from its request, less %s for clock drift.", who, until, length, drift), true
	}
	if len(e.Nodes) == 0 {
		return t.say("%s has the lock, valid until %s: %s from its request, less %s for clock drift.", who, until, length, drift), true
	}
	return t.say("%s has the lock on %d of %d nodes, valid until %s: %s from its request, less %s for clock drift.",
		who, t.has(e.Nodes, who), len(e.Nodes), until, length, drift), true
}

func (t *Narrator) reentered(e trace.Event, b trace.Outcome) string {
	who := e.Thread
	if text, ok := t.elsewhere(e, b.Level); ok {
		return text
	}
	switch {
	case !t.counts():
		return t.say("%s is at level %d: the value is its own, nothing is counted, and %s are left.", who, b.Level, t.ms(max(e.Key.PTTL, 0)))
	case b.Count != b.Level:
		return t.say("%s is at level %d, but its count is %d: they no longer agree.", who, b.Level, b.Count)
	case e.Key.PTTL < 0:
		return t.say("%s is at level %d: hold count %d, and the key has no expiry.", who, b.Level, b.Count)
	default:
		return t.say("%s is at level %d: hold count %d. Re-entry adds no time: %s are left.", who, b.Level, b.Count, t.ms(e.Key.PTTL))
	}
}

func (t *Narrator) refused(e trace.Event, b trace.Outcome) string {
	who, left := e.Thread, t.ms(e.Key.PTTL)
	if t.holds(e.Key, who) {
		if e.Key.PTTL < 0 {
			return t.say("%s is refused by a key that is its own and has no expiry.", who)
		}
		return t.say("%s is refused by a key that is its own, for another %s.", who, left)
	}
	other := t.other(e.Key, who)
	switch {
	case other == "":
		return t.say("%s is refused: the key was another's when Redis looked.", who)
	case t.before.asked.place > 0 && e.Key.PTTL >= 0:
		return t.say("%s is refused: %s holds the lock for another %s, and %s is number %d in the queue.", who, other, left, who, t.before.asked.place)
	case slices.Contains(e.Leaving, other) && e.Key.PTTL >= 0:
		switch o := t.thread(other); {
		case o.answered != "":
			return t.say("%s is refused: %s is leaving, but its last unlock was answered with %s, and the key has %s left.", who, other, o.answered, left)
		case o.reached || t.own(lock.CallUnlock):
			return t.say("%s is refused: %s is leaving, but its key is still there, for another %s.", who, other, left)
		}
		return t.say("%s is refused: %s is leaving, but its last unlock has not reached Redis, and the key has %s left.", who, other, left)
	case e.Key.Type == trace.TypeHash && e.Key.PTTL < 0:
		return t.say("%s is refused: %s holds the key with count %d, and it has no expiry.", who, other, t.count(e.Key, other))
	case e.Key.Type == trace.TypeHash:
		return t.say("%s is refused: %s holds the key with count %d, for another %s.", who, other, t.count(e.Key, other), left)
	case e.Key.PTTL < 0:
		return t.say("%s is refused: the key is %s's, and it has no expiry.", who, other)
	default:
		return t.say("%s is refused: the key is %s's for another %s.", who, other, left)
	}
}

func (t *Narrator) exhausted(e trace.Event, b trace.Outcome) string {
	retry := t.spec(e.Thread).Retry
	if t.protocol.Granting {
		patience := time.Duration(retry.Times) * retry.Interval
		return t.say("%s gives up: it waits for %s at most, and the lock was not handed to it.", e.Thread, t.l.Duration(patience))
	}
	if b.Attempt == 1 {
		return t.say("%s gives up: it was refused, and it does not retry.", e.Thread)
	}
	return t.say("%s gives up: retry %d was refused, and it retries %d times at most.", e.Thread, b.Attempt-1, retry.Times)
}

func (t *Narrator) released(e trace.Event, b trace.Outcome) string {
	who, a := e.Thread, t.before.asked
	switch {
	case a.foreign != "":
		return t.say("%s thinks it has released its lock, but what it deleted was %s's.", who, a.foreign)
	case e.Belief[who] > 0 && slices.Contains(e.Leaving, who):
		return t.say("%s has released the lock as it left level %d, and level %d is still to be left.", who, b.Level, e.Belief[who])
	case e.Belief[who] > 0:
		return t.say("%s has released the lock as it left level %d, and goes on inside level %d without it.", who, b.Level, e.Belief[who])
	case a.kept && t.holds(e.Key, who):
		return t.say("%s has left the lock, and its key stays on purpose, for another %s.", who, t.ms(max(e.Key.PTTL, 0)))
	case a.kept:
		return t.say("%s has left the lock. Its key was to stay, but in Redis the lock is not its own.", who)
	case a.deleted == 0 && b.Attempt > 1 && !t.holds(e.Key, who) && a.handed == "":
		return t.say("%s is told “not held” and concludes that an earlier request released the lock: its lease cannot be over yet.", who)
	case t.holds(e.Key, who):
		return t.say("%s thinks it has released the lock, but the key is still its own.", who)
	case !a.ever && a.handed == "":
		return t.say("%s thinks it has released the lock, but there was no key of its own to delete.", who)
	case a.handed != "" && a.counted: // of an older trace
		return t.say("%s has released the lock: its count fell to 0, and the lock is %s's already.", who, a.handed)
	case a.handed != "":
		return t.say("%s has released the lock: it has left its last level, and the lock is %s's already.", who, a.handed)
	case t.counts() && a.counted:
		return t.say("%s has released the lock: its count fell to 0, so the key was deleted.", who)
	case t.counts():
		return t.say("%s has released the lock: it has left its last level, so the key was deleted.", who)
	default:
		return t.say("%s has released the lock: its key was deleted.", who)
	}
}

func (t *Narrator) decremented(e trace.Event, b trace.Outcome) string {
	if e.Belief[e.Thread] == 0 {
		return t.say("%s has left level %d and thinks it is out, but its count is %d, so the key stays.", e.Thread, b.Level, b.Count)
	}
	return t.say("%s has left level %d: its count is %d, and only 0 deletes the key.", e.Thread, b.Level, b.Count)
}

func (t *Narrator) renewed(e trace.Event, b trace.Outcome) string {
	who := e.Thread
	switch other := t.others(e.Key, who); {
	case b.Call == trace.CallBeat:
		return t.say("%s has reported that it is there: its key lasts %s.", who, t.ms(max(e.Key.PTTL, 0)))
	case t.holds(e.Key, who) && t.before.asked.cut > 0:
		return t.say("%s's watchdog has cut its lease, from %s to %s.", who, t.ms(t.before.asked.cut), t.ms(max(e.Key.PTTL, 0)))
	case t.holds(e.Key, who) && b.Until > 0 && len(e.Nodes) > 0:
		return t.say("%s's watchdog has renewed on %d of %d nodes: the lock is now valid until %s.", who, t.has(e.Nodes, who), len(e.Nodes), t.millis(b.Until))
	case t.holds(e.Key, who) && b.Until > 0:
		return t.say("%s's watchdog has renewed: the lock is now valid until %s.", who, t.millis(b.Until))
	case t.holds(e.Key, who):
		return t.say("%s's watchdog has renewed: the lease now has %s.", who, t.ms(max(e.Key.PTTL, 0)))
	case other != "":
		return t.say("%s's watchdog has renewed, and does not know that the lease is %s's.", who, other)
	default:
		return t.say("%s's watchdog was told that it renewed, but the key is gone by now.", who)
	}
}

func (t *Narrator) lost(e trace.Event, b trace.Outcome) string {
	who, other := e.Thread, t.others(e.Key, e.Thread)
	gone := !e.Key.Exists()
	switch {
	case b.Call == lock.CallLock && b.Level == 1:
		return t.say("%s was granted the lock too late: its lease of %s may be over, so it gives the lock back.", who, t.l.Duration(t.sc.Lock.Lease))
	case b.Call == lock.CallLock && other != "":
		return t.say("%s cannot enter level %d: its outer level is lost, the key is %s's now.", who, b.Level, other)
	case b.Call == lock.CallLock && gone:
		return t.say("%s cannot enter level %d: its outer level is lost, the key is gone.", who, b.Level)
	case b.Call == lock.CallLock:
		return t.say("%s cannot enter level %d: it no longer relies on its lease.", who, b.Level)
	case b.Call == lock.CallRenew && other != "":
		return t.say("%s's watchdog learns that the lock is lost: the key is %s's now.", who, other)
	case b.Call == lock.CallRenew:
		return t.say("%s's watchdog learns that the lock is lost, and stops.", who)
	case len(e.Nodes) > 0:
		return t.say("%s learns at its unlock that the lock was lost: %d of %d nodes still had its value.", who, t.before.asked.deleted, len(e.Nodes))
	case other != "":
		return t.say("%s learns as it leaves level %d that the lock was lost: the key is %s's now.", who, b.Level, other)
	case gone:
		return t.say("%s learns as it leaves level %d that the lock was lost: there is no key.", who, b.Level)
	default:
		return t.say("%s learns as it leaves level %d that this level was lost.", who, b.Level)
	}
}

// unheld says that a thread unlocks what it does not hold, of which Redis knows nothing.
func (t *Narrator) unheld(e trace.Event, b trace.Outcome) string {
	return t.say("%s unlocks level %d, which it does not hold.", e.Thread, b.Level)
}

func (t *Narrator) notHeld(e trace.Event, b trace.Outcome) string {
	who, other := e.Thread, t.others(e.Key, e.Thread)
	switch {
	case b.Call == lock.CallRenew && other != "":
		return t.say("%s's watchdog has found the key of %s, and goes on all the same.", who, other)
	case b.Call == lock.CallRenew:
		return t.say("%s's watchdog has found no key, and goes on all the same.", who)
	case t.before.asked.commands == 0:
		return t.say("%s unlocks level %d, which it has left before: Redis is not asked.", who, b.Level)
	case other != "":
		return t.say("%s has nothing to unlock at level %d: the key is %s's.", who, b.Level, other)
	default:
		return t.say("%s has nothing to unlock at level %d: there is no key of its own.", who, b.Level)
	}
}

// failedCall says why a call failed.
func (t *Narrator) failedCall(e trace.Event, b trace.Outcome) string {
	who, a := e.Thread, t.before.asked
	why := causeOf(b.Cause, b.Error)
	if why.Kind == trace.NoMajority && len(e.Nodes) == 0 { // of one node there is no majority
		why.Kind = why.Rest
	}
	switch {
	case why.Kind == trace.InnerHeld:
		return t.say("%s cannot leave level %d: an inner level is still held.", who, b.Level)
	case why.Kind == trace.Unsynced && b.Call == lock.CallRenew:
		return t.say("%s does not rely on the renewal: a replica that takes over may not know of it.", who)
	case why.Kind == trace.Unsynced:
		return t.say("%s does not rely on the lock: a replica that takes over may not know of it.", who)
	case why.Kind == trace.UnknownCommand && t.holds(e.Key, who) && e.Key.PTTL >= 0:
		return t.say("%s fails: this Redis does not know %s, and its key stays behind for another %s.", who, why.Code, t.ms(e.Key.PTTL))
	case why.Kind == trace.UnknownCommand:
		return t.say("%s fails: this Redis does not know %s.", who, why.Code)
	case a.failed != "" && t.holds(e.Key, who) && e.Key.PTTL >= 0:
		return t.say("%s fails with %s, and its key stays behind for another %s.", who, a.failed, t.ms(e.Key.PTTL))
	case a.failed != "":
		return t.say("%s fails: Redis has answered with %s.", who, a.failed)
	case why.Kind == trace.Answered && a.wrote != "":
		return t.say("%s %s", t.sayTried(who, b,
			"%[1]s is told %[3]s in answer to its %[2]s, but Redis had run %[4]s before.",
			"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s, but Redis had run %[5]s before.",
			why.Code, a.wrote), t.keyNow(e.Key, who))
	case why.Kind == trace.Answered && a.commands > 0:
		return t.sayTried(who, b,
			"%[1]s is told %[3]s in answer to its %[2]s: the part that Redis ran changed nothing.",
			"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s: the part that Redis ran changed nothing.",
			why.Code)
	case why.Kind == trace.Answered:
		return t.sayTried(who, b,
			"%[1]s is told %[3]s in answer to its %[2]s: Redis ran none of it.",
			"%[1]s is told %[4]s in answer to retry %[2]d of its %[3]s: Redis ran none of it.",
			why.Code)
	case why.Kind == trace.NoMajority:
		return t.sayTried(who, b,
			"%s cannot know the result of its %s: of %d nodes %d said yes and %d no, and %d are needed.",
			"%s cannot know the result of retry %d of its %s: of %d nodes %d said yes and %d no, and %d are needed.",
			len(e.Nodes), why.Yes, why.No, quorum(e.Nodes))
	case why.Kind == trace.Unreachable:
		return t.sayTried(who, b,
			"%s cannot reach Redis with its %s: nobody answers.",
			"%s cannot reach Redis with retry %d of its %s: nobody answers.")
	case a.delayed:
	case a.fault == fault.LoseReply && a.commands > 0:
		return t.sayTried(who, b,
			"%s hears no answer to its %s and cannot know that Redis has run %s.",
			"%s hears no answer to retry %d of its %s and cannot know that Redis has run %s.",
			a.last)
	case a.commands > 0 && (a.fault == fault.LateCopy || a.fault == fault.LoseRequest): // of several
	case a.fault == fault.LateCopy:
		return t.sayTried(who, b,
			"%s hears no answer to its %s and cannot know that it is still on its way.",
			"%s hears no answer to retry %d of its %s and cannot know that it is still on its way.")
	case a.fault == fault.LoseRequest:
		return t.sayTried(who, b,
			"%s hears no answer to its %s and cannot know that it never arrived.",
			"%s hears no answer to retry %d of its %s and cannot know that it never arrived.")
	}
	return t.sayTried(who, b,
		"%s hears no answer to its %s and cannot know whether Redis has run it.",
		"%s hears no answer to retry %d of its %s and cannot know whether Redis has run it.")
}

// sayTried words a call with first if it is the first attempt, or a device's
// round, and with again if it is a retry.
func (t *Narrator) sayTried(who string, b trace.Outcome, first, again phrase.Text, more ...any) string {
	if b.Attempt > 1 && b.Call != trace.CallBeat && b.Call != trace.CallLook {
		return t.say(again, append([]any{who, b.Attempt - 1, b.Call}, more...)...)
	}
	return t.say(first, append([]any{who, b.Call}, more...)...)
}
