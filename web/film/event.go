package film

import (
	"slices"
	"time"

	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

func (t *Narrator) work(e trace.Event, b trace.Work) string {
	if t.framed {
		return t.mark(e.Thread, b)
	}
	who, length, left := e.Thread, t.millis(b.For), t.ms(e.Key.PTTL)
	held := t.holds(e.Key, who)
	parts := held && shared(t.sc.Lock.Kind, e.Key) // whose lease is not the key's
	if b.Cancelled && b.State == trace.WorkEnd {
		return t.say("%s stops its work at level %d, which would take %s: its hold's context has ended.", who, b.Level, length)
	}
	if text := t.shape().work(t, e, b); text != "" {
		return text
	}
	if b.State == trace.WorkEnd {
		switch {
		case !held:
			return t.say("%s ends its work at level %d, and in Redis the lock is not its own.", who, b.Level)
		case e.Key.PTTL < 0:
			return t.say("%s ends its work at level %d, and its key has no expiry.", who, b.Level)
		case parts:
			return t.say("%s ends its work at level %d, and the key has %s left.", who, b.Level, left)
		default:
			return t.say("%s ends its work at level %d, and its lease has %s left.", who, b.Level, left)
		}
	}
	switch {
	case !held:
		return t.works(e, b,
			"%s works at level %d for %s, though in Redis the lock is not its own.",
			"%s works on at level %d for %s, though in Redis the lock is not its own.")
	case e.Key.PTTL < 0:
		return t.works(e, b,
			"%s works at level %d for %s, and its key has no expiry.",
			"%s works on at level %d for %s, and its key has no expiry.")
	case parts:
		return t.works(e, b,
			"%s works at level %d for %s, and the key has %s left.",
			"%s works on at level %d for %s, and the key has %s left.", left)
	case b.For.Duration() < time.Duration(e.Key.PTTL)*time.Millisecond:
		return t.works(e, b,
			"%s works at level %d for %s, within the %s that its lease has left.",
			"%s works on at level %d for %s, within the %s that its lease has left.", left)
	case t.watched() && t.thread(who).unwatched:
		return t.works(e, b,
			"%s works at level %d for %s, its lease has %s left, and its watchdog has stopped.",
			"%s works on at level %d for %s, its lease has %s left, and its watchdog has stopped.", left)
	case t.watched():
		return t.works(e, b,
			"%s works at level %d for %s, and its lease has %s left: the watchdog must renew it.",
			"%s works on at level %d for %s, and its lease has %s left: the watchdog must renew it.", left)
	default:
		return t.works(e, b,
			"%s works at level %d for %s, its lease has %s left, and there is no watchdog.",
			"%s works on at level %d for %s, its lease has %s left, and there is no watchdog.", left)
	}
}

// mark says what a thread says of itself: nobody knows how long it works.
func (t *Narrator) mark(who string, b trace.Work) string {
	switch leaves := b.State == trace.WorkEnd; {
	case leaves && b.Name != "":
		return t.say("%[1]s says that it has left %[2]s.", who, b.Name)
	case leaves:
		return t.say("%s says that it has left.", who)
	case b.Reads && b.Name != "":
		return t.say("%[1]s says that it is inside %[2]s, as a reader.", who, b.Name)
	case b.Reads:
		return t.say("%s says that it is inside, as a reader.", who)
	case b.Name != "":
		return t.say("%[1]s says that it is inside %[2]s.", who, b.Name)
	default:
		return t.say("%s says that it is inside.", who)
	}
}

// works says that work begins, or that it goes on.
func (t *Narrator) works(e trace.Event, b trace.Work, first, after phrase.Text, more ...any) string {
	if b.After {
		first = after
	}
	return t.say(first, append([]any{e.Thread, b.Level, t.millis(b.For)}, more...)...)
}

// worked says that work is done that no lease limits.
func (t *Narrator) worked(e trace.Event, b trace.Work) string {
	return t.say("%s has done its work at level %d, which takes %s.", e.Thread, b.Level, t.millis(b.For))
}

func (t *Narrator) wait(e trace.Event, b trace.Wait) string {
	text := t.waits(e, b)
	if t.spec(e.Thread).Drift != 0 {
		return t.say("%s %s", text, t.say("By its own clock."))
	}
	return text
}

func (t *Narrator) waits(e trace.Event, b trace.Wait) string {
	who, length := e.Thread, t.millis(b.For)
	last := t.thread(who).outcome
	switch {
	case b.Why == trace.WaitBeat && t.holds(e.Key, who) && e.Key.PTTL >= 0:
		return t.say("%s sleeps for %s; without a new beat its key lasts %s.", who, length, t.ms(e.Key.PTTL))
	case b.Why == trace.WaitBeat:
		return t.say("%s sleeps for %s, and does not look meanwhile.", who, length)
	case b.Why == trace.WaitClient:
		return t.say("%s's client hears nothing, and sends the request again in %s, unless its call is over by then. The lock is not told.", who, length)
	case last.Call == lock.CallUnlock:
		return t.say("%s waits %s before it sends its unlock again, unless its time is up first: retry %d.", who, length, last.Attempt)
	case b.Why == trace.WaitNotify && t.protocol.Granting:
		return t.say("%s waits to be handed the lock, and asks again after %s at the latest.", who, length)
	case b.Why == trace.WaitNotify:
		return t.say("%s waits to be told that the lock is free, and asks again after %s at the latest.", who, length)
	case last.Attempt > t.spec(who).Retry.Times && t.habits().Hasty:
		return t.say("%s waits %s for nothing: it has no retry left, and gives up after that.", who, length)
	case t.spec(who).Retry.Times == scenario.Unlimited:
		return t.say("%s waits %s before it asks again: retry %d, without a limit.", who, length, last.Attempt)
	default:
		return t.say("%s waits %s before it asks again: retry %d of %d.", who, length, last.Attempt, t.spec(who).Retry.Times)
	}
}

// touches words a read or a write of what the lock protects.
func (t *Narrator) touches(who string, b trace.Resource) string {
	missed := b.Version - 1 - b.Based
	if b.Limit > 0 && !b.Refused {
		return t.purchase(who, b)
	}
	if t.framed && !b.Effect {
		return t.uses(who, b)
	}
	switch {
	case b.Op == trace.OpRead && b.Effect && b.Value > 0:
		return t.say("%s finds it done, and leaves it.", who)
	case b.Op == trace.OpRead && b.Effect:
		return t.say("%s finds it not done, and means to do it when its work is done.", who)
	case b.Op == trace.OpRead && b.Stock && b.Value <= 0:
		return t.say("%s finds %d left, and takes none.", who, b.Value)
	case b.Op == trace.OpRead && b.Stock:
		return t.say("%s finds %d left, and means to take one when its work is done.", who, b.Value)
	case b.Op == trace.OpRead:
		return t.say("%s reads %d, and means to write %d when its work is done.", who, b.Value, b.Value+1)
	case b.Refused && b.Check == scenario.ChecksVersion:
		return t.say("%s's write is refused: it has read version %d, and version %d is there now.", who, b.Based, b.Version)
	case b.Refused && b.Check == scenario.ChecksKey:
		return t.say("%s tries it again, without effect: its key is known.", who)
	case b.Refused:
		return t.say("%s's write is refused: its token is %d, and one with token %d has been here.", who, b.Token, t.resource.Token)
	case b.Effect && b.Value > 1:
		return t.say("%s does it again: it has now been done %d times.", who, b.Value)
	case b.Effect:
		return t.say("%s does it: it is done once.", who)
	case b.Stock && b.Value < 0:
		return t.say("%s takes one that does not exist: the stock is at %d.", who, b.Value)
	case b.Stock && b.Value == 1:
		return t.say("%s takes one, and one is left.", who)
	case b.Stock:
		return t.say("%s takes one, and %d are left.", who, b.Value)
	case missed > 0:
		return t.say("%s writes %d over newer writes: it has missed %d since it read.", who, b.Value, missed)
	case b.Token > 0:
		return t.say("%s writes %d with token %d, one more than it read, and nobody wrote between.", who, b.Value, b.Token)
	default:
		return t.say("%s writes %d, one more than it read, and nobody wrote between.", who, b.Value)
	}
}

// uses words what other people's programs do with it: nobody knows what they mean to write.
func (t *Narrator) uses(who string, b trace.Resource) string {
	content := wrote(b)
	switch missed := b.Version - 1 - b.Based; {
	case b.Op == trace.OpRead:
		return t.say("%s reads %s.", who, content)
	case missed > 0:
		return t.say("%s writes %s over newer writes: it has missed %d since it read.", who, content, missed)
	default:
		return t.say("%s writes %s, over nothing newer than it has read.", who, content)
	}
}

// purchase words a read or a write under a limit per user.
func (t *Narrator) purchase(who string, b trace.Resource) string {
	switch {
	case b.Op == trace.OpRead && b.Value >= b.Limit:
		return t.say("%s finds that user %s has bought %d of %d, and does not buy.", who, b.User, b.Value, b.Limit)
	case b.Op == trace.OpRead:
		return t.say("%s finds that user %s has bought %d of %d, and means to buy when its work is done.", who, b.User, b.Value, b.Limit)
	case b.Value > b.Limit:
		return t.say("%s buys, which was allowed when it looked. Now user %s has %d, and %d are allowed.", who, b.User, b.Value, b.Limit)
	default:
		return t.say("%s buys: user %s now has %d of %d.", who, b.User, b.Value, b.Limit)
	}
}

// fault words a fault of a thread, of what it sent, or of Redis.
func (t *Narrator) fault(e trace.Event, b trace.Fault) string {
	s := fault.Scene{
		Fault: b, Who: e.Thread, Level: e.Belief[e.Thread], Held: t.holds(e.Key, e.Thread), Left: time.Duration(e.Key.PTTL) * time.Millisecond,
		InRedis: t.protocol.Guard == protocol.InRedis,
		Nodes:   len(e.Nodes), Up: t.down.Up(len(e.Nodes), b.Thread),
		Unserved: t.down.Unserved(max(b.Node-1, 0)), Ended: t.before.outage,
	}
	if t.watched() && !t.thread(e.Thread).unwatched && (b.Do != fault.Stall || !t.habits().OneWatch) { // which gives up on a thread that hangs
		s.Watchdog, s.MaxHold = t.sc.Lock.Watchdog, t.maxHold()
		if _, article := exhibit.HabitsOf(t.protocol); article {
			s.MaxHold = t.sc.Lock.MaxHold // without one it never stops
		}
	}
	if s.Held && e.Key.Type == trace.TypeHash {
		s.Count = t.count(e.Key, e.Thread)
	}
	if s.Held && b.Do == fault.Pause && shared(t.sc.Lock.Kind, e.Key) { // whose lease is not the key's
		s.Left = -1
	}
	before, after := t.before.key, e.Key
	if node := max(b.Node, 1); s.Nodes > 0 {
		before, after = trace.Absent(), trace.Absent()
		if node <= len(t.before.nodes) && node <= s.Nodes {
			before, after = t.before.nodes[node-1], e.Nodes[node-1]
		}
	}
	if !after.Exists() {
		s.Victim = t.few(t.holders(before, t.holding().Held(before)))
	}
	return t.l.Clause(fault.Why(s))
}

func (t *Narrator) expired(e trace.Event, b trace.Expired) string {
	holders := t.holders(b.Was, t.holding().Held(b.Was))
	holder := butFor(holders, "")
	lease, ok := t.lease[b.Node]
	if !ok {
		lease = t.sc.Lock.Lease
	}
	length := t.l.Duration(lease)
	who := t.thread(holder)
	jumped, ok := t.jumps[b.Node]
	switch {
	case len(holders) > 1 && ok && jumped.at == e.At:
		return t.say("Redis drops the key of %s: its clock has jumped by %s, beyond the lease of %s.", t.few(holders), t.l.Clause(jumped.by), length)
	case len(holders) > 1:
		return t.say("Redis drops the key of %s: its lease of %s is over.", t.few(holders), length)
	case ok && jumped.at == e.At && holder != "" && b.Node > 0:
		return t.say("Node %d drops %s's key: its clock has jumped by %s, beyond the lease of %s.", b.Node, holder, t.l.Clause(jumped.by), length)
	case ok && jumped.at == e.At && holder != "":
		return t.say("Redis drops %s's key: its clock has jumped by %s, beyond the lease of %s.", holder, t.l.Clause(jumped.by), length)
	case b.Node > 0 && holder != "":
		return t.say("Node %d drops %s's key: there its lease of %s is over.", b.Node, holder, length)
	case holder == "":
		return t.say("Redis drops the key: its lease of %s is over.", length)
	case t.masters.Two(0):
		return t.say("The new master drops %s's key: there its lease of %s is over.", holder, length)
	case t.before.kept:
		return t.say("Redis drops %s's key, which was kept after the work: its %s are over.", holder, length)
	case t.sc.Kind == scenario.KindHeartbeat:
		return t.say("Redis drops %s's key: it lasts %s without a new beat, and that time is up.", holder, length)
	case who.ended != "":
		return t.say("Redis drops %s's key: its lease of %s is over, and %s has ended before.", holder, length, holder)
	case slices.Contains(e.Leaving, holder) && who.answered != "":
		return t.say("Redis drops %s's key: its lease of %s is over, and its last unlock was answered with %s.", holder, length, who.answered)
	case slices.Contains(e.Leaving, holder) && (who.reached || t.own(lock.CallUnlock)):
		return t.say("Redis drops %s's key: its lease of %s is over, and %s is leaving.", holder, length, holder)
	case slices.Contains(e.Leaving, holder):
		return t.say("Redis drops %s's key: its lease of %s is over before the last unlock of %s has arrived.", holder, length, holder)
	case e.Belief[holder] > 0 && (who.byHand || who.pause > e.At):
		return t.say("Redis drops %s's key: its lease of %s is over. %s is paused and does not know.", holder, length, holder)
	case e.Belief[holder] > 0:
		return t.say("Redis drops %s's key: its lease of %s is over, and %s goes on as if it held the lock.", holder, length, holder)
	default:
		return t.say("Redis drops %s's key: its lease of %s is over, and nobody has renewed it.", holder, length)
	}
}

// few returns the names, or how many there are.
func (t *Narrator) few(names []string) string { return fewOf(t.l, names) }

func (t *Narrator) end(e trace.Event, b trace.End) string {
	if e.Thread == "" {
		return t.endOfRun(e, b)
	}
	who := e.Thread
	switch b.Result {
	case trace.Done:
		rounds := t.spec(who).Repeat
		switch {
		case t.framed:
			return t.say("%s is done: no more commands came from it.", who)
		case t.sc.Kind == scenario.KindHeartbeat:
			return t.say("%s is done: round %d of %d is over.", who, rounds, rounds)
		case t.holds(e.Key, who) && t.before.kept && e.Key.PTTL >= 0:
			return t.say("%s is done, and its key stays on purpose, for another %s.", who, t.ms(e.Key.PTTL))
		case t.holds(e.Key, who) && shared(t.sc.Lock.Kind, e.Key):
			return t.say("%s is done, but it is still in the key.", who)
		case t.holds(e.Key, who) && e.Key.Type == trace.TypeHash:
			return t.say("%s is done, but its key is still there, with count %d.", who, t.count(e.Key, who))
		case t.holds(e.Key, who):
			return t.say("%s is done, but its key is still there.", who)
		default:
			return t.say("%s is done: its business call has returned without an error, round %d of %d.", who, rounds, rounds)
		}
	case trace.Exhausted:
		last := t.thread(who).exhausted
		if last.Attempt == 1 {
			return t.say("%s ends without level %d, which it asked for once.", who, last.Level)
		}
		return t.say("%s ends without level %d: retry %d was its last.", who, last.Level, last.Attempt-1)
	case trace.Lost:
		return t.say("%s ends with an error: it was told that its lock had been lost.", who)
	case trace.Crashed:
		return t.say("%s is gone: a crash runs no unlock.", who)
	}
	switch causeOf(b.Cause, b.Error).Kind {
	case trace.NothingHeld:
		return t.say("%s ends with an error: it did not hold what it wanted to unlock.", who)
	case trace.BusinessPanic:
		return t.say("%s ends with an error: its business code has panicked.", who)
	default:
		return t.say("%s ends with an error: what it asked of Redis has failed.", who)
	}
}

func (t *Narrator) endOfRun(e trace.Event, b trace.End) string {
	if b.Error != "" {
		return t.say("The run was ended at step %d, before its threads had.", e.Step)
	}
	t.unjudged = Unjudged(t.l, t.watch.Judge())
	switch {
	case t.saved() != "":
		return t.say("%[1]s %[2]s's late write was refused. Two were inside at once; that does no harm here.", t.protects(), t.saved())
	case t.findings.Times() == 0 && len(t.failed) > 0:
		var names []string
		for _, f := range t.failed {
			names = append(names, f.Thread)
		}
		return t.say("The run is over at step %d: no rule was broken, but %s ended with an error.", e.Step, t.few(names))
	case t.findings.Times() == 0 && len(t.unjudged) > 0:
		return t.say("The run is over at step %d: no rule was broken, but this cannot be judged.", e.Step)
	case t.findings.Times() == 0:
		return t.say("The run is over at step %d, and no rule was broken.", e.Step)
	case t.findings.Times() == 1:
		return t.say("The run is over at step %d, and one rule was broken.", e.Step)
	default:
		return t.say("The run is over at step %d: a rule was broken %d times.", e.Step, t.findings.Times())
	}
}

// protects says that what the lock protects is as it should be, a sentence.
func (t *Narrator) protects() string {
	switch t.sc.Resource.Kind {
	case scenario.KindCounter:
		return t.say("The counter is safe:")
	case scenario.KindStock:
		return t.say("The stock is safe:")
	case scenario.KindPurchases:
		return t.say("The limit is kept:")
	default:
		return t.say("What the lock protects is safe:")
	}
}

// Sentences are several, one after the other.
func Sentences(l words.Language, list []string) string {
	text := ""
	for i, one := range list {
		if i == 0 {
			text = one
			continue
		}
		text = l.Say("%[1]s %[2]s", text, one)
	}
	return text
}
