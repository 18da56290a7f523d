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
	if !ok || f.Aside(e.Thread) || b.Call != lock.CallRenew || b.Reply != int64(1) || !renews(b.Arg(0)) {
		return Finding{}, false
	}
	if _, tokens := f.Put().Filled(); tokens {
		return Finding{}, false // a list of tokens is nobody's
	}
	_, holds := f.HeldOn(b.Node)
	holders := phrase.Names(holds)
	if len(holders) == 0 || slices.Contains(holders, e.Thread) {
		return Finding{}, false
	}
	return found(ForeignRenewal, append([]string{e.Thread}, holders...), proof(append(f.Gained.Of(holders...), e.Seq)...),
		phrase.Say("%s renewed the lease of %s", e.Thread, holders),
		phrase.Say("%s has renewed a lease that is not its own: it is %s's, and now has %s.",
			e.Thread, holders[0], time.Duration(max(e.Key.PTTL, 0))*time.Millisecond)), true
}

// renews reports whether a command sets the end of a key's lease, and nothing else.
func renews(verb string) bool {
	switch strings.ToUpper(verb) {
	case "PEXPIRE", "EXPIRE", "PEXPIREAT", "EXPIREAT":
		return true
	}
	return false
}
