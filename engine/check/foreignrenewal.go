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

// ForeignRenewal is the rule that only its owner renews a lock's lease.
const ForeignRenewal = "foreign-renewal"

type foreignRenewal struct{ stateless }

func (r foreignRenewal) clone() automaton { return r }

func (foreignRenewal) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Command)
	if !ok || f.Aside(e.Thread) || b.Call != lock.CallRenew || len(b.Args) == 0 || !strings.EqualFold(b.Args[0], "PEXPIRE") || b.Reply != int64(1) {
		return Finding{}, false
	}
	_, holds := f.HeldOn(b.Node)
	holders := phrase.Names(holds)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) {
		return Finding{}, false
	}
	return found(ForeignRenewal, append([]string{e.Thread}, holders...), proof(append(f.Gained.Of(holders...), e.Seq)...),
		phrase.Say("the watchdog of %s renewed the lease of %s", e.Thread, holders),
		phrase.Say("%s has renewed a lease that is not its own: it is %s's, and now has %s.",
			e.Thread, holders[0], time.Duration(max(e.Key.PTTL, 0))*time.Millisecond)), true
}

// ForeignRenewed returns the finding for a thread whose last command has renewed the lock
// of others, as read from what it did to the key.
func (c *Checker) ForeignRenewed(who string, whose []string, lease time.Duration) Finding {
	return found(ForeignRenewal, append([]string{who}, whose...), proof(c.facts.Last[who]),
		phrase.Say("%s renewed the lease of %s", who, phrase.Names(whose)),
		phrase.Say("%s has renewed a lease that is not its own: it is %s's, and now has %s.", who, whose[0], lease))
}
