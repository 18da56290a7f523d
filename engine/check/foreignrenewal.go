package check

import (
	"slices"
	"strings"
	"time"

	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// ForeignRenewal is the rule that only its owner renews a lock's lease: no watchdog of
// another, and no call that is refused.
const ForeignRenewal = "foreign-renewal"

type foreignRenewal struct {
	stateless

	kind Kind
}

func (r foreignRenewal) clone() automaton { return r }

func (r foreignRenewal) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Command)
	if !ok || f.Aside(e.Thread) || b.Call == lock.CallLock && r.kind.Shared() || !renews(b) || b.Call != lock.CallRenew && !f.Later(b.Node) {
		return Finding{}, false // who comes to a lock that several share lets its key live longer
	}
	held, holds := f.HeldOn(b.Node)
	holders := phrase.Names(holds)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) || !slices.Equal(held, holds) {
		return Finding{}, false
	}
	_, now := f.On(b.Node)
	why := phrase.Say("%s has renewed a lease that is not its own: it is %s's, and now has %s.",
		e.Thread, holders[0], time.Duration(max(now.PTTL, 0))*time.Millisecond)
	if now.PTTL == trace.NoExpiry {
		why = phrase.Say("%s has renewed a lease that is not its own: it is %s's, and now has no end.", e.Thread, holders[0])
	}
	return found(ForeignRenewal, append([]string{e.Thread}, holders...), proof(append(f.Gained.Of(holders...), e.Seq)...),
		phrase.Say("%s renewed the lease of %s", e.Thread, holders), why), true
}

// renews reports whether a command sets the end of a key's lease: what else a key lives
// longer after is how exactly its time is known.
func renews(b trace.Command) bool {
	switch strings.ToUpper(b.Arg(0)) {
	case "PEXPIRE", "EXPIRE", "PEXPIREAT", "EXPIREAT", "PERSIST":
		return b.Reply == int64(1)
	case "GETEX":
		return len(b.Args) > 2
	case "SET", "SETEX", "PSETEX":
		return b.Reply == "OK" && !slices.ContainsFunc(b.Args, func(arg string) bool { return strings.EqualFold(arg, "KEEPTTL") })
	}
	return false
}
