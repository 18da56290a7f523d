package film

import (
	"cmp"
	"strconv"

	"relock/engine/check"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/words"
)

// results are the words for outcomes. In English these are nearly the words of scenarios and
// traces.
var results = map[trace.Result]phrase.Text{
	trace.Acquired: "acquired", trace.Reentered: "reentered", trace.Refused: "refused", trace.Released: "released", trace.Decremented: "decremented",
	trace.Renewed: "renewed", trace.Aged: "aged", trace.NotHeld: "not-held", trace.Exhausted: "gave up", trace.Lost: "lost", trace.Failed: "error",
	trace.Cancelled: "cancelled", trace.Online: "online", trace.Offline: "offline", trace.Done: "done", trace.Crashed: "crashed",
}

// Result words a call's outcome, or how a thread ended, briefly.
func Result(l words.Language, r trace.Result) string {
	if text, known := results[r]; known {
		return l.Say(text)
	}
	return string(r)
}

// Outcome words an attempt's result.
func Outcome(l words.Language, b trace.Outcome) (string, Tone) {
	call := b.Call
	if b.GivesBack && b.Result == trace.NotHeld {
		return l.Say("gives back a lock that it may have acquired: it had not"), Plain
	}
	switch {
	case b.GivesBack:
		call = l.Say("gives back a lock that it may have acquired")
	case b.Call == lock.CallRenew:
		call = l.Say("watchdog")
	case b.Call == lock.CallLock && b.Attempt > 1:
		call = l.Say("retry %d", b.Attempt-1)
	case b.Call == lock.CallUnlock && b.Attempt > 1:
		call = l.Say("%s (retry %d)", b.Call, b.Attempt-1)
	}
	switch b.Result {
	case trace.Acquired:
		if b.TakesOver {
			return l.Say("%s: taken over", call), Good
		}
		return l.Say("%s: acquired", call), Good
	case trace.Reentered:
		return l.Say("%s: level %d entered", call, b.Level), Good
	case trace.Refused:
		return l.Say("%s: refused", call), Bad
	case trace.Exhausted:
		return l.Say("gives up, retries: %d", b.Attempt-1), Bad
	case trace.Cancelled:
		return l.Say("stops asking: its context has ended"), Plain
	case trace.Online:
		return l.Say("%s: online", call), Good
	case trace.Offline:
		return l.Say("%s: offline", call), Bad
	case trace.Released:
		return l.Say("%s: released", call), Good
	case trace.Decremented:
		return l.Say("%s: level %d left", call, b.Level), Good
	case trace.Renewed:
		return l.Say("%s: lease renewed", call), Good
	case trace.Aged:
		return l.Say("%s: stops, because it has renewed long enough", call), Plain
	case trace.Lost:
		return l.Say("%s: the lease was lost", call), Bad
	case trace.NotHeld:
		return l.Say("%s: not held", call), Bad
	default:
		return l.Say("%s: error", call), Bad
	}
}

// LateCopy names what arrives when nobody waits for it any more.
func LateCopy(l words.Language, call string, level int) string {
	if call == lock.CallRenew {
		return l.Say("late copy of %s", call)
	}
	return l.Say("late copy of %s, level %d", call, level)
}

// failures are the words for why a call failed.
var failures = map[trace.CauseKind]phrase.Text{
	trace.Reset: "connection reset by peer", trace.Unreachable: "connection refused", trace.TimedOut: "i/o timeout",
	trace.Deadline: "context deadline exceeded", trace.Canceled: "context canceled", trace.HungUp: "EOF",
	trace.Unsynced: "too few replicas acknowledged it",
}

// failure words why a call failed. What Redis answered stays as it is, and so
// does what has no kind: the innermost part of the error.
func failure(l words.Language, why trace.Cause, text string) string {
	kind := why.Kind
	if kind == trace.NoMajority || kind == trace.NoRedis {
		kind = why.Rest
	}
	switch {
	case kind == trace.UnknownCommand:
		return l.Say("this Redis does not know %s", why.Code)
	case kind == trace.WrongScript:
		return l.Say("a mistake in the script %s", why.Code)
	case failures[kind] != "":
		return l.Say(failures[kind])
	default:
		return innermost(text)
	}
}

// EndOfRun words what ended a run early. Text is the error's: older traces have nothing
// else of it, and it may be anything.
func EndOfRun(l words.Language, why trace.Cause, text string) string {
	why = causeOf(why, text)
	switch why.Kind {
	case trace.WrongScript:
		return l.Say("The run was ended: a mistake in the script %s", why.Code)
	case trace.StoppedByHand:
		return l.Say("The run was ended: stopped")
	case trace.ServerClosed:
		return l.Say("The run was ended: the server is shutting down")
	case trace.TooLong:
		return l.Say("The run was ended: it took longer than %s", l.Duration(why.Limit.Duration()))
	case trace.OwnMistake:
		return l.Say("A bug in this program ended the run. It was logged.")
	case trace.TooLarge:
		return l.Say("The run was ended: the runs on this server are at their limit of memory; try again in a while, or run less")
	case trace.NoRedis:
		said := why.Code
		if said == "" {
			said = failure(l, why, text)
		}
		return l.Say("The run was ended: Redis no longer serves it (%s), and the fate of unanswered commands is unknown", said)
	case trace.TooManyEvents:
		return l.Say("The run was ended: it reached the limit of %d events", run.MaxEvents)
	default:
		return l.Say("The run was ended: %s", text)
	}
}

// Resource words a read or a write of what the lock protects.
func Resource(l words.Language, b trace.Resource) string {
	if b.Limit > 0 && !b.Refused {
		return purchase(l, b)
	}
	switch {
	case b.Refused && b.Check == scenario.ChecksVersion:
		return l.Say("its write is refused: version %d is there, and it has read %d", b.Version, b.Based)
	case b.Refused && b.Check == scenario.ChecksKey:
		return l.Say("does it again, and is refused: the key is known")
	case b.Refused && b.Token > 0:
		return l.Say("its write with token %d is refused: a newer one was seen", b.Token)
	case b.Refused:
		return l.Say("its write is refused: a newer token was seen")
	case b.Op == trace.OpRead && b.Effect && b.Value > 0:
		return l.Say("finds it done")
	case b.Op == trace.OpRead && b.Effect:
		return l.Say("finds it not done")
	case b.Effect && b.Value > 1:
		return l.Say("does it again: done %d times", b.Value)
	case b.Effect:
		return l.Say("does it: done once")
	case b.Op == trace.OpRead && b.Stock && b.Value <= 0:
		return l.Say("finds nothing left")
	case b.Op == trace.OpRead && b.Stock:
		return l.Say("finds %d left", b.Value)
	case b.Op == trace.OpRead && b.Text != "":
		return l.Say("reads %s", b.Text)
	case b.Op == trace.OpRead:
		return l.Say("reads %d", b.Value)
	case b.Text != "":
		return l.Say("writes %s", b.Text)
	case b.Stock && b.Token > 0 && b.Value < 0:
		return l.Say("takes one with token %d that does not exist: the stock is at %d", b.Token, b.Value)
	case b.Stock && b.Value < 0:
		return l.Say("takes one that does not exist: the stock is at %d", b.Value)
	case b.Stock && b.Token > 0:
		return l.Say("takes one with token %d: %d left", b.Token, b.Value)
	case b.Stock:
		return l.Say("takes one: %d left", b.Value)
	case b.Token > 0:
		return l.Say("writes %d with token %d", b.Value, b.Token)
	default:
		return l.Say("writes %d", b.Value)
	}
}

// wrote is what it has after a read or a write.
func wrote(b trace.Resource) string { return cmp.Or(b.Text, strconv.Itoa(b.Value)) }

// purchase words a read or a write under a limit per user.
func purchase(l words.Language, b trace.Resource) string {
	switch {
	case b.Op == trace.OpRead && b.Value >= b.Limit:
		return l.Say("user %s has bought %d of %d: no more", b.User, b.Value, b.Limit)
	case b.Op == trace.OpRead:
		return l.Say("user %s has bought %d of %d", b.User, b.Value, b.Limit)
	case b.Value > b.Limit:
		return l.Say("buys beyond the limit: user %s has %d of %d", b.User, b.Value, b.Limit)
	case b.Token > 0:
		return l.Say("buys with token %d: user %s has %d of %d", b.Token, b.User, b.Value, b.Limit)
	default:
		return l.Say("buys: user %s has %d of %d", b.User, b.Value, b.Limit)
	}
}

// RuleTitle returns what a person calls a rule.
func RuleTitle(l words.Language, rule string) string { return l.Clause(check.Title(rule)) }

// RuleNamed returns a rule's name for people, followed by its identifier.
func RuleNamed(l words.Language, rule string) string { return RuleOf(l, check.Kind{}, rule) }

// RuleOf returns RuleNamed for a lock of a kind.
func RuleOf(l words.Language, kind check.Kind, rule string) string {
	title := kind.Title(rule)
	if title.Text == "" {
		return rule // from a foreign trace
	}
	return l.Say("%s (%s)", l.Clause(title), rule)
}
