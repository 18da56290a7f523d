package check

import (
	"time"

	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// OverLimit is the rule that no user buys more often than the limit allows.
const OverLimit = "over-limit"

// overLimit finds each user's first purchase beyond the limit.
type overLimit map[string]*buyer

type buyer struct {
	reported bool
	bought   int // the seq of the previous purchase
}

func (o overLimit) clone() automaton {
	c := overLimit{}
	for user, b := range o {
		one := *b
		c[user] = &one
	}
	return c
}

func (o overLimit) append(b []byte, _ time.Duration, as naming) []byte {
	reported := map[string]bool{}
	for user, one := range o {
		reported[user] = one.reported
	}
	return appendSet(b, reported, as)
}

func (o overLimit) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	b, ok := e.Body.(trace.Resource)
	if !ok || b.Op != trace.OpWrite || b.Refused || b.Limit == 0 {
		return Finding{}, false
	}
	user := o[b.User]
	if user == nil {
		user = &buyer{}
		o[b.User] = user
	}
	before := user.bought
	user.bought = e.Seq
	if b.Value <= b.Limit || user.reported {
		return Finding{}, false
	}
	user.reported = true
	return found(OverLimit, []string{e.Thread}, proof(f.Read[e.Thread], before, e.Seq),
		phrase.Say("user %s bought %d times, %d are allowed", b.User, b.Value, b.Limit),
		phrase.Say("%s has bought for user %s, who now has %d: only %d are allowed.", e.Thread, b.User, b.Value, b.Limit)), true
}
